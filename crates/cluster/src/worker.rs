//! The worker of a node: answers questions of all coordinators about the node's shards.
//!
//! Cheap questions are answered on the receiving thread. Expensive ones run on a pool, with as many shards at a
//! time as there are cores; others wait, and are refused if that takes too long.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::admission::Admission;
use super::answer::ShardAnswer;
use super::connections::{Connection, accept};
use super::loaded_shards::LoadedShards;
use super::messages::{ReplyStatus, content, next_length, reply, send};
use super::question::{self, Question, ShardRequest};
use super::security::Security;
use super::shard_answers::{ShardResult, find, merged};
use signaldex::query::Facet;
use signaldex::{Error, Result, Snapshot};

/// The cost up to which a question is answered on the receiving thread, in the unit of `--cheap-query-cost`.
const CHEAP_COST: u64 = 20_000;

/// Expensive questions that may wait, per core: more than nodes admit at a time, so that admitted queries are
/// refused only after a wait.
const QUEUED_PER_CORE: usize = 256;

/// How long an expensive question may wait.
const TURN_TIME: Duration = Duration::from_millis(500);

/// How long a connection may be idle. Nodes close theirs sooner.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// Time limit for transferring the rest of a question, or a reply.
const TRANSFER_TIME: Duration = Duration::from_secs(5);

/// Maximum memory of replies waiting for their readers, in KiB.
const MEMORY_KIB_MAX: usize = 1 << 20;

/// Answers questions about shards. Clones share everything.
#[derive(Clone)]
pub(super) struct Worker(Arc<WorkerState>);

struct WorkerState {
    loaded: LoadedShards,
    expensive: Admission,
    threads: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

/// Why a worker refuses a question.
#[derive(Debug)]
pub(super) struct WorkerRefusal {
    pub(super) status: ReplyStatus,
    pub(super) reason: String,
}

impl Worker {
    pub(super) fn new(loaded: LoadedShards) -> Worker {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Worker(Arc::new(WorkerState {
            loaded,
            expensive: Admission::new(2 * cores, QUEUED_PER_CORE * cores, TURN_TIME),
            threads: Arc::new(Semaphore::new(cores)),
            memory: Arc::new(Semaphore::new(MEMORY_KIB_MAX)),
        }))
    }

    /// The merged answer of the shards of a question.
    pub(super) async fn answer(&self, question: &Question) -> Result<ShardAnswer, WorkerRefusal> {
        let (shared, wanted) = (&*self.0, &question.wanted);
        if **wanted == ShardRequest::LoadedShards {
            return Ok(ShardAnswer::LoadedShards(shared.loaded.report()));
        }
        let snapshots = shared
            .loaded
            .snapshots(question.generation, &question.shards)
            .map_err(|error| WorkerRefusal::of(ReplyStatus::Missing, &error))?;
        let is_cheap = is_cheap(&snapshots, wanted)
            .map_err(|error| WorkerRefusal::of(ReplyStatus::Failed, &error))?;
        let found: Result<Vec<ShardResult>> = if is_cheap {
            let found = snapshots.iter().map(|snapshot| find(snapshot, wanted));
            found.collect()
        } else {
            let turn = shared.expensive.enter().await;
            let _turn = turn.ok_or_else(WorkerRefusal::overloaded)?;
            let found = snapshots.iter().map(|snapshot| {
                let threads = Arc::clone(&shared.threads);
                find_on_thread(Arc::clone(snapshot), Arc::clone(wanted), threads)
            });
            try_join_all(found).await
        };
        found
            .and_then(|found| merged(wanted, &snapshots, found))
            .map_err(|error| WorkerRefusal::of(ReplyStatus::Failed, &error))
    }

    /// Answers other nodes until the future is dropped or the listener breaks.
    pub(super) async fn serve(self, listener: TcpListener, security: Security) -> Error {
        let serve = {
            let security = security.clone();
            move |connection, peer| {
                let (worker, security) = (self.clone(), security.clone());
                async move { worker.serve_connection(connection, peer, &security).await }
            }
        };
        let error = accept(listener, &security, serve).await;
        Error::io("accept connections of other nodes", error)
    }

