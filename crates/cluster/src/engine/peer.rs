//! The standing plan on another node, as the node that asks sees it.
//!
//! A plan lives as long as its connection. Its questions under way are known, so when the stream of answers ends, each
//! of them fails at once and is asked of another replica. The next question starts a new plan.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result as EngineResult, exec_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, DistributedExec, DistributedExt, NetworkBoundary, NetworkCoalesceExec,
    RouteTasksEvent, RouteTasksEventResponse, Stage, WorkerChannel,
};
use futures_util::StreamExt;
use hyper_util::rt::TokioIo;
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::transport::Endpoint;
use url::Url;
use uuid::Uuid;

use super::feed::{FeedCodec, FeedExec, Questions};
use super::rows::{Reply, replies_of};
use super::scan::{ScanExec, ScanMessage};
use super::unit::QuestionUnit;
use crate::answer::ShardAnswer;
use crate::connections::Connector;
use crate::question::Question;
use crate::security::{Security, Tls};
use crate::worker::ReplyStatus;

/// How often a silent connection is probed, also while it is idle, and how long it may stay silent then.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_TIME: Duration = Duration::from_millis(1_500);

/// How long new questions use a connection with TLS. Workers end those of a former certificate after twice as long, so
/// that no question is under way on them.
const TLS_TIME: Duration = Duration::from_secs(20);

/// Bytes of answers that a worker may send ahead.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Bytes of a frame: most answers are one.
const FRAME_BYTES_MAX: u32 = 256 << 10;

/// Bytes of rows that wait for their reader in the engine, beside those of the connection.
const BUFFERED_BYTES_MAX: usize = 16 << 20;

/// The engine needs an address for each worker; only this plan's resolver reads it.
const WORKER_URL: &str = "http://worker";

/// Why a node has not answered.
#[derive(Debug)]
pub(crate) enum PeerFailure {
    /// The connection was refused: the process has ended.
    Dead(io::Error),
    /// The connection broke or could not be opened.
    Broken(io::Error),
    /// The worker refused the question.
    Refused(ReplyStatus, String),
}

/// Another node.
pub(crate) struct Peer {
    connector: Connector,
    /// Locked while a plan is started, so that one is enough.
    plan: AsyncMutex<Option<Arc<StandingPlan>>>,
}

/// A plan that runs.
struct StandingPlan {
    questions: mpsc::UnboundedSender<QuestionUnit>,
    number: AtomicU64,
    under_way: Arc<UnderWay>,
    /// What its connection was made with.
    tls: Option<Arc<Tls>>,
    started: Instant,
    /// Hands answers over; dropped with the plan, which ends it at the worker.
    _delivery: JoinSet<()>,
}

/// The questions of a plan that wait for answers.
#[derive(Default)]
struct UnderWay(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    replies: HashMap<u64, oneshot::Sender<Reply>>,
    /// Why the plan has ended; none while it runs.
    ended: Option<String>,
}

impl Peer {
    pub(crate) fn new(connector: Connector) -> Peer {
        Peer {
            connector,
            plan: AsyncMutex::default(),
        }
    }

    /// Sends a question. Dropping the future tells the worker that nobody waits any more.
    pub(crate) async fn ask(
        &self,
        question: &Question,
        left: Duration,
    ) -> Result<ShardAnswer, PeerFailure> {
        let plan = self.plan().await?;
        let reply = plan
            .ask(question, left)
            .await
            .map_err(PeerFailure::Broken)?;
        reply.map_err(|refusal| PeerFailure::Refused(refusal.status, refusal.reason))
    }

    /// Asks for the rows of a scan, over a connection of its own. Dropping the stream ends the scan.
    pub(crate) async fn scan(
        &self,
        scan: ScanMessage,
        schema: SchemaRef,
    ) -> Result<SendableRecordBatchStream, PeerFailure> {
        let connection = self.connector.connect().await;
        let connection = connection.map_err(PeerFailure::Broken)?;
        let leaf = Arc::new(ScanExec::new(scan, schema));
        run(leaf, Arc::new(channel(connection))).map_err(broken)
    }

