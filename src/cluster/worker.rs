//! The worker of a node: answers questions about the node's shards, its own coordinator's and others'.
//!
//! Cheap questions are answered where they arrive. Expensive ones run on threads, as many shards at once as
//! there are cores; others wait for their turn, and are refused where that takes too long.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::admission::Admission;
use super::answer::Answer;
use super::connections::{Connection, accept};
use super::loaded_shards::LoadedShards;
use super::messages::{Status, content, next_length, reply, send};
use super::question::{self, Question, Wanted};
use super::security::Security;
use super::shard_answers::{Found, find, merged};
use crate::query::Facet;
use crate::{Error, Result, Snapshot, catch_damage};

/// What a question may cost to be answered where it arrives, as `--cheap-query-cost` of a service has it.
const CHEAP_COST: u64 = 20_000;

/// Expensive questions that may wait for their turn, for each core: more than come in time from nodes that each
/// admit a bounded number of queries, so that what was admitted is refused only after a wait.
const QUEUED_PER_CORE: usize = 256;

/// How long an expensive question may wait for its turn.
const TURN_TIME: Duration = Duration::from_millis(500);

/// How long a connection may be idle. Nodes end theirs sooner.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How long the rest of a question, or a reply, may take to be transferred.
const TRANSFER_TIME: Duration = Duration::from_secs(5);

/// The most memory, in KiB, of replies that wait for their readers.
const MEMORY_KIB_MAX: usize = 1 << 20;

/// Answers questions about shards. Clones share everything.
#[derive(Clone)]
pub(super) struct Worker(Arc<Shared>);

struct Shared {
    loaded: LoadedShards,
    expensive: Admission,
    threads: Arc<Semaphore>,
    memory: Arc<Semaphore>,
}

/// Why a worker does not answer.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) reason: String,
}

impl Worker {
    pub(super) fn new(loaded: LoadedShards) -> Worker {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Worker(Arc::new(Shared {
            loaded,
            expensive: Admission::new(2 * cores, QUEUED_PER_CORE * cores, TURN_TIME),
            threads: Arc::new(Semaphore::new(cores)),
            memory: Arc::new(Semaphore::new(MEMORY_KIB_MAX)),
        }))
    }

    /// What the shards of a question answer, merged.
    pub(super) async fn answer(&self, question: &Question) -> Result<Answer, Refusal> {
        let (shared, wanted) = (&*self.0, &question.wanted);
        if **wanted == Wanted::LoadedShards {
            return Ok(Answer::LoadedShards(shared.loaded.report()));
        }
        let snapshots = shared
            .loaded
            .snapshots(question.generation, &question.shards)
            .map_err(|error| Refusal::of(Status::Missing, &error))?;
        let is_cheap = catch_damage(|| is_cheap(&snapshots, wanted));
        let is_cheap = is_cheap.map_err(|error| Refusal::of(Status::Failed, &error))?;
        let found: Result<Vec<Found>> = if is_cheap {
            let found = snapshots.iter().map(|snapshot| find(snapshot, wanted));
            found.collect()
        } else {
            let turn = shared.expensive.enter().await;
            let _turn = turn.ok_or_else(Refusal::overloaded)?;
            let found = snapshots.iter().map(|snapshot| {
                let threads = Arc::clone(&shared.threads);
                find_on_thread(Arc::clone(snapshot), Arc::clone(wanted), threads)
            });
            try_join_all(found).await
        };
        found
            .and_then(|found| merged(wanted, &snapshots, found))
            .map_err(|error| Refusal::of(Status::Failed, &error))
    }

    /// Answers other nodes until the future is dropped, or nothing can be accepted any more.
    pub(super) async fn serve(self, listener: TcpListener, security: Security) -> Error {
        let tls = security.server_tls().map(TlsAcceptor::from);
        let serve = move |connection, peer| {
            let worker = self.clone();
            async move { worker.serve_connection(connection, peer).await }
        };
        let error = accept(listener, tls, serve).await;
        Error::io("accept connections of other nodes", error)
    }

    async fn serve_connection(self, mut connection: Connection, peer: SocketAddr) {
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
        }
    }

    /// Reads a question of that length and replies.
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
                Err(Refusal::of(Status::Invalid, &error))
            }
        };
        let mut message = match answer {
            Ok(answer) => reply(Status::Answer, |bytes| answer.encode(bytes)),
            Err(refusal) => refusal.encode(),
        };
        let kib = u32::try_from(message.len() / 1024 + 1).unwrap_or(u32::MAX);
        // What cannot be kept until it is read is not answered.
        let kept = Arc::clone(&self.0.memory).try_acquire_many_owned(kib);
        if kept.is_err() {
            message = Refusal::overloaded().encode();
        }
        tokio::time::timeout(TRANSFER_TIME, send(connection, &message)).await?
    }
}

impl Refusal {
    fn of(status: Status, error: &Error) -> Refusal {
        Refusal {
            status,
            reason: error.to_string(),
        }
    }

    fn overloaded() -> Refusal {
        Refusal {
            status: Status::Overloaded,
            reason: "too much is under way".to_owned(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        reply(self.status, |bytes| bytes.extend(self.reason.as_bytes()))
    }
}

/// Whether a question is answered sooner than a thread would take it over.
fn is_cheap(snapshots: &[Arc<Snapshot>], wanted: &Wanted) -> bool {
    let cost = |snapshot: &Arc<Snapshot>| match wanted {
        Wanted::Rows { query, today, .. } => snapshot.cost(query.filter(), *today, CHEAP_COST),
        Wanted::Count { filter, today } => snapshot.cost(filter, *today, CHEAP_COST),
        Wanted::Facets { query, today } => {
            let facets: &[Facet] = &query.facets;
            snapshot.facets_cost(&query.filter, facets, *today, CHEAP_COST)
        }
        Wanted::Signal(_) | Wanted::Company(_) | Wanted::LoadedShards => 0,
    };
    snapshots.iter().map(cost).sum::<u64>() <= CHEAP_COST
}

async fn find_on_thread(
    snapshot: Arc<Snapshot>,
    wanted: Arc<Wanted>,
    threads: Arc<Semaphore>,
) -> Result<Found> {
    let closed = |_| Error::missing("the worker has ended");
    let permit = threads.acquire_owned().await.map_err(closed)?;
    let found = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        find(&snapshot, &wanted)
    });
    let panicked = |error| Error::corrupt(format!("the shard could not be asked: {error}"));
    found.await.map_err(panicked)?
}
