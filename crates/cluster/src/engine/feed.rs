//! The leaf of standing plans, the codec of leaves, and the refusal of every other plan.
//!
//! A worker answers cheap questions at once, those that wait together in one batch, on the first partition. Expensive
//! ones have their turn on the query threads, and their answers leave on the second partition, so that a slow one
//! delays no other.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::datatypes::Schema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_distributed::{
    WorkUnitFeed, WorkUnitFeedProto, WorkUnitFeedProvider, WorkerPlanRewriteEvent,
    WorkerPlanRewriteEventResponse,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use prost::Message;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_stream::wrappers::ReceiverStream;

use super::leaf::{leaf_methods, properties_of};
use super::requests::ConnectionPlan;
use super::rows::{AnswerRows, SCHEMA};
use super::scan::{ScanExec, ScanMessage};
use super::unit::QuestionUnit;
use crate::question::Question;
use crate::worker::{Worker, WorkerRefusal};

/// The partition of cheap questions, through which all questions come, and that of the answers to expensive ones.
pub(super) const PARTITIONS: usize = 2;

/// Questions that wait together and are answered in one batch.
const BATCH: usize = 16;

/// Answers to expensive questions that wait to be sent.
const SLOW_ANSWERS: usize = 16;

/// The questions of a plan, by partition; each is taken once.
#[derive(Clone)]
pub(super) struct Questions(Arc<[Mutex<Option<mpsc::UnboundedReceiver<QuestionUnit>>>]>);

impl Questions {
    /// Questions that a sender sends; the second partition has none of its own.
    pub(super) fn new(receiver: mpsc::UnboundedReceiver<QuestionUnit>) -> Questions {
        let feeds = [Some(receiver), None];
        Questions(feeds.into_iter().map(Mutex::new).collect())
    }
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Questions").finish()
    }
}

impl WorkUnitFeedProvider for Questions {
    type WorkUnit = QuestionUnit;

    fn feed(
        &self,
        partition: usize,
        _: Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<QuestionUnit>>> {
        let feed = self.0.get(partition);
        let feed = feed.and_then(|feed| feed.lock().unwrap_or_else(PoisonError::into_inner).take());
        match feed {
            Some(feed) => Ok(gathered(feed).map(Ok).boxed()),
            None => Ok(futures_util::stream::empty().boxed()),
        }
    }
}

/// The questions of a channel. Those that all come while one waits for its turn leave in one message: the tasks that
/// are ready to ask, and requests that have arrived, come before it. A message costs more than a question.
fn gathered(
    feed: mpsc::UnboundedReceiver<QuestionUnit>,
) -> impl Stream<Item = QuestionUnit> + Send {
    futures_util::stream::unfold(feed, async |mut feed| {
        let unit = match feed.try_recv() {
            Ok(unit) => unit,
            Err(_) => {
                let first = feed.recv().await?;
                tokio::task::yield_now().await;
                first
            }
        };
        Some((unit, feed))
    })
}

/// The leaf: work units are questions, rows are answers.
pub(super) struct FeedExec {
    pub(super) feed: WorkUnitFeed<Questions>,
    properties: Arc<PlanProperties>,
    /// At the worker alone.
    work: Option<Work>,
}

/// What the partitions of a plan share at the worker.
struct Work {
    worker: Worker,
    connection: ConnectionPlan,
    /// Expensive questions under way, by number.
    running: Arc<Mutex<HashMap<u64, AbortHandle>>>,
    answers: mpsc::Sender<AnswerRows>,
    /// Taken by the second partition.
    answered: Mutex<Option<mpsc::Receiver<AnswerRows>>>,
}

/// A leaf: one of both.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LeafMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) feed: Option<WorkUnitFeedProto>,
    #[prost(message, optional, tag = "2")]
    pub(super) scan: Option<ScanMessage>,
}

impl FeedExec {
    /// The leaf at the node that asks.
    pub(super) fn new(questions: Questions) -> FeedExec {
        FeedExec::with(WorkUnitFeed::new(questions), None)
    }

    fn with(feed: WorkUnitFeed<Questions>, work: Option<Work>) -> FeedExec {
        FeedExec {
            feed,
            properties: properties_of(Arc::clone(&SCHEMA), PARTITIONS),
            work,
        }
    }
}

impl fmt::Debug for FeedExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FeedExec").finish()
    }
}

impl DisplayAs for FeedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeedExec")
    }
}

impl ExecutionPlan for FeedExec {
    leaf_methods!("FeedExec");

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(work) = &self.work else {
            return exec_err!("questions are answered by workers");
        };
        let batches = match partition {
            0 => work.answer_at_once(self.feed.feed(partition, context)?),
            _ => work.answers_later()?,
        };
        let schema = Arc::clone(&SCHEMA);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

type Batches = BoxStream<'static, Result<datafusion::arrow::array::RecordBatch>>;

impl Work {
    fn new(worker: Worker, connection: ConnectionPlan) -> Work {
        let (answers, answered) = mpsc::channel(SLOW_ANSWERS);
        Work {
            worker,
            connection,
            running: Arc::default(),
            answers,
            answered: Mutex::new(Some(answered)),
        }
    }

