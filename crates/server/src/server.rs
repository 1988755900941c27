//! The accept loop: connections from untrusted clients, bounded in number, time and memory.
//!
//! Headers must arrive within a time limit that also bounds idle connections, clients must keep reading
//! their answers, and oversized requests are refused before they are read. When told to stop, the server
//! closes idle connections, finishes requests in progress, and returns when their charges are durable.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::actor::PeerAddress;
use super::admin_host;
use super::limits::{HEAD_BYTES_MAX, ServerLimits};
use super::pace::TooSlow;
use super::service::Service;
use super::stream::PacedStream;

/// Pause after `accept` fails, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time limit for sending the refusal of a connection.
const REFUSAL_TIME: Duration = Duration::from_millis(100);
/// Connections to the admin listener: a few people and a metrics scraper.
const OWN_CONNECTIONS: usize = 64;
/// How long an admin connection may be idle.
const OWN_TIME: Duration = Duration::from_secs(15);
/// The answer to a connection over the limit.
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
retry-after: 1\r\nconnection: close\r\n\r\n\
{\"type\":\"/docs#overloaded\",\"title\":\"The service is overloaded\",\"status\":503,\
\"detail\":\"Too many connections are open.\",\"code\":\"overloaded\"}";

/// Runs a service on a socket.
pub struct Server {
    service: Service,
    routes: Router,
    limits: ServerLimits,
    hurry: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Server {
    /// Creates a server for a service.
    pub fn new(service: Service, limits: ServerLimits) -> Server {
        Server {
            routes: service.catch_all_router(),
            service,
            hurry: Box::pin(std::future::pending()),
            limits: limits.bounded(),
        }
    }

    /// Ends [`drain_time`](ServerLimits::drain_time) early once this is ready, as when the process is asked to
    /// stop a second time.
    pub fn hurry(self, hurry: impl Future<Output = ()> + Send + 'static) -> Server {
        let hurry = Box::pin(hurry);
        Server { hurry, ..self }
    }

    /// Serves these routes instead, into which a host has merged those of the service.
    pub fn routes(self, routes: Router) -> Server {
        Server { routes, ..self }
    }

    /// Serves until `stop` is ready and [`drain_time`](ServerLimits::drain_time) has passed, then shuts down
    /// gracefully: returns when all requests in progress are answered or have timed out, and every charge
    /// is durable. Dropping the future instead ends all connections at once, and closes the service, too.
    ///
    /// # Errors
    /// The thread that [maintains](Service::maintain) the service cannot be started.
    pub async fn run(
        mut self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let connections = GracefulShutdown::new();
        let permits = Arc::new(Semaphore::new(self.limits.connections));
        let maintenance = self.service.maintain()?;
        let (service, drain_time) = (self.service.clone(), self.limits.drain_time);
        let hurry = std::mem::replace(&mut self.hurry, Box::pin(std::future::pending()));
        let mut stop = std::pin::pin!(async move {
            stop.await;
            drain(&service, drain_time, hurry).await;
        });
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = listener.accept() => match accepted {
                    Ok((socket, _)) => self.admit(socket, &permits, &connections),
                    Err(error) => {
                        tracing::warn!(%error, "no connection could be accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        tracing::info!("stopping");
        if tokio::time::timeout(self.limits.shutdown_time, connections.shutdown())
            .await
            .is_err()
        {
            tracing::warn!("some requests did not finish in time");
        }
        // A failed join would mean that closing has panicked, which the log then shows.
        let _ = tokio::task::spawn_blocking(move || drop(maintenance)).await;
        Ok(())
    }

    fn admit(&self, socket: TcpStream, permits: &Arc<Semaphore>, connections: &GracefulShutdown) {
        // Answers are written in one piece, so Nagle's algorithm would only add latency.
        let _ = socket.set_nodelay(true);
        let Ok(permit) = Arc::clone(permits).try_acquire_owned() else {
            self.service.0.metrics.connections_refused.inc();
            tokio::spawn(refuse(socket));
            return;
        };
        let io = TokioIo::new(PacedStream::new(socket, self.limits.send_rate()));
        let router = TowerToHyperService::new(self.routes.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_time)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(io, router);
        tokio::spawn(hold(
            connections.watch(connection),
            self.service.clone(),
            permit,
        ));
    }
}

/// Keeps answering for a while, with `/readyz` at 503.
async fn drain(service: &Service, time: Duration, hurry: impl Future<Output = ()>) {
    if time.is_zero() {
        return;
    }
    tracing::info!("draining");
    service.0.is_draining.store(true, Ordering::Relaxed);
    // Either way it is over; a timer that has run out is no error.
    let _ = tokio::time::timeout(time, hurry).await;
}

/// Drives a connection until it ends.
async fn hold(
    connection: impl Future<Output = hyper::Result<()>>,
    service: Service,
    _permit: OwnedSemaphorePermit,
) {
    service.0.metrics.connections.inc();
    match connection.await {
        Err(error) if is_too_slow(&error) => {
            service.0.metrics.connections_too_slow.inc();
            tracing::warn!(reason = %TooSlow, "a connection was ended");
        }
        Err(error) => tracing::debug!(%error, "a connection has ended early"),
        Ok(()) => {}
    }
    service.0.metrics.connections.dec();
}

/// Whether a connection has ended because its client reads too slowly.
fn is_too_slow(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    let reason = cause.and_then(io::Error::get_ref);
    reason.is_some_and(|reason| reason.is::<TooSlow>())
}

async fn refuse(mut socket: TcpStream) {
    use tokio::io::AsyncWriteExt;
    // If the client does not read the refusal in time, it gets none.
    let _ = tokio::time::timeout(REFUSAL_TIME, socket.write_all(REFUSAL)).await;
}

/// Serves `/metrics` on a listener of its own; never expose it to untrusted clients. Requests to foreign hosts
/// are answered 403, see [`Service::allow_admin_hosts`].
///
/// [`serve_admin`](super::serve_admin) serves them too, beside the dashboard.
pub async fn serve_metrics(listener: TcpListener, service: Service) {
    let routes = metrics_routes(service.clone());
    serve_routes(listener, admin_host::guarded(routes, service)).await;
}

/// The route `/metrics`.
pub(super) fn metrics_routes(service: Service) -> Router {
    const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let answer = async move || ([(CONTENT_TYPE, TEXT)], service.metrics()).into_response();
    Router::new().route("/metrics", get(answer))
}

/// Serves routes for trusted clients; connections over the limit wait.
pub(super) async fn serve_routes(listener: TcpListener, routes: Router) {
    let permits = Arc::new(Semaphore::new(OWN_CONNECTIONS));
    let rate = ServerLimits::default().send_rate();
    loop {
        // The semaphore is never closed, so the permit always comes.
        let permit = Arc::clone(&permits).acquire_owned().await;
        let (socket, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let routes = routes.clone().layer(Extension(PeerAddress(peer.ip())));
        let routes = TowerToHyperService::new(routes);
        tokio::spawn(async move {
            let _permit = permit;
            let io = TokioIo::new(PacedStream::new(socket, rate));
            let mut builder = http1::Builder::new();
            let connection = builder
                .timer(TokioTimer::new())
                .header_read_timeout(OWN_TIME);
            // An aborted request concerns only its client.
            let _ = connection.serve_connection(io, routes).await;
        });
    }
}
