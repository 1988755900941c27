//! The one thread that writes charges, and the queue before it.
//!
//! A commit takes what has gathered since the last one (`commit`). A request waits until its
//! deadline and then withdraws its charge; where a commit has taken it already, it waits a little
//! longer for the outcome. A charge that no request waits for any more is withdrawn as well.
//!
//! Where a commit has failed, the thread tries to write every second until that succeeds. A panic
//! ends a commit, not the thread: the thread opens the state anew and goes on. Meanwhile
//! [`Writer::error`] says so.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use time::UtcDateTime;
use tokio::sync::oneshot;

use super::commit::{Charge, ChargeError, Committer, Outcome, Recorded, Slot, Waiting};
use super::files::Files;
use super::replay_store::Removal;
use super::turn::Turn;
use super::{State, StateError, schema};
use crate::http::metering::Counter;

/// Charges of one commit: enough for every request under way, few enough to bound its time.
const MAX_BATCH: usize = 512;
/// From this many charges in a commit on, commits are paced: a client that asks one thing after the
/// other waits for no one.
const PACED_BATCH: usize = 8;
/// The shortest time from one paced commit to the next. At 20,000 requests per second a commit then
/// holds 40 charges instead of 13, which takes a sixth off the work of a request
/// (`benches/load`).
const COMMIT_INTERVAL: Duration = Duration::from_millis(2);
/// How long a request waits beyond its deadline for a commit that has taken its charge: longer
/// than an fsync of a busy disk, shorter than clients wait.
const COMMIT_GRACE: Duration = Duration::from_secs(2);
/// How often expired answers are looked for without a commit, and how often a state that could not
/// be written is tried again.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(1);
/// The pause where more may be found, so that other processes get the lock in between.
const REMOVAL_PAUSE: Duration = Duration::from_millis(5);
/// Expired answers removed at a time: few enough for charges to wait some milliseconds at most.
const REMOVED_AT_ONCE: Removal = Removal {
    count_max: 256,
    bytes_max: 8 << 20,
};
/// Between a failure of the thread and its next attempt: one that fails for good must not keep a
/// processor busy, and requests wait longer than this.
const RESTART_PAUSE: Duration = Duration::from_millis(500);

/// The writer's thread and the queue before it.
pub(crate) struct Writer {
    queue: Mutex<Option<SyncSender<Waiting>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    status: Arc<Status>,
    recorded: Arc<Recorded>,
}

/// What others see of the thread.
#[derive(Debug, Default)]
struct Status {
    waiting: AtomicUsize,
    is_running: AtomicBool,
    is_unwritable: AtomicBool,
    is_closing: AtomicBool,
    failures: AtomicU64,
    logged_failures: AtomicU64,
}

/// What the thread needs to start, and to start again.
struct Start {
    path: std::path::PathBuf,
    files: Arc<Files>,
    queue: Receiver<Waiting>,
    status: Arc<Status>,
    recorded: Arc<Recorded>,
    #[cfg(test)]
    before_commit: super::commit::Hook,
}

/// A request that waits for its charge. Dropped, it withdraws the charge where it still can.
struct Pending {
    slot: Slot,
    outcome: oneshot::Receiver<Outcome>,
}

impl Writer {
    /// Starts the thread. At most `queue_length` charges wait.
    pub(crate) fn start(state: &State, queue_length: usize) -> Result<Writer, StateError> {
        let (sender, queue) = sync_channel(queue_length);
        let status = Arc::new(Status::default());
        let recorded = Arc::new(Recorded::default());
        let start = Start {
            path: state.path.clone(),
            files: Arc::clone(&state.files),
            queue,
            status: Arc::clone(&status),
            recorded: Arc::clone(&recorded),
            #[cfg(test)]
            before_commit: state.before_commit.clone(),
        };
        let first = start.committer()?;
        status.is_running.store(true, Ordering::Relaxed);
        let thread = std::thread::Builder::new()
            .name("charges".to_owned())
            .spawn(move || start.run(first))
            .map_err(|error| StateError::invalid(format!("cannot start a thread: {error}")))?;
        Ok(Writer {
            queue: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            status,
            recorded,
        })
    }

    /// Records a charge and returns when it is durable, or not going to be.
    ///
    /// # Errors
    /// It is not recorded, except for [`ChargeError::Uncertain`].
    pub(crate) async fn charge(&self, charge: Charge, deadline: tokio::time::Instant) -> Outcome {
        let mut pending = self.enqueue(charge)?;
        match tokio::time::timeout_at(deadline, &mut pending.outcome).await {
            Ok(outcome) => pending.known(outcome.ok()),
            Err(_) => pending.give_up().await,
        }
    }

    fn enqueue(&self, charge: Charge) -> Result<Pending, ChargeError> {
        let queue = lock(&self.queue);
        let queue = queue.as_ref().ok_or(ChargeError::Unavailable)?;
        let (reply, outcome) = oneshot::channel();
        let slot = Slot::new(charge);
        let waiting = Waiting {
            slot: slot.clone(),
            reply,
        };
        self.status.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = queue.try_send(waiting) {
            self.status.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(match refused {
                TrySendError::Full(_) => ChargeError::QueueFull,
                TrySendError::Disconnected(_) => ChargeError::Unavailable,
            });
        }
        Ok(Pending { slot, outcome })
    }

    /// How many charges wait for their commit.
    pub(crate) fn depth(&self) -> usize {
        self.status.waiting.load(Ordering::Relaxed)
    }

