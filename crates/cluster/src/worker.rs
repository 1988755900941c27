//! The worker of a node: answers questions of all coordinators about the node's shards.
//!
//! Cheap questions are answered on the receiving thread. Expensive ones run on a pool, with as many shards at a
//! time as there are cores; others wait, and are refused if that takes too long.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::Semaphore;

use super::admission::Admission;
use super::answer::ShardAnswer;
use super::loaded_shards::{AskedShard, LoadedShards};
use super::question::{KeyScope, Question, ShardRequest};
use super::shard_answers::{ShardResult, answer, find, merged};
use super::shard_scanner::ShardScanner;
use signaldex::query::Facet;
use signaldex::{Cost, Error, Result, Snapshot};

/// The cost up to which a question is answered on the receiving thread, in the unit of `--cheap-query-cost`.
const CHEAP_COST: u64 = 20_000;

/// The cost up to which an expensive question is answered by one thread, whatever its number of shards: about a millisecond.
/// Waking a thread for each shard takes longer than most shards do.
const ONE_THREAD_COST: u64 = 20 * CHEAP_COST;

/// Expensive questions that may wait, per core: more than nodes admit at a time, so that admitted queries are
/// refused only after a wait.
const QUEUED_PER_CORE: usize = 256;

/// How long an expensive question may wait.
const TURN_TIME: Duration = Duration::from_millis(500);

/// Answers questions about shards. Clones share everything.
#[derive(Clone)]
pub(super) struct Worker(Arc<WorkerState>);

struct WorkerState {
    loaded: LoadedShards,
    expensive: Admission,
    threads: Arc<Semaphore>,
    /// Where the node answers SQL.
    scanner: Option<Arc<dyn ShardScanner>>,
}

/// The status of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ReplyStatus {
    Answer = 0,
    /// The worker is overloaded; try another node, or later.
    Overloaded = 1,
    /// The shards or the generation are not loaded.
    Missing = 2,
    /// The question is invalid or of a newer release.
    Invalid = 3,
    /// The shard is damaged.
    Failed = 4,
}

impl ReplyStatus {
    /// The status with this number.
    pub(super) fn of(number: u8) -> Option<ReplyStatus> {
        use ReplyStatus::{Answer, Failed, Invalid, Missing, Overloaded};
        let all = [Answer, Overloaded, Missing, Invalid, Failed];
        all.into_iter().find(|&status| status as u8 == number)
    }
}

/// Why a worker refuses a question.
#[derive(Debug)]
pub(super) struct WorkerRefusal {
    pub(super) status: ReplyStatus,
    pub(super) reason: String,
}

impl Worker {
    pub(super) fn new(loaded: LoadedShards, scanner: Option<Arc<dyn ShardScanner>>) -> Worker {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Worker(Arc::new(WorkerState {
            loaded,
            expensive: Admission::new(2 * cores, QUEUED_PER_CORE * cores, TURN_TIME),
            threads: Arc::new(Semaphore::new(cores)),
            scanner,
        }))
    }

    /// The merged answer of the shards of a question.
    pub(super) async fn answer(&self, question: &Question) -> Result<ShardAnswer, WorkerRefusal> {
        match self.answer_at_once(question) {
            Some(answer) => answer,
            None => self.answer_in_turn(question).await,
        }
    }

    /// The answer to a question that is cheaper than switching threads; `None` for others.
    pub(super) fn answer_at_once(
        &self,
        question: &Question,
    ) -> Option<Result<ShardAnswer, WorkerRefusal>> {
        let wanted = &question.wanted;
        let whole = match self.shards(question) {
            Ok(whole) => whole,
            Err(refusal) => return Some(Err(refusal)),
        };
        if narrowing_cost(&whole, question.key.as_ref()) > CHEAP_COST {
            return None;
        }
        let shards = match narrowed(whole, question.key.as_ref()) {
            Ok(shards) => shards,
            Err(error) => return Some(Err(WorkerRefusal::of(ReplyStatus::Failed, &error))),
        };
        match is_cheap(&shards, wanted) {
            Ok(false) => None,
            Ok(true) => {
                let found = answer(question, &shards);
                Some(found.map_err(|error| WorkerRefusal::of(ReplyStatus::Failed, &error)))
            }
            Err(error) => Some(Err(WorkerRefusal::of(ReplyStatus::Failed, &error))),
        }
    }

    /// The answer to an expensive question, on other threads, when it is its turn.
    pub(super) async fn answer_in_turn(
        &self,
        question: &Question,
    ) -> Result<ShardAnswer, WorkerRefusal> {
        let (shared, wanted) = (&*self.0, &question.wanted);
        let whole = self.shards(question)?;
        let answered = async {
            let shards = self.narrowed_on_thread(whole, question).await?;
            if cost_of(&shards, wanted, ONE_THREAD_COST)? <= ONE_THREAD_COST {
                return self.answer_on_thread(question, shards).await;
            }
            let of_each = question.of_each_shard();
            let found = shards.iter().map(|shard| {
                let threads = Arc::clone(&shared.threads);
                let (shard, wanted) = (shard.clone(), Arc::clone(&of_each));
                on_thread(threads, move || find(&shard, &wanted))
            });
            let found = try_join_all(found).await;
            match wanted.companies() {
                Some(_) => self.merged_on_thread(question, &shards, found?).await,
                None => merged(question, &shards, found?),
            }
        };
        let answered = shared.expensive.run(answered).await;
        let answered = answered.ok_or_else(WorkerRefusal::overloaded)?;
        answered.map_err(|error| WorkerRefusal::of(ReplyStatus::Failed, &error))
    }

