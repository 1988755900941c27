//! The one thread that writes charges, and the group commit.
//!
//! Invariant: a charge is acknowledged only after the transaction that holds it, its idempotency
//! record and its answer has been committed with an fsync. Whoever waits for the acknowledgement
//! may go away; the charge then stands, and so does the answer that a retry will get.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use time::UtcDateTime;
use tokio::sync::{mpsc, oneshot};

use super::usage_store::UsageBatch;
use super::{NewReplay, State, StateError, replay_store, schema};
use crate::http::metering::{Counter, Month};

/// Charges of one commit: enough for every request under way, few enough to bound its time.
const MAX_BATCH: usize = 512;
/// From this many charges in a commit on, commits are paced: whoever asks one thing after the
/// other waits for no one.
const PACED_BATCH: usize = 8;
/// The least time from one paced commit to the next. At 20,000 requests a second a commit then
/// holds 40 charges instead of 13, which takes a sixth off the work of a request
/// (`benches/load`).
const COMMIT_INTERVAL: Duration = Duration::from_millis(2);
/// How often expired answers are looked for.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(5);

/// Units to be recorded, with the answer they pay for where it has a name.
pub(crate) struct Charge {
    pub(crate) key: i64,
    pub(crate) month: Month,
    pub(crate) counter: Counter,
    pub(crate) units: u64,
    pub(crate) quota: Option<u64>,
    pub(crate) replay: Option<NewReplay>,
    /// Told of the outcome on the writer's thread, also when nobody waits any more.
    pub(crate) settlement: Box<dyn Settlement>,
}

/// Who holds units or names while a charge is under way. Dropping it without
/// [`recorded`](Settlement::recorded) means that nothing was charged.
pub(crate) trait Settlement: Send {
    /// The charge is durable.
    fn recorded(&mut self);
}

/// What a key has used after a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charged {
    pub(crate) total: u64,
}

/// Why a charge was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChargeError {
    /// Another process has used up the quota.
    QuotaExceeded,
    /// Another process has answered under that name.
    NameTaken,
    /// Too many charges wait.
    QueueFull,
    /// The state cannot be written.
    Unavailable,
}

struct Waiting {
    charge: Charge,
    reply: oneshot::Sender<Result<Charged, ChargeError>>,
}

/// The writer's thread and the queue before it.
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    waiting: Arc<AtomicUsize>,
}

impl Writer {
    /// Starts the thread. At most `queue_length` charges wait.
    pub(crate) fn start(state: &State, queue_length: usize) -> Result<Writer, StateError> {
        let connection = schema::open(&state.path)?;
        let (sender, receiver) = mpsc::channel(queue_length);
        let waiting = Arc::new(AtomicUsize::new(0));
        let depth = Arc::clone(&waiting);
        let thread = std::thread::Builder::new()
            .name("charges".to_owned())
            .spawn(move || write_all(connection, receiver, &depth))
            .map_err(|error| StateError::invalid(format!("cannot start a thread: {error}")))?;
        Ok(Writer {
            queue: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            waiting,
        })
    }

    /// Records a charge and returns when it is durable.
    pub(crate) async fn charge(&self, charge: Charge) -> Result<Charged, ChargeError> {
        let queue = self
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(queue) = queue else {
            return Err(ChargeError::Unavailable);
        };
        let (reply, answer) = oneshot::channel();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = queue.try_send(Waiting { charge, reply }) {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(match refused {
                mpsc::error::TrySendError::Full(_) => ChargeError::QueueFull,
                mpsc::error::TrySendError::Closed(_) => ChargeError::Unavailable,
            });
        }
        answer.await.unwrap_or(Err(ChargeError::Unavailable))
    }

    /// How many charges wait for their commit.
    pub(crate) fn depth(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Takes no further charge and returns when all that wait are durable.
    pub(crate) fn close(&self) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::error!("the thread that writes charges has failed");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Runs until every sender is gone and the queue is empty.
fn write_all(mut connection: Connection, mut queue: mpsc::Receiver<Waiting>, depth: &AtomicUsize) {
    let mut last_removal: Option<Instant> = None;
    let mut next_commit = Instant::now();
    while let Some(first) = queue.blocking_recv() {
        std::thread::sleep(next_commit.saturating_duration_since(Instant::now()));
        let batch = gather(first, &mut queue);
        if batch.len() >= PACED_BATCH {
            next_commit = Instant::now() + COMMIT_INTERVAL;
        }
        let is_removal_due = last_removal.is_none_or(|last| last.elapsed() >= REMOVAL_INTERVAL);
        let outcomes = commit(&mut connection, &batch, is_removal_due);
        if is_removal_due {
            last_removal = Some(Instant::now());
        }
        depth.fetch_sub(batch.len(), Ordering::Relaxed);
        acknowledge(batch, outcomes);
    }
}

/// The charges that wait, as many as one commit takes.
fn gather(first: Waiting, queue: &mut mpsc::Receiver<Waiting>) -> Vec<Waiting> {
    let mut batch = vec![first];
    while batch.len() < MAX_BATCH {
        let Ok(next) = queue.try_recv() else { break };
        batch.push(next);
    }
    batch
}

fn acknowledge(batch: Vec<Waiting>, outcomes: rusqlite::Result<Vec<Result<Charged, ChargeError>>>) {
    let outcomes = outcomes.unwrap_or_else(|error| {
        tracing::error!(%error, charges = batch.len(), "charges cannot be written");
        vec![Err(ChargeError::Unavailable); batch.len()]
    });
    for (mut waiting, outcome) in batch.into_iter().zip(outcomes) {
        if outcome.is_ok() {
            waiting.charge.settlement.recorded();
        }
        drop(waiting.charge);
        // A client that has gone is no fault: its charge is durable all the same.
        let _ = waiting.reply.send(outcome);
    }
}

fn commit(
    connection: &mut Connection,
    batch: &[Waiting],
    is_removal_due: bool,
) -> rusqlite::Result<Vec<Result<Charged, ChargeError>>> {
    let now = UtcDateTime::now().unix_timestamp();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut usage = UsageBatch::new(&transaction);
    let mut outcomes = Vec::with_capacity(batch.len());
    for Waiting { charge, .. } in batch {
        outcomes.push(record(&transaction, &mut usage, charge, now)?);
    }
    usage.write()?;
    if is_removal_due {
        replay_store::remove_expired(&transaction, now)?;
    }
    transaction.commit()?;
    Ok(outcomes)
}

fn record(
    connection: &Connection,
    usage: &mut UsageBatch<'_>,
    charge: &Charge,
    now: i64,
) -> rusqlite::Result<Result<Charged, ChargeError>> {
    let counts = usage.counts(charge.key, charge.month)?;
    let total = counts[charge.counter.index()].saturating_add(charge.units);
    if charge.units > 0 && charge.quota.is_some_and(|quota| total > quota) {
        return Ok(Err(ChargeError::QuotaExceeded));
    }
    if let Some(replay) = &charge.replay
        && !replay.insert(connection, charge.key, now)?
    {
        return Ok(Err(ChargeError::NameTaken));
    }
    counts[charge.counter.index()] = total;
    Ok(Ok(Charged { total }))
}