    async fn serve_connection(
        self,
        mut connection: Connection,
        peer: SocketAddr,
        security: &Security,
    ) {
        while let Ok(next) =
            tokio::time::timeout(IDLE_TIME, next_length(&mut connection, question::BYTES_MAX)).await
        {
            let served = match next {
                Ok(Some(length)) => self.serve_question(&mut connection, length, peer).await,
                Ok(None) => return,
                Err(error) => Err(error),
            };
            if let Err(error) = served {
                let reason = error.to_string();
                tracing::warn!(%peer, reason, "a connection to the worker is closed");
                return;
            }
            // After a certificate was replaced, the other side connects anew. An idle connection ends by itself.
            if !connection.is_current(security) {
                return;
            }
        }
    }

    /// Reads a question of this length and replies.
    async fn serve_question(
        &self,
        connection: &mut Connection,
        length: usize,
        peer: SocketAddr,
    ) -> std::io::Result<()> {
        let bytes = tokio::time::timeout(TRANSFER_TIME, content(connection, length)).await??;
        let answer = match Question::decode(&bytes) {
            Ok(question) => self.answer(&question).await,
            Err(error) => {
                let reason = error.to_string();
                tracing::warn!(%peer, reason, "a question to the worker is refused");
                Err(WorkerRefusal::of(ReplyStatus::Invalid, &error))
            }
        };
        let mut message = match answer {
            Ok(answer) => reply(ReplyStatus::Answer, |bytes| answer.encode(bytes)),
            Err(refusal) => refusal.encode(),
        };
        let kib = u32::try_from(message.len() / 1024 + 1).unwrap_or(u32::MAX);
        // A reply is refused if there is no memory to keep it until it is read.
        let kept = Arc::clone(&self.0.memory).try_acquire_many_owned(kib);
        if kept.is_err() {
            message = WorkerRefusal::overloaded().encode();
        }
        tokio::time::timeout(TRANSFER_TIME, send(connection, &message)).await?
    }
}

impl WorkerRefusal {
    fn of(status: ReplyStatus, error: &Error) -> WorkerRefusal {
        WorkerRefusal {
            status,
            reason: error.to_string(),
        }
    }

    fn overloaded() -> WorkerRefusal {
        WorkerRefusal {
            status: ReplyStatus::Overloaded,
            reason: "too much is under way".to_owned(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        reply(self.status, |bytes| bytes.extend(self.reason.as_bytes()))
    }
}

/// Whether answering a question is faster than switching threads.
fn is_cheap(snapshots: &[Arc<Snapshot>], wanted: &ShardRequest) -> Result<bool> {
    let cost = |snapshot: &Arc<Snapshot>| match wanted {
        ShardRequest::Rows { query, today, .. } => {
            snapshot.cost(query.filter(), *today, CHEAP_COST)
        }
        ShardRequest::Count { filter, today } => snapshot.cost(filter, *today, CHEAP_COST),
        ShardRequest::Facets { query, today } => {
            let facets: &[Facet] = &query.facets;
            snapshot.facets_cost(&query.filter, facets, *today, CHEAP_COST)
        }
        ShardRequest::Signal(_) | ShardRequest::Company(_) | ShardRequest::LoadedShards => Ok(0),
    };
    Ok(snapshots.iter().map(cost).sum::<Result<u64>>()? <= CHEAP_COST)
}

async fn find_on_thread(
    snapshot: Arc<Snapshot>,
    wanted: Arc<ShardRequest>,
    threads: Arc<Semaphore>,
) -> Result<ShardResult> {
    let closed = |_| Error::missing("the worker has ended");
    let permit = threads.acquire_owned().await.map_err(closed)?;
    let found = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        find(&snapshot, &wanted)
    });
    let panicked = |error| Error::corrupt(format!("the shard could not be asked: {error}"));
    found.await.map_err(panicked)?
}