    /// Asks all shards on one other thread.
    async fn answer_on_thread(
        &self,
        question: &Question,
        shards: Vec<AskedShard>,
    ) -> Result<ShardAnswer> {
        let question = question.clone();
        let threads = Arc::clone(&self.0.threads);
        on_thread(threads, move || answer(&question, &shards)).await
    }

    /// Merges on another thread what takes long: companies are read with all of their signals.
    async fn merged_on_thread(
        &self,
        question: &Question,
        shards: &[AskedShard],
        found: Vec<ShardResult>,
    ) -> Result<ShardAnswer> {
        let (question, shards) = (question.clone(), shards.to_vec());
        let threads = Arc::clone(&self.0.threads);
        on_thread(threads, move || merged(&question, &shards, found)).await
    }

    /// The shards that a question is about, whole.
    fn shards(&self, question: &Question) -> Result<Vec<AskedShard>, WorkerRefusal> {
        let shards = self.0.loaded.asked(question.generation, &question.shards);
        shards.map_err(|error| WorkerRefusal::of(ReplyStatus::Missing, &error))
    }

    /// Narrows shards on another thread, unless that is a look-up.
    async fn narrowed_on_thread(
        &self,
        whole: Vec<AskedShard>,
        question: &Question,
    ) -> Result<Vec<AskedShard>> {
        let key = question.key.clone();
        if narrowing_cost(&whole, key.as_ref()) == 0 {
            return narrowed(whole, key.as_ref());
        }
        let threads = Arc::clone(&self.0.threads);
        on_thread(threads, move || narrowed(whole, key.as_ref())).await
    }

    /// What runs scans of SQL, if the node answers it.
    pub(super) fn scanner(&self) -> Option<&Arc<dyn ShardScanner>> {
        self.0.scanner.as_ref()
    }

    /// Shards of a generation.
    ///
    /// # Errors
    /// One of them is not loaded, or a file of it was overwritten.
    pub(super) fn snapshots(&self, generation: u64, shards: &[u32]) -> Result<Vec<Arc<Snapshot>>> {
        let asked = self.0.loaded.asked(generation, shards)?.into_iter();
        let trusted = asked.map(|shard| shard.snapshot.ensure_trusted().map(|()| shard.snapshot));
        trusted.collect()
    }

    /// How many expensive questions were refused so far.
    pub(super) fn shed(&self) -> u64 {
        self.0.expensive.shed()
    }
}

impl WorkerRefusal {
    fn of(status: ReplyStatus, error: &Error) -> WorkerRefusal {
        WorkerRefusal {
            status,
            reason: error.to_string(),
        }
    }

    /// A malformed question, or one of a newer release.
    pub(super) fn invalid(error: &Error) -> WorkerRefusal {
        WorkerRefusal::of(ReplyStatus::Invalid, error)
    }

    pub(super) fn overloaded() -> WorkerRefusal {
        WorkerRefusal {
            status: ReplyStatus::Overloaded,
            reason: "too much is under way".to_owned(),
        }
    }
}

/// The shards as a key sees them, if it has a filter.
fn narrowed(whole: Vec<AskedShard>, key: Option<&KeyScope>) -> Result<Vec<AskedShard>> {
    let Some(key) = key else {
        return Ok(whole);
    };
    let narrowed = whole.into_iter().map(|shard| shard.narrowed(key));
    narrowed.collect()
}

/// An upper bound of the work of narrowing shards.
fn narrowing_cost(whole: &[AskedShard], key: Option<&KeyScope>) -> Cost {
    let Some((filter, today)) = key else {
        return 0;
    };
    let shards = whole.iter();
    let costs = shards.map(|shard| shard.snapshot.narrowing_cost(filter, *today));
    costs.sum()
}

/// Whether answering a question is faster than switching threads.
fn is_cheap(shards: &[AskedShard], wanted: &ShardRequest) -> Result<bool> {
    Ok(cost_of(shards, wanted, CHEAP_COST)? <= CHEAP_COST)
}

/// The cost of a question, computed until it is more than `enough`.
fn cost_of(shards: &[AskedShard], wanted: &ShardRequest, enough: u64) -> Result<u64> {
    let cost = |shard: &AskedShard| match wanted {
        ShardRequest::Rows { query, today, .. } => shard.snapshot.page_cost(query, *today, enough),
        ShardRequest::Count { filter, today } => shard.snapshot.cost(filter, *today, enough),
        ShardRequest::Facets { query, today } => {
            let facets: &[Facet] = &query.facets;
            shard
                .snapshot
                .facets_cost(&query.filter, facets, *today, enough)
        }
        ShardRequest::Aggregates { query, today } => {
            shard.snapshot.aggregate_cost(query, *today, enough)
        }
        ShardRequest::Companies(wanted) => {
            let (query, today) = (&wanted.query, wanted.today);
            shard.snapshot.companies_cost(query, today, enough)
        }
        ShardRequest::Changes(wanted) => shard.snapshot.changes_cost(&wanted.since),
        // Look-ups alone.
        ShardRequest::Signal(_)
        | ShardRequest::Company(_)
        | ShardRequest::Hints { .. }
        | ShardRequest::Deleted(_) => Ok(0),
    };
    shards.iter().map(cost).sum()
}

async fn on_thread<T: Send + 'static>(
    threads: Arc<Semaphore>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let closed = |_| Error::missing("the worker has ended");
    let permit = threads.acquire_owned().await.map_err(closed)?;
    let found = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    let panicked = |error| Error::corrupt(format!("the shard could not be asked: {error}"));
    found.await.map_err(panicked)?
}