    /// The answers to cheap questions. Starts the expensive ones.
    fn answer_at_once(&self, units: BoxStream<'static, Result<QuestionUnit>>) -> Batches {
        let work = self.clone_for_tasks();
        let batches = units.ready_chunks(BATCH).map(move |units| {
            let mut rows = AnswerRows::default();
            for unit in units {
                work.connection.take();
                work.take(unit?, &mut rows);
            }
            rows.batch()
        });
        batches.boxed()
    }

    fn answers_later(&self) -> Result<Batches> {
        let answered = self
            .answered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(answered) = answered else {
            return exec_err!("the answers of a plan are taken once");
        };
        Ok(ReceiverStream::new(answered).map(AnswerRows::batch).boxed())
    }

    fn clone_for_tasks(&self) -> Tasks {
        Tasks {
            worker: self.worker.clone(),
            connection: self.connection.clone(),
            running: Arc::clone(&self.running),
            answers: self.answers.clone(),
        }
    }
}

/// Takes the questions of a plan. Dropped with its stream, which ends those under way.
struct Tasks {
    worker: Worker,
    connection: ConnectionPlan,
    running: Arc<Mutex<HashMap<u64, AbortHandle>>>,
    answers: mpsc::Sender<AnswerRows>,
}

impl Tasks {
    /// Answers a question if it is cheap, starts it if it is not, or ends it if nobody waits any more.
    fn take(&self, unit: QuestionUnit, rows: &mut AnswerRows) {
        let number = unit.number.unwrap_or_default();
        if unit.is_cancelled == Some(true) {
            let running = self.running().remove(&number);
            running.into_iter().for_each(|task| task.abort());
            return;
        }
        let left = unit.left();
        match unit.question() {
            Err(error) => rows.push(number, &Err(WorkerRefusal::invalid(&error))),
            Ok(question) => match self.worker.answer_at_once(&question) {
                Some(reply) => rows.push(number, &reply),
                None => self.start(number, question, left),
            },
        }
    }

    fn start(&self, number: u64, question: Question, left: std::time::Duration) {
        let (worker, answers) = (self.worker.clone(), self.answers.clone());
        let running = Arc::clone(&self.running);
        // Locked until the task is in it: the task takes itself out.
        let mut under_way = self.running();
        let task = tokio::spawn(async move {
            let reply = tokio::time::timeout(left, worker.answer_in_turn(&question)).await;
            let reply = reply.unwrap_or_else(|_| Err(WorkerRefusal::overloaded()));
            let mut rows = AnswerRows::default();
            rows.push(number, &reply);
            // Fails only if the plan has ended.
            let _ = answers.send(rows).await;
            lock(&running).remove(&number);
        });
        under_way.insert(number, task.abort_handle());
    }

    fn running(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        lock(&self.running)
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.running().drain().for_each(|(_, task)| task.abort());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes and reads the leaf. That of a worker answers the questions of a connection.
#[derive(Clone)]
pub(super) struct FeedCodec(pub(super) Option<(Worker, ConnectionPlan)>);

impl fmt::Debug for FeedCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FeedCodec").finish()
    }
}

impl PhysicalExtensionCodec for FeedCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        _: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let message = LeafMessage::decode(bytes);
        let message =
            message.map_err(|error| exec_datafusion_err!("the plan is malformed: {error}"))?;
        if let Some(scan) = message.scan {
            return Ok(Arc::new(match &self.0 {
                Some((worker, _)) => ScanExec::at(worker, scan)?,
                // The node that asks reads what it sends once more; its own leaf has the columns.
                None => ScanExec::new(scan, Arc::new(Schema::empty())),
            }));
        }
        let feed = WorkUnitFeed::from_proto(message.feed.unwrap_or_default())?;
        let work = self.0.clone();
        let work = work.map(|(worker, connection)| Work::new(worker, connection));
        Ok(Arc::new(FeedExec::with(feed, work)))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let feed = node.downcast_ref::<FeedExec>();
        let scan = node.downcast_ref::<ScanExec>();
        if feed.is_none() && scan.is_none() {
            return exec_err!("{} is not sent to workers", node.name());
        }
        let message = LeafMessage {
            feed: feed.map(|leaf| leaf.feed.to_proto()),
            scan: scan.map(|leaf| leaf.message.clone()),
        };
        message
            .encode(bytes)
            .map_err(|error| exec_datafusion_err!("the plan cannot be sent: {error}"))
    }
}

/// Refuses a plan with any node but a leaf, before the engine registers it: otherwise any certificate of the cluster
/// could read and write files by a plan with a scan or a sink.
pub(super) fn refuse_foreign(
    event: WorkerPlanRewriteEvent<'_>,
) -> Result<WorkerPlanRewriteEventResponse> {
    event.plan.apply(|node| {
        if node.is::<FeedExec>() || node.is::<ScanExec>() {
            Ok(TreeNodeRecursion::Continue)
        } else {
            exec_err!(
                "{} is not run here: this port takes questions alone",
                node.name()
            )
        }
    })?;
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}
