//! Connections between nodes, with or without TLS: accepting, connecting, and reporting refusals.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// Maximum number of connections to a worker; more wait in the listen queue. Idle connections are closed.
const CONNECTIONS_MAX: usize = 2_048;

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
}

/// A byte stream.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

impl Connection {
    fn new(socket: impl Socket + 'static, tls: Option<Arc<Tls>>) -> Connection {
        Connection {
            stream: BufReader::with_capacity(READ_AHEAD, Box::new(socket)),
            tls,
        }
    }

    /// Whether it was made with the certificate that is used now.
    pub(super) fn is_current(&self, security: &Security) -> bool {
        security.is_current(self.tls.as_ref())
    }
}

/// Accepts and serves connections until the listener breaks. Returns the reason.
pub(super) async fn accept<S, F>(listener: TcpListener, security: &Security, serve: S) -> io::Error
where
    S: Fn(Connection, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send,
{
    let refusals = Arc::new(Refusals::default());
    // Dropped with this future, which closes them.
    let mut connections = JoinSet::new();
    let mut failing_since: Option<Instant> = None;
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        match listener.accept().await {
            Ok((socket, peer)) => {
                failing_since = None;
                let (tls, refusals) = (security.current(), Arc::clone(&refusals));
                let serve = serve.clone();
                connections.spawn(async move {
                    match greet(socket, tls).await {
                        Ok(connection) => serve(connection, peer).await,
                        Err(error) => refusals.log(&peer.ip().to_string(), &error),
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
            Ok(Connection::new(socket, Some(tls)))
        }
        None => Ok(Connection::new(socket, None)),
    }
}

/// Opens connections to one node.
pub(super) struct Connector {
    /// `host:port`.
    pub(super) address: String,
    pub(super) security: Security,
    pub(super) refusals: Arc<Refusals>,
}

impl Connector {
    pub(super) async fn connect(&self) -> io::Result<Connection> {
        let connected = tokio::time::timeout(CONNECT_TIME, self.connect_unbounded());
        connected.await.map_err(|_| io::ErrorKind::TimedOut)?
    }

    async fn connect_unbounded(&self) -> io::Result<Connection> {
        let socket = TcpStream::connect(&self.address).await?;
        socket.set_nodelay(true)?;
        let Some(tls) = self.security.current() else {
            return Ok(Connection::new(socket, None));
        };
        let name: ServerName<'static> = server_name(&self.address).map_err(io::Error::other)?;
        let connected = TlsConnector::from(Arc::clone(&tls.client)).connect(name, socket);
        let connected = connected.await;
        let socket = connected.inspect_err(|error| self.refusals.log(&self.address, error))?;
        Ok(Connection::new(socket, Some(tls)))
    }
}

/// Recent refusals, so that each reason is logged once a minute, although nodes retry twice a second.
#[derive(Default)]
pub(super) struct Refusals(Mutex<HashMap<String, Instant>>);

impl Refusals {
    fn log(&self, peer: &str, error: &io::Error) {
        let reason = in_words(error);
        if self.is_due(format!("{peer}: {reason}")) {
            tracing::warn!(peer, reason, "a connection with another node is refused");
        }
    }

    fn is_due(&self, refusal: String) -> bool {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logged.retain(|_, at| at.elapsed() < REFUSAL_LOG_INTERVAL);
        logged.len() < REFUSALS_MAX && logged.insert(refusal, Instant::now()).is_none()
    }
}
