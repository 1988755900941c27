//! Connections between nodes, with or without TLS: accepting, connecting, and reporting refusals.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::security::{Security, Tls, in_words, server_name};

/// Time limit of a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

/// Time limit of connecting, including the handshake.
const CONNECT_TIME: Duration = Duration::from_secs(1);

/// Maximum number of connections to a worker, and of those from one address. A node has two or three to each other node.
const CONNECTIONS_MAX: usize = 4_096;
const CONNECTIONS_OF_ADDRESS_MAX: usize = 256;

/// Size of the read buffer: a short message takes one read.
const READ_AHEAD: usize = 4_096;

/// Pause after a failed `accept`, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long `accept` may fail before the worker counts as broken.
const ACCEPT_FAILURE_TIME: Duration = Duration::from_secs(30);

/// How often the same refusal is logged.
const REFUSAL_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of remembered refusals; further ones are not logged until some are forgotten.
const REFUSALS_MAX: usize = 1_000;

/// A buffered connection.
pub(super) struct Connection {
    pub(super) stream: BufReader<Box<dyn Socket>>,
    /// What it was made with; `None` for plain text.
    tls: Option<Arc<Tls>>,
    /// Of an accepted connection.
    _slot: Option<Slot>,
}

/// A byte stream.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// What connections are opened over.
pub(super) trait Network: Send + Sync {
    /// Opens a byte stream to `host:port`.
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Socket>>>;
}

/// The operating system's network.
pub(super) struct Tcp;

impl Network for Tcp {
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<Box<dyn Socket>>> {
        Box::pin(async move {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(Box::new(socket) as Box<dyn Socket>)
        })
    }
}

impl Connection {
    pub(super) fn new(socket: Box<dyn Socket>, tls: Option<Arc<Tls>>) -> Connection {
        Connection {
            stream: BufReader::with_capacity(READ_AHEAD, socket),
            tls,
            _slot: None,
        }
    }

    /// What it was made with; `None` for plain text.
    pub(super) fn tls(&self) -> Option<Arc<Tls>> {
        self.tls.clone()
    }
}

/// Accepts connections and hands them over until the listener breaks. Returns the reason.
pub(super) async fn accept<S, F>(
    listener: TcpListener,
    security: &Security,
    refusals: &Arc<Refusals>,
    hand_over: S,
) -> io::Error
where
    S: Fn(Connection, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let slots = Slots::default();
    // Handshakes, dropped with this future.
    let mut greeted = JoinSet::new();
    let mut failing_since: Option<Instant> = None;
    loop {
        while greeted.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((socket, peer)) => {
                failing_since = None;
                let (tls, refusals) = (security.current(), Arc::clone(refusals));
                let Some(slot) = slots.take(peer.ip()) else {
                    refusals.log(&peer.ip().to_string(), "it has too many connections");
                    continue;
                };
                let hand_over = hand_over.clone();
                greeted.spawn(async move {
                    match greet(socket, tls).await {
                        Ok(connection) => {
                            let _slot = Some(slot);
                            hand_over(
                                Connection {
                                    _slot,
                                    ..connection
                                },
                                peer,
                            )
                            .await;
                        }
                        Err(error) => refusals.log(&peer.ip().to_string(), &in_words(&error)),
                    }
                });
            }
            // The socket is no longer listening.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return error,
            Err(error) => {
                tracing::warn!(%error, "a connection to the worker could not be accepted");
                let since = *failing_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= ACCEPT_FAILURE_TIME {
                    return error;
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn greet(socket: TcpStream, tls: Option<Arc<Tls>>) -> io::Result<Connection> {
    // Messages are written in one piece, so Nagle's algorithm would only add latency.
    socket.set_nodelay(true)?;
    match tls {
        Some(tls) => {
            let accepted = TlsAcceptor::from(Arc::clone(&tls.server)).accept(socket);
            let handshake = tokio::time::timeout(HANDSHAKE_TIME, accepted);
            let socket = handshake.await.map_err(|_| io::ErrorKind::TimedOut)??;
            Ok(Connection::new(Box::new(socket), Some(tls)))
        }
        None => Ok(Connection::new(Box::new(socket), None)),
    }
}

/// Counts the connections to a worker by the address of the other side.
#[derive(Clone, Default)]
struct Slots(Arc<Mutex<HashMap<IpAddr, usize>>>);

impl Slots {
    /// Counts one more connection, until the slot is dropped; `None` where there are too many.
    fn take(&self, peer: IpAddr) -> Option<Slot> {
        let mut taken = self.lock();
        let of_peer = taken.get(&peer).copied().unwrap_or_default();
        if of_peer >= CONNECTIONS_OF_ADDRESS_MAX || taken.values().sum::<usize>() >= CONNECTIONS_MAX
        {
            return None;
        }
        taken.insert(peer, of_peer + 1);
        let slots = self.clone();
        Some(Slot { slots, peer })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is counted.
struct Slot {
    slots: Slots,
    peer: IpAddr,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        let of_peer = taken.remove(&self.peer).unwrap_or_default();
        if of_peer > 1 {
            taken.insert(self.peer, of_peer - 1);
        }
    }
}

/// Opens connections to one node.
#[derive(Clone)]
pub(super) struct Connector {
    /// `host:port`.
    pub(super) address: String,
    pub(super) network: Arc<dyn Network>,
    pub(super) security: Security,
    pub(super) refusals: Arc<Refusals>,
}

impl Connector {
    pub(super) async fn connect(&self) -> io::Result<Connection> {
        let connected = tokio::time::timeout(CONNECT_TIME, self.connect_unbounded());
        connected.await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn connect_unbounded(&self) -> io::Result<Connection> {
        let socket = self.network.connect(&self.address).await?;
        let Some(tls) = self.security.current() else {
            return Ok(Connection::new(socket, None));
        };
        let name: ServerName<'static> = server_name(&self.address).map_err(io::Error::other)?;
        let connected = TlsConnector::from(Arc::clone(&tls.client)).connect(name, socket);
        let connected = connected.await;
        let socket =
            connected.inspect_err(|error| self.refusals.log(&self.address, &in_words(error)))?;
        Ok(Connection::new(Box::new(socket), Some(tls)))
    }
}

/// Recent refusals, so that each reason is logged once a minute, although nodes retry twice a second.
#[derive(Default)]
pub(super) struct Refusals(Mutex<HashMap<String, Instant>>);

impl Refusals {
    pub(super) fn log(&self, peer: &str, reason: &str) {
        if self.is_due(format!("{peer}: {reason}")) {
            tracing::warn!(peer, reason, "a connection or request is refused");
        }
    }

    fn is_due(&self, refusal: String) -> bool {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logged.retain(|_, at| at.elapsed() < REFUSAL_LOG_INTERVAL);
        logged.len() < REFUSALS_MAX && logged.insert(refusal, Instant::now()).is_none()
    }
}

#[cfg(test)]
mod tests;
