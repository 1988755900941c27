//! Checks requests of other nodes before the engine reads them. The engine trusts its peers: it would run any plan, make
//! as many queues as a request declares, and keep an entry for each unknown plan.
//!
//! A connection has one plan, which is a leaf alone: that of questions, or where the node answers SQL that of a scan. What
//! is checked is what the engine reads: a request whose bytes are not those of its checked fields is refused. The engine's
//! queue of questions has no bound, so those that wait in it are counted here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body as AnyBody, Bytes};
use datafusion_distributed::WorkUnitFeedProto;
use datafusion_proto::protobuf::PhysicalPlanNode;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use futures_util::{Stream, StreamExt};
use prost::Message;
use prost::bytes::BytesMut;
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::Request;

use super::feed::{LeafMessage, PARTITIONS};
use super::scan::SCAN_PARTITIONS;
use crate::connections::Refusals;

/// The two requests of a plan, by path.
const SET_PLAN: &str = "/worker.WorkerService/CoordinatorChannel";
const EXECUTE: &str = "/worker.WorkerService/ExecuteTask";

/// Maximum bytes of a plan or of a request to execute it, which take a few hundred.
const REQUEST_BYTES_MAX: usize = 16 << 10;

/// Maximum bytes of a plan where it may be a scan, with its conditions: four times those of a statement.
const SCAN_BYTES_MAX: usize = 1 << 20;

/// Why a node takes no scan.
pub(super) const WITHOUT_SQL: &str = "the plan is not run here: this port takes questions alone, because the node was started without --sql-addr";

/// Maximum bytes of a message of questions.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Maximum bytes of the questions of a connection that wait to be taken, and what each takes beside its own. A worker
/// takes its questions while its answers are read.
const WAITING_BYTES_MAX: usize = 8 << 20;
const QUESTION_OVERHEAD: usize = 1 << 10;

/// How long a request may take to arrive, and the request to execute a plan to wait for the plan.
const REQUEST_TIME: Duration = Duration::from_secs(10);

/// Bytes before each message: whether it is compressed, and its length.
const HEADER_BYTES: usize = 5;

/// The codec of the leaf among those of the engine: the second, after its own.
const LEAF_CODEC: u32 = 1;

/// What a connection may do.
#[derive(Clone)]
pub(super) struct ConnectionPlan(Arc<ConnectionState>);

struct ConnectionState {
    peer: String,
    refusals: Arc<Refusals>,
    /// Whether its plan may be a scan.
    takes_scans: bool,
    /// Its plan.
    plan: watch::Sender<Option<RegisteredPlan>>,
    waiting: Mutex<WaitingQuestions>,
}

/// The key of a plan, and its number of partitions.
struct RegisteredPlan {
    key: Vec<u8>,
    partitions: usize,
}

/// The sizes of questions that the worker has not taken yet, in their order.
#[derive(Default)]
struct WaitingQuestions {
    sizes: VecDeque<usize>,
    bytes: usize,
}

tokio::task_local! {
    /// That of the request which the engine reads.
    static CONNECTION: ConnectionPlan;
}

/// The first message of a plan's channel.
#[derive(Clone, PartialEq, prost::Message)]
struct ToWorker {
    #[prost(message, optional, tag = "1")]
    set_plan: Option<SetPlan>,
}

/// A plan and its feeds, with the engine's numbers of fields.
#[derive(Clone, PartialEq, prost::Message)]
struct SetPlan {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(uint64, tag = "2")]
    task_count: u64,
    #[prost(bytes = "vec", tag = "3")]
    plan: Vec<u8>,
    #[prost(message, repeated, tag = "4")]
    feeds: Vec<Feed>,
    #[prost(string, tag = "5")]
    worker_url: String,
    #[prost(uint64, tag = "6")]
    started_at: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Feed {
    #[prost(bytes = "vec", tag = "1")]
    id: Vec<u8>,
    #[prost(uint64, tag = "2")]
    partitions: u64,
}

/// A later message of a plan's channel.
#[derive(Clone, PartialEq, prost::Message)]
struct Questions {
    #[prost(message, optional, tag = "2")]
    batch: Option<UnitBatch>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct UnitBatch {
    #[prost(message, repeated, tag = "1")]
    units: Vec<Unit>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Unit {
    #[prost(uint64, tag = "2")]
    partition: u64,
    #[prost(bytes = "bytes", tag = "3")]
    question: Bytes,
}

/// The request for a plan's answers. Heads that the engine would put over the plan are missing.
#[derive(Clone, PartialEq, prost::Message)]
struct Execute {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(uint64, tag = "2")]
    begin: u64,
    #[prost(uint64, tag = "3")]
    end: u64,
    #[prost(bytes = "vec", optional, tag = "6")]
    no_head: Option<Vec<u8>>,
}

/// How the engine marks which codec has written a leaf.
#[derive(Clone, PartialEq, prost::Message)]
struct EncodedByCodec {
    #[prost(uint32, tag = "1")]
    codec: u32,
    #[prost(bytes = "vec", tag = "2")]
    leaf: Vec<u8>,
}

/// A request that may be handed to the engine, and its connection.
///
/// # Errors
/// Why it may not, in words, which are logged.
pub(super) async fn checked(
    request: Request<Body>,
) -> Result<(ConnectionPlan, Request<Body>), Status> {
    let connection = request.extensions().get::<ConnectionPlan>().cloned();
    let connection = connection.ok_or_else(|| Status::internal("the connection is unknown"))?;
    let checked = tokio::time::timeout(REQUEST_TIME * 2, connection.check(request)).await;
    let late = || {
        Err(Status::deadline_exceeded(
            "the request has not arrived in time",
        ))
    };
    let checked = checked.unwrap_or_else(|_| late());
    let checked = checked.inspect_err(|status| connection.log(status))?;
    Ok((connection, checked))
}

impl ConnectionPlan {
    /// A connection with the other side at an address.
    pub(super) fn new(peer: String, refusals: Arc<Refusals>, takes_scans: bool) -> ConnectionPlan {
        ConnectionPlan(Arc::new(ConnectionState {
            peer,
            refusals,
            takes_scans,
            plan: watch::Sender::default(),
            waiting: Mutex::default(),
        }))
    }

