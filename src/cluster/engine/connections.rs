//! Connections between nodes, with TLS or without: accepted, made, and refused in words.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tonic::codegen::{BoxFuture, Service, http};
use tonic::transport::server::Connected;

use super::security::{in_words, server_name};

/// How long a TLS handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(5);

/// The most handshakes under way; more connections wait in the system's queue.
const HANDSHAKES_MAX: usize = 256;

/// The pause after a connection that could not be accepted, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long accepting may fail before the worker counts as broken.
const ACCEPT_FAILURE_TIME: Duration = Duration::from_secs(30);

/// How often the same refusal is logged.
const REFUSAL_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// The most refusals that are remembered; further ones are not logged until some are forgotten.
const REFUSALS_MAX: usize = 1_000;

/// A connection of either kind.
pub(super) struct Connection {
    socket: Box<dyn Socket>,
    peer: SocketAddr,
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

impl Connection {
    fn socket(self: Pin<&mut Self>) -> Pin<&mut dyn Socket> {
        Pin::new(&mut *self.get_mut().socket)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket().poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

impl Connected for Connection {
    /// The other end, which every request then knows.
    type ConnectInfo = SocketAddr;

    fn connect_info(&self) -> SocketAddr {
        self.peer
    }
}

/// Accepts connections until the listener is broken, and returns why.
pub(super) async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    accepted: Sender<Connection>,
) -> io::Error {
    let refusals = Arc::new(Refusals::default());
    let mut handshakes = JoinSet::new();
    let mut failing_since: Option<Instant> = None;
    loop {
        while handshakes.try_join_next().is_some() {}
        if handshakes.len() >= HANDSHAKES_MAX {
            handshakes.join_next().await;
        }
        match listener.accept().await {
            Ok((socket, peer)) => {
                failing_since = None;
                let (tls, accepted) = (tls.clone(), accepted.clone());
                let refusals = Arc::clone(&refusals);
                handshakes.spawn(async move {
                    match greet(socket, peer, tls).await {
                        // Nobody takes it any more only when the worker ends.
                        Ok(connection) => drop(accepted.send(connection).await),
                        Err(error) => refusals.log(&peer.ip().to_string(), &error),
                    }
                });
            }
            // Nothing listens any more.
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

async fn greet(
    socket: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
) -> io::Result<Connection> {
    // Answers are written whole, so waiting for more to send only costs time.
    socket.set_nodelay(true)?;
    let socket: Box<dyn Socket> = match tls {
        Some(tls) => {
            let handshake = tokio::time::timeout(HANDSHAKE_TIME, tls.accept(socket));
            Box::new(handshake.await.map_err(|_| io::ErrorKind::TimedOut)??)
        }
        None => Box::new(socket),
    };
    Ok(Connection { socket, peer })
}

/// Connects to one node.
#[derive(Clone)]
pub(super) struct Connector {
    /// `host:port`.
    pub(super) address: Arc<str>,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) refusals: Arc<Refusals>,
}

impl Connector {
    async fn connect(self) -> io::Result<Connection> {
        let socket = TcpStream::connect(&*self.address).await?;
        socket.set_nodelay(true)?;
        let peer = socket.peer_addr()?;
        let socket: Box<dyn Socket> = match self.tls {
            Some(tls) => {
                let name: ServerName<'static> =
                    server_name(&self.address).map_err(io::Error::other)?;
                let connected = TlsConnector::from(tls).connect(name, socket).await;
                Box::new(connected.inspect_err(|error| self.refusals.log(&self.address, error))?)
            }
            None => Box::new(socket),
        };
        Ok(Connection { socket, peer })
    }
}

impl Service<http::Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = BoxFuture<TokioIo<Connection>, io::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Uri) -> Self::Future {
        let connected = self.clone().connect();
        Box::pin(async { connected.await.map(TokioIo::new) })
    }
}

/// Connections that were refused, so that each reason is logged once a minute: nodes try again twice
/// a second.
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