    /// The age of the plan that runs, and its questions under way; `None` without one, or while one starts.
    pub(crate) fn plan_status(&self) -> Option<(Duration, usize)> {
        let plan = self.plan.try_lock().ok()?;
        let plan = plan.as_ref()?;
        let waiting = plan.under_way.lock();
        let is_running = waiting.ended.is_none();
        is_running.then(|| (plan.started.elapsed(), waiting.replies.len()))
    }

    /// The plan that runs, or a new one.
    async fn plan(&self) -> Result<Arc<StandingPlan>, PeerFailure> {
        let mut plan = self.plan.lock().await;
        if let Some(plan) = &*plan
            && plan.is_usable(&self.connector.security)
        {
            return Ok(Arc::clone(plan));
        }
        let started = Arc::new(StandingPlan::start(&self.connector).await?);
        *plan = Some(Arc::clone(&started));
        Ok(started)
    }
}

impl StandingPlan {
    async fn start(connector: &Connector) -> Result<StandingPlan, PeerFailure> {
        let connection = connector
            .connect()
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::ConnectionRefused => PeerFailure::Dead(error),
                _ => PeerFailure::Broken(error),
            })?;
        let tls = connection.tls();
        let (questions, receiver) = mpsc::unbounded_channel();
        let channel = Arc::new(channel(connection));
        let leaf = FeedExec::new(Questions::new(receiver));
        let answers = run(Arc::new(leaf), channel).map_err(broken)?;
        let under_way = Arc::<UnderWay>::default();
        let mut delivery = JoinSet::new();
        delivery.spawn(Arc::clone(&under_way).deliver(answers));
        Ok(StandingPlan {
            questions,
            number: AtomicU64::new(1),
            under_way,
            tls,
            started: Instant::now(),
            _delivery: delivery,
        })
    }

    fn is_usable(&self, security: &Security) -> bool {
        let is_old = self.tls.is_some() && self.started.elapsed() >= TLS_TIME;
        !is_old && security.is_current(self.tls.as_ref()) && self.under_way.lock().ended.is_none()
    }

    async fn ask(&self, question: &Question, left: Duration) -> io::Result<Reply> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let reply = self.under_way.add(number)?;
        let interest = Interest { plan: self, number };
        // If the plan has ended, so has the wait for the reply.
        let _ = self
            .questions
            .send(QuestionUnit::of(number, question, left));
        let reply = reply.await;
        std::mem::forget(interest);
        reply.map_err(|_| self.under_way.why_ended())
    }
}

/// Ends a question that nobody waits for.
struct Interest<'p> {
    plan: &'p StandingPlan,
    number: u64,
}

impl Drop for Interest<'_> {
    fn drop(&mut self) {
        if self
            .plan
            .under_way
            .lock()
            .replies
            .remove(&self.number)
            .is_some()
        {
            let _ = self
                .plan
                .questions
                .send(QuestionUnit::cancelling(self.number));
        }
    }
}

impl UnderWay {
    fn add(&self, number: u64) -> io::Result<oneshot::Receiver<Reply>> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.lock();
        if let Some(reason) = &waiting.ended {
            return Err(io::Error::other(reason.clone()));
        }
        waiting.replies.insert(number, sender);
        Ok(receiver)
    }

    /// Hands answers over to those who wait for them, until the stream ends; then nobody waits any more.
    async fn deliver(self: Arc<UnderWay>, mut answers: SendableRecordBatchStream) {
        let mut delivery = Delivery {
            under_way: self,
            reason: "an answer could not be read".to_owned(),
        };
        delivery.reason = loop {
            let batch = match answers.next().await {
                Some(Ok(batch)) => batch,
                Some(Err(error)) => break error.to_string(),
                None => break "the other side has ended the plan".to_owned(),
            };
            let delivered = replies_of(&batch, |number, reply| {
                // The caller may have stopped waiting.
                if let Some(waiting) = delivery.under_way.lock().replies.remove(&number) {
                    let _ = waiting.send(reply);
                }
            });
            if let Err(error) = delivered {
                break error.to_string();
            }
        };
    }

    fn why_ended(&self) -> io::Error {
        let ended = self.lock().ended.clone();
        io::Error::other(ended.unwrap_or_default())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a plan when it is dropped, also where the engine panics on what a worker sent.
struct Delivery {
    under_way: Arc<UnderWay>,
    reason: String,
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let mut waiting = self.under_way.lock();
        waiting.ended = Some(std::mem::take(&mut self.reason));
        waiting.replies.clear();
    }
}