    /// Calls the engine with a request of the connection.
    pub(super) fn call<F: Future>(self, engine: F) -> impl Future<Output = F::Output> {
        CONNECTION.scope(self, engine)
    }

    /// The connection of the request that the engine reads.
    pub(super) fn current() -> Option<ConnectionPlan> {
        CONNECTION.try_with(ConnectionPlan::clone).ok()
    }

    /// Notes that the worker has taken the next question.
    pub(super) fn take(&self) {
        let mut waiting = self.waiting();
        if let Some(size) = waiting.sizes.pop_front() {
            waiting.bytes -= size;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingQuestions> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, status: &Status) {
        self.0.refusals.log(&self.0.peer, status.message());
    }

    async fn check(&self, request: Request<Body>) -> Result<Request<Body>, Status> {
        let (parts, body) = request.into_parts();
        let is_plan = match parts.uri.path() {
            SET_PLAN => true,
            EXECUTE => false,
            _ => return Err(Status::unimplemented("this port takes questions alone")),
        };
        let mut messages = Messages {
            body: AnyBody::new(body).into_data_stream(),
            read: BytesMut::new(),
        };
        let bytes_max = if is_plan && self.0.takes_scans {
            SCAN_BYTES_MAX
        } else {
            REQUEST_BYTES_MAX
        };
        let first = messages.next(bytes_max).await?;
        let first =
            first.ok_or_else(|| Status::invalid_argument("the request ends before its message"))?;
        if is_plan {
            self.set_plan(&first[HEADER_BYTES..])?;
        } else {
            self.execute(&first[HEADER_BYTES..]).await?;
        }
        let rest = futures_util::stream::try_unfold(messages, {
            let connection = self.clone();
            move |mut messages| {
                let connection = connection.clone();
                async move {
                    let message = connection.next_of(&mut messages, is_plan).await;
                    let message = message.inspect_err(|status| connection.log(status))?;
                    Ok::<_, Status>(message.map(|message| (message, messages)))
                }
            }
        });
        let whole = futures_util::stream::once(std::future::ready(Ok(first))).chain(rest);
        let body = Body::new(AnyBody::from_stream(whole));
        Ok(Request::from_parts(parts, body))
    }

    /// The next message after the first. A request for answers has none.
    async fn next_of<S, E>(
        &self,
        messages: &mut Messages<S>,
        is_plan: bool,
    ) -> Result<Option<Bytes>, Status>
    where
        S: Stream<Item = Result<Bytes, E>> + Unpin,
    {
        let message = messages.next(MESSAGE_BYTES_MAX).await?;
        if let Some(message) = &message {
            if !is_plan {
                return Err(Status::invalid_argument("the request has two messages"));
            }
            self.add(&message[HEADER_BYTES..])?;
        }
        Ok(message)
    }

    /// Counts the questions of a message as waiting.
    fn add(&self, message: &[u8]) -> Result<(), Status> {
        let read = Questions::decode(message);
        let read = read.map_err(|_| Status::invalid_argument("the request is malformed"))?;
        let mut waiting = self.waiting();
        for unit in read.batch.into_iter().flat_map(|batch| batch.units) {
            if unit.partition != 0 {
                return Err(Status::invalid_argument(
                    "questions come through the first partition",
                ));
            }
            let size = QUESTION_OVERHEAD + unit.question.len();
            waiting.sizes.push_back(size);
            waiting.bytes += size;
        }
        if waiting.bytes > WAITING_BYTES_MAX {
            return Err(Status::resource_exhausted(
                "too many questions wait, because their answers are not read",
            ));
        }
        Ok(())
    }

    fn set_plan(&self, message: &[u8]) -> Result<(), Status> {
        let read: ToWorker = exactly(message)?;
        let read = read
            .set_plan
            .ok_or_else(|| Status::invalid_argument("a channel begins with its plan"))?;
        let partitions = match leaf_of(&read.plan) {
            Some(Leaf::Scan) if !self.0.takes_scans => {
                return Err(Status::permission_denied(WITHOUT_SQL));
            }
            Some(Leaf::Scan) if !read.feeds.is_empty() => {
                return Err(Status::invalid_argument("a scan has no feed"));
            }
            Some(Leaf::Scan) => SCAN_PARTITIONS,
            Some(Leaf::Questions) => PARTITIONS,
            None => {
                let taken = ["questions", "questions and scans"][usize::from(self.0.takes_scans)];
                return Err(Status::permission_denied(format!(
                    "the plan is not run here: this port takes {taken} alone"
                )));
            }
        };
        let has_feed = matches!(&read.feeds[..], [feed] if feed.partitions == PARTITIONS as u64);
        if partitions == PARTITIONS && !has_feed {
            return Err(Status::invalid_argument(format!(
                "the plan has to declare one feed with {PARTITIONS} partitions"
            )));
        }
        let key = read.key;
        let is_first = self.0.plan.send_if_modified(|plan| {
            let is_first = plan.is_none();
            if is_first {
                *plan = Some(RegisteredPlan { key, partitions });
            }
            is_first
        });
        if is_first {
            Ok(())
        } else {
            Err(Status::resource_exhausted("a connection has one plan"))
        }
    }

    async fn execute(&self, message: &[u8]) -> Result<(), Status> {
        let read: Execute = exactly(message)?;
        if read.begin > read.end || read.end > PARTITIONS as u64 {
            return Err(Status::invalid_argument(format!(
                "a plan has partitions 0 to {PARTITIONS}, not {} to {}",
                read.begin, read.end
            )));
        }
        // Both requests are sent at once, so that this one may come first.
        let mut plan = self.0.plan.subscribe();
        let set = tokio::time::timeout(REQUEST_TIME, plan.wait_for(Option::is_some)).await;
        let partitions = match &set {
            Ok(Ok(plan)) => plan.as_ref().filter(|plan| plan.key == read.key),
            _ => None,
        };
        match partitions.map(|plan| plan.partitions as u64) {
            Some(partitions) if read.end <= partitions => Ok(()),
            Some(_) => Err(Status::invalid_argument("a scan has one partition")),
            None => Err(Status::not_found("the connection has no such plan")),
        }
    }
}

/// The messages of a body.
struct Messages<S> {
    body: S,
    /// What has been read of the next ones.
    read: BytesMut,
}

impl<S: Stream<Item = Result<Bytes, E>> + Unpin, E> Messages<S> {
    /// The next message with its header; `None` at the end.
    async fn next(&mut self, bytes_max: usize) -> Result<Option<Bytes>, Status> {
        // Each turn reads a part of at most one frame.
        loop {
            let end = end_of(&self.read, bytes_max)?;
            if let Some(end) = end.filter(|&end| end <= self.read.len()) {
                return Ok(Some(self.read.split_to(end).freeze()));
            }
            match self.body.next().await {
                Some(Ok(bytes)) => self.read.extend_from_slice(&bytes),
                None if self.read.is_empty() => return Ok(None),
                Some(Err(_)) | None => {
                    return Err(Status::invalid_argument(
                        "the request ends before its message",
                    ));
                }
            }
        }
    }
}

/// The end of a message, as its header declares it; `None` while that has not been read.
fn end_of(read: &[u8], bytes_max: usize) -> Result<Option<usize>, Status> {
    let &[compressed, a, b, c, d, ..] = read else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if compressed != 0 {
        return Err(Status::unimplemented("the message is compressed"));
    }
    if length > bytes_max {
        return Err(Status::resource_exhausted(format!(
            "the request declares {length} bytes; at most {bytes_max} are allowed"
        )));
    }
    Ok(Some(HEADER_BYTES + length))
}

/// Reads a message that has nothing beside the fields of `M`, each at most once.
fn exactly<M: Message + Default>(bytes: &[u8]) -> Result<M, Status> {
    let read = M::decode(bytes);
    let read = read.map_err(|_| Status::invalid_argument("the request is malformed"))?;
    if read.encode_to_vec() == bytes {
        Ok(read)
    } else {
        Err(Status::invalid_argument(
            "the request has fields that are not allowed",
        ))
    }
}

/// What a plan consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    Questions,
    Scan,
}

/// The leaf that a plan is, as this release writes it; `None` for every other plan.
fn leaf_of(plan: &[u8]) -> Option<Leaf> {
    let node = PhysicalPlanNode::decode(plan).ok()?;
    let Some(PhysicalPlanType::Extension(node)) = node.physical_plan_type else {
        return None;
    };
    let encoded = EncodedByCodec::decode(&node.node[..]).ok();
    let leaf = encoded.filter(|encoded| encoded.codec == LEAF_CODEC && node.inputs.is_empty())?;
    let leaf = LeafMessage::decode(&leaf.leaf[..]).ok()?;
    let is_id = |feed: &WorkUnitFeedProto| feed.id.len() == size_of::<uuid::Uuid>();
    match (leaf.feed, leaf.scan) {
        (Some(feed), None) => is_id(&feed).then_some(Leaf::Questions),
        (None, Some(_)) => Some(Leaf::Scan),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
