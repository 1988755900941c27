//! The worker's port: the engine's service over connections that this node has accepted, with bounds on each.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use datafusion::common::{Result as EngineResult, exec_err};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::object_store::ObjectStore;
use datafusion_distributed::{DistributedExt, Worker as EngineWorker, WorkerQueryContext};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tower::Service;
use tower::layer::layer_fn;
use url::Url;

use super::feed::{FeedCodec, refuse_foreign};
use super::requests::{ConnectionPlan, MESSAGE_BYTES_MAX, checked};
use crate::arrivals::{Arrivals, PREFACE_TIME};
use crate::connections::{Connection, Refusals, accept};
use crate::security::Security;
use crate::worker::Worker;
use signaldex::Error;

/// Memory of the engine's operators. The leaf uses none of it.
const ENGINE_BYTES_MAX: usize = 16 << 20;

/// Accepted connections that wait for the engine.
const ACCEPTED_MAX: usize = 64;

/// How often a silent connection is probed, also while it is idle, and how long it may stay silent then.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_TIME: Duration = Duration::from_secs(5);

/// The bytes with which HTTP/2 begins.
const PREFACE_BYTES: usize = 24;

/// How long connections stay that were made with a former certificate. Nodes replace theirs in half of it.
const FORMER_CERTIFICATE_TIME: Duration = Duration::from_secs(40);

/// Streams of a connection: its plan takes two.
const STREAMS_MAX: u32 = 4;

/// Bytes of questions that a stream and a connection take ahead.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 2 << 20;

/// Answers other nodes until the future is dropped or the listener breaks.
pub(crate) async fn serve(
    worker: Worker,
    listener: TcpListener,
    security: Security,
    arrivals: Arrivals,
) -> Error {
    let (handover, handed_over) = Handover::new(&worker, &security);
    let refusals = Arc::clone(&handover.refusals);
    let hand_over = move |connection: Connection, peer: SocketAddr| {
        let (handover, arrivals) = (handover.clone(), arrivals.clone());
        async move {
            let silent_until = Instant::now() + PREFACE_TIME;
            let others = arrivals.take(connection, peer, silent_until).await;
            if let Some(connection) = others {
                handover.send(connection, peer, silent_until).await;
            }
        }
    };
    tokio::select! {
        error = accept(listener, &security, &refusals, hand_over) => {
            Error::io("accept connections of other nodes", error)
        }
        error = answer(worker, handed_over) => error,
    }
}

/// Hands accepted connections over to the engine.
#[derive(Clone)]
pub(crate) struct Handover {
    accepted: mpsc::Sender<io::Result<Accepted>>,
    /// Whether the worker scans shards for statements.
    takes_scans: bool,
    security: Security,
    refusals: Arc<Refusals>,
}

/// Where they are handed over.
pub(crate) struct HandedOver(mpsc::Receiver<io::Result<Accepted>>);

impl Handover {
    /// Both ends, for connections to a worker.
    pub(crate) fn new(worker: &Worker, security: &Security) -> (Handover, HandedOver) {
        let (accepted, handed_over) = mpsc::channel(ACCEPTED_MAX);
        let handover = Handover {
            accepted,
            takes_scans: worker.scanner().is_some(),
            security: security.clone(),
            refusals: Arc::default(),
        };
        (handover, HandedOver(handed_over))
    }

    /// Hands over a connection, which has until then to send its preface.
    pub(crate) async fn send(
        &self,
        connection: Connection,
        peer: SocketAddr,
        silent_until: Instant,
    ) {
        let (peer, refusals) = (peer.ip().to_string(), Arc::clone(&self.refusals));
        let plan = ConnectionPlan::new(peer, refusals, self.takes_scans);
        let connection = Accepted::new(connection, plan, self.security.clone(), silent_until);
        // Fails only when the server has ended.
        let _ = self.accepted.send(Ok(connection)).await;
    }
}

