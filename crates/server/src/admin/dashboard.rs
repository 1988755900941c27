//! The dashboard of a service: its settings and its sessions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::session::Sessions;
use crate::service::Service;

/// Tests of webhooks under way: each has a thread for blocking work until the receiver answers or 15 seconds have passed.
const WEBHOOK_TESTS_MAX: usize = 2;

/// Settings of the dashboard.
#[derive(Clone, Debug)]
pub struct AdminSettings {
    /// The public URL of the API, for command lines to copy.
    pub public_url: String,
    /// How long a session lasts.
    pub session_time: Duration,
}

impl Default for AdminSettings {
    /// The default address of `signaldex serve`, and sessions of a working day.
    fn default() -> AdminSettings {
        AdminSettings {
            public_url: "http://127.0.0.1:8080".to_owned(),
            session_time: Duration::from_secs(12 * 60 * 60),
        }
    }
}

/// The dashboard and the search page of a service. Clones share everything.
#[derive(Clone)]
pub struct Admin(pub(super) Arc<Dashboard>);

/// What its pages use.
pub(super) struct Dashboard {
    pub(super) service: Service,
    pub(super) settings: AdminSettings,
    pub(super) sessions: Sessions,
    /// One permit for each test of a webhook under way.
    pub(super) webhook_tests: Semaphore,
}

impl Admin {
    /// Creates the dashboard of a service. Users sign in with the admin token of the service's
    /// [`State`](crate::State), which [`first_admin_token`](crate::State::first_admin_token) creates.
    pub fn new(service: Service, settings: AdminSettings) -> Admin {
        Admin(Arc::new(Dashboard {
            sessions: Sessions::new(settings.session_time),
            service,
            settings,
            webhook_tests: Semaphore::new(WEBHOOK_TESTS_MAX),
        }))
    }
}
