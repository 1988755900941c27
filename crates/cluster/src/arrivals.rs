//! Tells the connections at the worker's port apart: gossip says so in its first bytes, anything else is the engine's.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncBufReadExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connections::Connection;

/// The first bytes of a connection for gossip. HTTP/2 begins with another letter.
pub(super) const PREFACE: &[u8] = b"gossip 1";

/// How long a new connection may take for its preface, and one for gossip for its first frame as well.
pub(super) const PREFACE_TIME: Duration = Duration::from_secs(5);

/// Connections for gossip that wait to be taken over.
const WAITING_MAX: usize = 64;

/// A connection for gossip.
pub(super) struct GossipConnection {
    pub(super) connection: Connection,
    pub(super) peer: SocketAddr,
    /// When it ends unless it has sent a frame.
    pub(super) silent_until: Instant,
}

/// Hands over the connections for gossip.
#[derive(Clone)]
pub(super) struct Arrivals(mpsc::Sender<GossipConnection>);

/// Where connections for gossip arrive.
pub(super) type Arriving = mpsc::Receiver<GossipConnection>;

impl Arrivals {
    /// Both ends.
    pub(super) fn channel() -> (Arrivals, Arriving) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Arrivals(sender), receiver)
    }

    /// Takes a connection for gossip; returns any other one. One that stays silent is closed.
    pub(super) async fn take(
        &self,
        mut connection: Connection,
        peer: SocketAddr,
        silent_until: Instant,
    ) -> Option<Connection> {
        let first = tokio::time::timeout_at(silent_until, connection.stream.fill_buf());
        let first = first.await.ok()?.ok()?.first().copied()?;
        if PREFACE.first() != Some(&first) {
            return Some(connection);
        }
        // Others try again where too many wait.
        let _ = self.0.try_send(GossipConnection {
            connection,
            peer,
            silent_until,
        });
        None
    }
}
