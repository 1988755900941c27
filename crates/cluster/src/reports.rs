//! Forwards the loader's reports to the services of a node, for `/readyz` and the metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use signaldex_server::{Following, Service};

/// Forwards reports to services, of which there may be none yet.
#[derive(Default)]
pub(super) struct Reports(Mutex<ReportState>);

#[derive(Default)]
struct ReportState {
    services: Vec<Service>,
    last: Following,
}

impl Reports {
    /// Adds a service, which receives the last report immediately.
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

    fn lock(&self) -> MutexGuard<'_, ReportState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