/// The channel of the engine over a connection of this node.
fn channel(connection: crate::connections::Connection) -> BoxCloneSyncChannel {
    let connection = Arc::new(Mutex::new(Some(connection)));
    let connect = tower::service_fn(move |_| {
        // Once: a plan does not outlive its connection.
        let connection = connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let connection = connection.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        std::future::ready(connection.map(|connection| TokioIo::new(connection.stream)))
    });
    let channel = Endpoint::from_static(WORKER_URL)
        .tcp_nodelay(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME_BYTES_MAX)
        .http2_keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(PROBE_TIME)
        .keep_alive_while_idle(true)
        .connect_with_connector_lazy(connect);
    BoxCloneSyncChannel::new(channel)
}

/// Starts the plan of a leaf. Returns the stream of its rows.
fn run(
    leaf: Arc<dyn ExecutionPlan>,
    channel: Arc<BoxCloneSyncChannel>,
) -> EngineResult<SendableRecordBatchStream> {
    let url = Url::parse(WORKER_URL).map_err(|error| exec_datafusion_err!("{error}"))?;
    let route = move |_: RouteTasksEvent<'_>| -> Option<EngineResult<RouteTasksEventResponse>> {
        Some(Ok(RouteTasksEventResponse::new(vec![url.clone()])))
    };
    let session = SessionStateBuilder::new()
        .with_distributed_user_codec(FeedCodec(None))
        .with_distributed_channel_resolver(OneChannel(channel))
        .with_distributed_route_tasks_handler(route)
        .with_distributed_compression(None)?
        .with_distributed_metrics_collection(false)?
        .with_distributed_worker_connection_buffer_budget_bytes(BUFFERED_BYTES_MAX)?
        .with_distributed_work_unit_feed(|leaf: &FeedExec| Some(&leaf.feed))
        .build();
    let plan = DistributedExec::new(Arc::new(CoalescePartitionsExec::new(over_network(leaf)?)));
    plan.execute(0, session.task_ctx())
}

/// A network boundary over the leaf, with its stage numbered as the engine's planner does.
fn over_network(leaf: Arc<dyn ExecutionPlan>) -> EngineResult<Arc<dyn ExecutionPlan>> {
    let boundary = NetworkCoalesceExec::try_new(leaf, 1, 1)?;
    let Stage::Local(stage) = boundary.input_stage() else {
        return Err(exec_datafusion_err!("a new stage is not local"));
    };
    let mut stage = stage.clone();
    stage.query_id = Uuid::new_v4();
    stage.num = 1;
    Ok(boundary.with_input_stage(Stage::Local(stage))?)
}

/// The one worker that a plan may reach, whatever address a plan names.
#[derive(Clone)]
struct OneChannel(Arc<BoxCloneSyncChannel>);

#[async_trait::async_trait]
impl ChannelResolver for OneChannel {
    async fn get_worker_client_for_url(
        &self,
        _: &Url,
    ) -> Result<Box<dyn WorkerChannel>, DataFusionError> {
        Ok(create_worker_client(BoxCloneSyncChannel::clone(&self.0)))
    }
}

/// A client of the engine's own requests, for tests of what a worker refuses.
#[cfg(test)]
pub(super) fn untrusted_client(
    connection: crate::connections::Connection,
) -> Box<dyn WorkerChannel> {
    create_worker_client(channel(connection))
}

fn broken(error: DataFusionError) -> PeerFailure {
    PeerFailure::Broken(io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests;
