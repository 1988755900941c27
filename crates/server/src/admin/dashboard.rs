//! The dashboard of a service: its settings and its sessions.

use std::sync::Arc;
use std::time::Duration;

use super::session::Sessions;
use crate::service::Service;

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
}

impl Admin {
    /// Creates the dashboard of a service. Users sign in with the admin token of the service's
    /// [`State`](crate::State), which [`first_admin_token`](crate::State::first_admin_token) creates.
    pub fn new(service: Service, settings: AdminSettings) -> Admin {
        Admin(Arc::new(Dashboard {
            sessions: Sessions::new(settings.session_time),
            service,
            settings,
        }))
    }
}