/// Answers questions on the connections that are handed over. Returns why that has ended.
pub(crate) async fn answer(worker: Worker, handed_over: HandedOver) -> Error {
    let engine = match worker_of(worker) {
        Err(error) => return Error::invalid(format!("the engine cannot be started: {error}")),
        Ok(engine) => engine,
    };
    let service = engine
        .into_worker_server()
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    let check = layer_fn(|routes: Routes| {
        tower::service_fn(move |request| {
            let mut routes = routes.clone();
            async move {
                match checked(request).await {
                    Ok((connection, request)) => connection.call(routes.call(request)).await,
                    Err(status) => Ok(status.into_http()),
                }
            }
        })
    });
    let server = Server::builder()
        .tcp_nodelay(true)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .http2_keepalive_interval(Some(PROBE_INTERVAL))
        .http2_keepalive_timeout(Some(PROBE_TIME))
        .layer(check)
        .add_service(service)
        .serve_with_incoming(ReceiverStream::new(handed_over.0));
    let ended = server.await;
    Error::invalid(format!("the engine has ended: {ended:?}"))
}

/// The engine's worker, with nothing in it but the leaf: no file formats, functions, catalogs or stores.
fn worker_of(worker: Worker) -> EngineResult<EngineWorker> {
    let runtime = runtime()?;
    let state = Arc::new(state(&runtime));
    let build = move |mut context: WorkerQueryContext| {
        let (mut state, worker) = (SessionState::clone(&state), worker.clone());
        let connection = ConnectionPlan::current();
        async move {
            // The request's configuration names the feeds of the plan; everything else is made once.
            if let Some(mut config) = context.builder.config().take() {
                let answering = connection.map(|connection| (worker, connection));
                config.set_distributed_user_codec(FeedCodec(answering));
                config.set_distributed_worker_plan_rewrite_handler(refuse_foreign);
                *state.config_mut() = config;
            }
            Ok(state)
        }
    };
    Ok(EngineWorker::from_session_builder(build).with_runtime_env(runtime))
}

fn state(runtime: &Arc<RuntimeEnv>) -> SessionState {
    SessionStateBuilder::new()
        .with_distributed_user_codec(FeedCodec(None))
        .with_distributed_worker_plan_rewrite_handler(refuse_foreign)
        .with_runtime_env(Arc::clone(runtime))
        .build()
}

/// What plans may use: a little memory, no disk, and no store, not even the file system.
fn runtime() -> EngineResult<Arc<RuntimeEnv>> {
    let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(ENGINE_BYTES_MAX)))
        .with_disk_manager_builder(no_disk)
        .with_object_store_registry(Arc::new(NoStores))
        .build_arc()
}

/// A registry without stores. The engine's own opens files.
#[derive(Debug)]
struct NoStores;

impl ObjectStoreRegistry for NoStores {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> EngineResult<Arc<dyn ObjectStore>> {
        exec_err!("{url} is not read here")
    }
}

/// A connection as the server takes it.
struct Accepted {
    connection: Connection,
    plan: ConnectionPlan,
    /// Bytes of the preface that are still to come, and who waits for them.
    preface: usize,
    greeted: Option<oneshot::Sender<()>>,
    /// Why the connection has to end, when it has to.
    end: Fuse<BoxFuture<'static, io::Error>>,
}

impl Accepted {
    fn new(
        connection: Connection,
        plan: ConnectionPlan,
        security: Security,
        silent_until: Instant,
    ) -> Accepted {
        let (greeted, preface) = oneshot::channel();
        let tls = connection.tls();
        let end = async move {
            if tokio::time::timeout_at(silent_until, preface)
                .await
                .is_err()
            {
                return io::ErrorKind::TimedOut.into();
            }
            security.replaced(tls.as_ref()).await;
            tokio::time::sleep(FORMER_CERTIFICATE_TIME).await;
            io::ErrorKind::ConnectionAborted.into()
        };
        Accepted {
            connection,
            plan,
            preface: PREFACE_BYTES,
            greeted: Some(greeted),
            end: end.boxed().fuse(),
        }
    }

    fn count(&mut self, read: usize) {
        self.preface = self.preface.saturating_sub(read);
        if self.preface == 0
            && let Some(greeted) = self.greeted.take()
        {
            // Fails only with the connection.
            let _ = greeted.send(());
        }
    }
}

impl Connected for Accepted {
    type ConnectInfo = ConnectionPlan;

    fn connect_info(&self) -> ConnectionPlan {
        self.plan.clone()
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(error) = self.end.poll_unpin(context) {
            return Poll::Ready(Err(error));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.connection.stream).poll_read(context, buffer))?;
        self.count(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection.stream).poll_write(context, bytes)
    }

    /// The head of a frame and its bytes leave together: apart, each would wake the other side.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