    /// Units that this process has recorded.
    pub(crate) fn recorded(&self, counter: Counter) -> u64 {
        self.recorded[counter.index()].load(Ordering::Relaxed)
    }

    /// How often the thread has failed and was started again.
    pub(crate) fn failures(&self) -> u64 {
        self.status.failures.load(Ordering::Relaxed)
    }

    /// Logs failures since the last call. The thread itself does not: logging may be what failed.
    pub(crate) fn log_failures(&self) {
        let failures = self.failures();
        if self
            .status
            .logged_failures
            .swap(failures, Ordering::Relaxed)
            < failures
        {
            tracing::error!(failures, "the thread that writes charges has failed");
        }
    }

    /// Why charges are not written now, for clients to read.
    pub(crate) fn error(&self) -> Option<&'static str> {
        if self.status.is_closing.load(Ordering::Relaxed) {
            return Some("The service is stopping.");
        }
        if !self.status.is_running.load(Ordering::Relaxed) {
            return Some("The thread that writes charges has failed and is being restarted.");
        }
        let is_unwritable = self.status.is_unwritable.load(Ordering::Relaxed);
        is_unwritable.then_some("The state file cannot be written.")
    }

    /// Takes no further charge and returns when all that wait are durable.
    pub(crate) fn close(&self) {
        self.status.is_closing.store(true, Ordering::Relaxed);
        lock(&self.queue).take();
        let thread = lock(&self.thread).take();
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    /// The outcome that was told; `None` where the writer dropped the charge without one.
    fn known(&self, told: Option<Outcome>) -> Outcome {
        match told {
            Some(outcome) => outcome,
            None if self.slot.take().is_some() => Err(ChargeError::Unavailable),
            None => Err(ChargeError::Uncertain),
        }
    }

    /// Withdraws the charge, or waits a little longer where a commit has it.
    async fn give_up(mut self) -> Outcome {
        if self.slot.take().is_some() {
            return Err(ChargeError::TimedOut);
        }
        match tokio::time::timeout(COMMIT_GRACE, &mut self.outcome).await {
            Ok(outcome) => self.known(outcome.ok()),
            Err(_) => Err(ChargeError::Uncertain),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.slot.take();
    }
}

impl Start {
    fn committer(&self) -> Result<Committer, StateError> {
        Ok(Committer {
            connection: schema::open_same(&self.path, self.files.database())?,
            turn: Turn::at(&self.path),
            files: Arc::clone(&self.files),
            recorded: Arc::clone(&self.recorded),
            #[cfg(test)]
            before_commit: self.before_commit.clone(),
        })
    }

    /// Writes until every sender is gone and the queue is empty, whatever fails meanwhile.
    fn run(self, first: Committer) {
        let mut next = Some(first);
        loop {
            // What a panic leaves behind is dropped: the connection, with its transaction, and the
            // batch, whose requests then know that the outcome is uncertain.
            let written = catch_unwind(AssertUnwindSafe(|| {
                let mut committer = match next.take() {
                    Some(first) => first,
                    None => self.committer()?,
                };
                self.status.is_running.store(true, Ordering::Relaxed);
                self.write_all(&mut committer);
                Ok::<(), StateError>(())
            }));
            if let Ok(Ok(())) = written {
                return;
            }
            self.status.is_running.store(false, Ordering::Relaxed);
            self.status.failures.fetch_add(1, Ordering::Relaxed);
            if self.status.is_closing.load(Ordering::Relaxed) {
                // Dropping the queue tells those that wait that nothing was charged.
                return;
            }
            std::thread::sleep(RESTART_PAUSE);
        }
    }

    fn write_all(&self, committer: &mut Committer) {
        let mut next_commit = Instant::now();
        let mut next_removal = Instant::now();
        loop {
            let wait = next_removal.saturating_duration_since(Instant::now());
            match self.queue.recv_timeout(wait) {
                Ok(first) => {
                    std::thread::sleep(next_commit.saturating_duration_since(Instant::now()));
                    let batch = self.gather(first);
                    if batch.len() >= PACED_BATCH {
                        next_commit = Instant::now() + COMMIT_INTERVAL;
                    }
                    committer.commit(batch, now(), |is_written| self.note_written(is_written));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() >= next_removal {
                if self.status.is_unwritable.load(Ordering::Relaxed) {
                    self.note_written(committer.try_to_write());
                }
                next_removal = Instant::now() + remove_expired(committer);
            }
        }
    }

    fn note_written(&self, is_written: bool) {
        let status = &self.status.is_unwritable;
        status.store(!is_written, Ordering::Relaxed);
    }

    /// The charges that wait, as many as one commit takes.
    fn gather(&self, first: Waiting) -> Vec<Waiting> {
        let mut batch = vec![first];
        batch.extend(self.queue.try_iter().take(MAX_BATCH - 1));
        self.status
            .waiting
            .fetch_sub(batch.len(), Ordering::Relaxed);
        batch
    }
}

/// Removes some expired answers and says when to look again.
fn remove_expired(committer: &mut Committer) -> Duration {
    match committer.remove_expired(now(), REMOVED_AT_ONCE) {
        Ok(true) => REMOVAL_PAUSE,
        Ok(false) => REMOVAL_INTERVAL,
        Err(error) => {
            tracing::error!(%error, "expired answers cannot be removed");
            REMOVAL_INTERVAL
        }
    }
}

fn now() -> i64 {
    UtcDateTime::now().unix_timestamp()
}
