//! What calls know of their connection.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

/// What calls know of their connection.
#[derive(Clone)]
pub(super) struct ConnectionInfo(Arc<ConnectionFacts>);

struct ConnectionFacts {
    peer: String,
    /// Who has shown the token on it.
    name: OnceLock<String>,
}

impl ConnectionInfo {
    pub(super) fn new(peer: SocketAddr) -> ConnectionInfo {
        ConnectionInfo(Arc::new(ConnectionFacts {
            peer: shown(peer),
            name: OnceLock::new(),
        }))
    }

    pub(super) fn peer(&self) -> &str {
        &self.0.peer
    }

    /// Notes that the token was shown. Calls that show it alone are of whom showed it first, by name.
    pub(super) fn known_as(&self, name: Option<String>) -> String {
        match name {
            Some(name) => {
                let _ = self.0.name.set(name.clone());
                name
            }
            None => self.0.name.get_or_init(String::new).clone(),
        }
    }

    pub(super) fn is_unauthenticated(&self) -> bool {
        self.0.name.get().is_none()
    }
}

/// The address of a client in logs: without its port, of which each connection has another.
pub(super) fn shown(peer: SocketAddr) -> String {
    peer.ip().to_canonical().to_string()
}
