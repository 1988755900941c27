//! Connections of the listener: TLS, how many there may be, and how long one may stay without the token.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use futures_util::stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Sleep, sleep};
use tokio_rustls::TlsAcceptor;
use tonic::body::Body;
use tonic::codegen::http::Request;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tower::Service;
use tower::layer::layer_fn;

use super::access::TokenCheck;
use super::calls::FlightCalls;
use super::connection_info::{ConnectionInfo, shown};
use super::tls::FlightTls;

/// Most connections. Further ones wait.
const CONNECTIONS_MAX: usize = 64;

/// Most calls of a connection at a time.
const STREAMS_MAX: u32 = 32;

/// Largest message of a client: the longest statement, and the values of its parameters.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// How long a connection may stay that has not shown the token, the handshake of TLS included.
const UNAUTHENTICATED_TIME: Duration = Duration::from_secs(10);

/// How often a silent connection is probed, and how long it may stay silent then.
const PROBE_INTERVAL: Duration = Duration::from_secs(20);
const PROBE_TIME: Duration = Duration::from_secs(20);

/// Pause after a failed `accept`, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers until the future is dropped.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<FlightTls>,
    access: TokenCheck,
    calls: FlightCalls,
) {
    let (accepted, mut incoming) = mpsc::channel(1);
    let service = FlightServiceServer::new(calls).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let check = layer_fn(move |routes: Routes| {
        let access = access.clone();
        tower::service_fn(move |request: Request<Body>| {
            let (mut routes, access) = (routes.clone(), access.clone());
            async move {
                match access.check(request).await {
                    Ok(request) => routes.call(request).await,
                    Err(status) => Ok(status.into_http()),
                }
            }
        })
    });
    let server = Server::builder()
        .tcp_nodelay(true)
        .max_concurrent_streams(STREAMS_MAX)
        .http2_keepalive_interval(Some(PROBE_INTERVAL))
        .http2_keepalive_timeout(Some(PROBE_TIME))
        .layer(check)
        .add_service(service)
        .serve_with_incoming(stream::poll_fn(move |context| incoming.poll_recv(context)));
    tokio::select! {
        () = accept(listener, tls, accepted) => {}
        ended = server => tracing::error!(?ended, "the listener of SQL has ended"),
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<FlightTls>,
    accepted: mpsc::Sender<io::Result<FlightConnection>>,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((socket, peer)) => {
                let (tls, accepted) = (tls.clone(), accepted.clone());
                tokio::spawn(async move {
                    match greeted(socket, tls).await {
                        Ok(socket) => {
                            let connection = FlightConnection::new(socket, peer, slot);
                            // Fails only when the server has ended.
                            let _ = accepted.send(Ok(connection)).await;
                        }
                        Err(error) => tracing::debug!(
                            peer = shown(peer),
                            %error,
                            "a connection of SQL is refused"
                        ),
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection of SQL could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn greeted(socket: TcpStream, tls: Option<FlightTls>) -> io::Result<Box<dyn FlightSocket>> {
    let _ = socket.set_nodelay(true);
    let Some(FlightTls(config)) = tls else {
        return Ok(Box::new(socket));
    };
    let greeted = TlsAcceptor::from(config).accept(socket);
    let greeted = tokio::time::timeout(UNAUTHENTICATED_TIME, greeted).await;
    Ok(Box::new(greeted.map_err(|_| io::ErrorKind::TimedOut)??))
}

/// A byte stream.
trait FlightSocket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> FlightSocket for S {}

/// A connection as the server takes it.
struct FlightConnection {
    socket: Box<dyn FlightSocket>,
    info: ConnectionInfo,
    /// When it ends unless the token was shown.
    end: Pin<Box<Sleep>>,
    _slot: OwnedSemaphorePermit,
}

impl FlightConnection {
    fn new(
        socket: Box<dyn FlightSocket>,
        peer: SocketAddr,
        slot: OwnedSemaphorePermit,
    ) -> FlightConnection {
        FlightConnection {
            socket,
            info: ConnectionInfo::new(peer),
            end: Box::pin(sleep(UNAUTHENTICATED_TIME)),
            _slot: slot,
        }
    }
}

impl Connected for FlightConnection {
    type ConnectInfo = ConnectionInfo;

    fn connect_info(&self) -> ConnectionInfo {
        self.info.clone()
    }
}

impl AsyncRead for FlightConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.info.is_unauthenticated() && self.end.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for FlightConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
