//! What the services of a node report of its loading, in `/readyz` and the metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::http::{Following, Service};

/// Passes each report on to the services, of which there may be none yet.
#[derive(Default)]
pub(super) struct Reports(Mutex<Shared>);

#[derive(Default)]
struct Shared {
    services: Vec<Service>,
    last: Following,
}

impl Reports {
    /// Reports to a service from now on, and the last report at once.
    pub(super) fn add(&self, service: Service) {
        let mut shared = self.lock();
        service.report_following(shared.last.clone());
        shared.services.push(service);
    }

    pub(super) fn report(&self, following: Following) {
        let mut shared = self.lock();
        for service in &shared.services {
            service.report_following(following.clone());
        }
        shared.last = following;
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
