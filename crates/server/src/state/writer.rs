//! The thread that writes charges, and its queue.
//!
//! Each commit takes all charges that have arrived since the last one (`commit`), and begins when those that
//! are about to arrive have arrived (`pace`). A request waits until
//! its deadline and then withdraws its charge; if a commit has already taken the charge, it waits a
//! little longer for the outcome. The charge of a dropped request is withdrawn, too.
//!
//! After a failed commit, the thread tries to write every second until it succeeds. After a panic, it
//! reopens the state and continues. Meanwhile, [`ChargeWriter::error`] returns the reason.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::clock::Clock;
use super::commit::{Charge, ChargeCommitter, ChargeReply, ChargeSlot, QueuedCharge, Recorded};
use super::files::StateFiles;
use super::kept_store::Removal;
use super::outcome::{ChargeError, ChargeOutcome};
use super::pace::{Arrival, Arrivals, CommitPace, PaceStep};
use super::turn::Turn;
use super::{KeptLimits, State, StateError, schema};
use crate::metering::Counter;

/// Charges per commit: enough for all concurrent requests, few enough to bound its time.
const MAX_BATCH: usize = 512;
/// How long a request waits after its deadline for a commit that has taken its charge: longer than an fsync
/// on a busy disk, shorter than the time-outs of clients.
const COMMIT_GRACE: Duration = Duration::from_secs(2);
/// How often to look for expired answers when there are no commits, and how often to retry a state that
/// could not be written.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(1);
/// Pause between removals, so that other processes can take the lock.
const REMOVAL_PAUSE: Duration = Duration::from_millis(5);
/// Expired answers removed at a time: few enough to delay charges by only a few milliseconds.
const REMOVED_AT_ONCE: Removal = Removal {
    count_max: 256,
    bytes_max: 8 << 20,
};
/// Pause after a failure of the thread: a permanent failure must not keep a core busy, and requests wait
/// longer than this.
const RESTART_PAUSE: Duration = Duration::from_millis(500);

/// The writing thread and its queue.
pub(crate) struct ChargeWriter {
    queue: Mutex<Option<SyncSender<QueuedCharge>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    arrivals: Arrivals,
    status: Arc<WriterStatus>,
    recorded: Arc<Recorded>,
}

/// The status of the thread.
#[derive(Debug, Default)]
struct WriterStatus {
    waiting: AtomicUsize,
    is_running: AtomicBool,
    is_unwritable: AtomicBool,
    is_closing: AtomicBool,
    failures: AtomicU64,
    logged_failures: AtomicU64,
}

/// Everything needed to start and restart the thread.
struct WriterStart {
    path: std::path::PathBuf,
    clock: Clock,
    files: Arc<StateFiles>,
    queue: Receiver<QueuedCharge>,
    arrivals: Arrivals,
    status: Arc<WriterStatus>,
    recorded: Arc<Recorded>,
    kept: KeptLimits,
    #[cfg(test)]
    before_commit: super::commit::Hook,
}

/// A waiting charge of a request. Dropping this withdraws the charge if it has not been taken.
struct Pending {
    slot: ChargeSlot,
    reply: oneshot::Receiver<ChargeReply>,
}

impl ChargeWriter {
    /// Starts the thread with a queue for `queue_length` charges.
    pub(crate) fn start(
        state: &State,
        queue_length: usize,
        kept: KeptLimits,
    ) -> Result<ChargeWriter, StateError> {
        let (sender, queue) = sync_channel(queue_length);
        let status = Arc::new(WriterStatus::default());
        let recorded = Arc::new(Recorded::default());
        let arrivals = Arrivals::default();
        let start = WriterStart {
            path: state.path.clone(),
            clock: state.clock.clone(),
            files: Arc::clone(&state.files),
            queue,
            arrivals: arrivals.clone(),
            status: Arc::clone(&status),
            recorded: Arc::clone(&recorded),
            kept,
            #[cfg(test)]
            before_commit: state.before_commit.clone(),
        };
        let first = start.committer()?;
        status.is_running.store(true, Ordering::Relaxed);
        let thread = std::thread::Builder::new()
            .name("charges".to_owned())
            .spawn(move || start.run(first))
            .map_err(|error| StateError::invalid(format!("cannot start a thread: {error}")))?;
        Ok(ChargeWriter {
            queue: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            arrivals,
            status,
            recorded,
        })
    }

    /// A request that will be charged, unless it ends before. Commits wait a little for it.
    pub(crate) fn arrive(&self) -> Arrival {
        self.arrivals.enter()
    }

    /// Records a charge and returns when it is durable or has failed.
    ///
    /// # Errors
    /// The charge was not recorded, except for [`ChargeError::Uncertain`].
    pub(crate) async fn charge(
        &self,
        charge: Charge,
        deadline: tokio::time::Instant,
    ) -> ChargeOutcome {
        let mut pending = self.enqueue(charge)?;
        match tokio::time::timeout_at(deadline, &mut pending.reply).await {
            Ok(reply) => pending.known(reply.ok()),
            Err(_) => pending.give_up().await,
        }
    }

    fn enqueue(&self, mut charge: Charge) -> Result<Pending, ChargeError> {
        // Dropped when the charge is in the queue.
        let _arrival = charge.arrival.take();
        let queue = lock(&self.queue);
        let queue = queue.as_ref().ok_or(ChargeError::Unavailable)?;
        let (sender, reply) = oneshot::channel();
        let slot = ChargeSlot::new(charge);
        let waiting = QueuedCharge {
            slot: slot.clone(),
            reply: sender,
        };
        self.status.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = queue.try_send(waiting) {
            self.status.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(match refused {
                TrySendError::Full(_) => ChargeError::QueueFull,
                TrySendError::Disconnected(_) => ChargeError::Unavailable,
            });
        }
        Ok(Pending { slot, reply })
    }

    /// The number of waiting charges.
    pub(crate) fn depth(&self) -> usize {
        self.status.waiting.load(Ordering::Relaxed)
    }

    /// The units that this process has recorded.
    pub(crate) fn recorded(&self, counter: Counter) -> u64 {
        self.recorded[counter.index()].load(Ordering::Relaxed)
    }

    /// How often the thread has failed and been restarted.
    pub(crate) fn failures(&self) -> u64 {
        self.status.failures.load(Ordering::Relaxed)
    }

    /// Logs failures since the last call. The thread does not log them itself, because logging may have
    /// caused the failure.
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

    /// Why charges cannot be written now, in words for clients.
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

    /// Refuses further charges and returns when all waiting ones are durable.
    pub(crate) fn close(&self) {
        self.status.is_closing.store(true, Ordering::Relaxed);
        lock(&self.queue).take();
        let thread = lock(&self.thread).take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::error!("the thread that writes charges has failed");
        }
    }
}

impl Drop for ChargeWriter {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pending {
    /// Interprets the reply; `None` means that the writer dropped the charge without an outcome.
    fn known(&self, reply: Option<ChargeReply>) -> ChargeOutcome {
        match reply {
            Some((outcome, _arrival)) => outcome,
            None if self.slot.take().is_some() => Err(ChargeError::Unavailable),
            None => Err(ChargeError::Uncertain),
        }
    }

    /// Withdraws the charge, or waits a little longer if a commit has taken it.
    async fn give_up(mut self) -> ChargeOutcome {
        if self.slot.take().is_some() {
            return Err(ChargeError::TimedOut);
        }
        match tokio::time::timeout(COMMIT_GRACE, &mut self.reply).await {
            Ok(reply) => self.known(reply.ok()),
            Err(_) => Err(ChargeError::Uncertain),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.slot.take();
    }
}

impl WriterStart {
    fn committer(&self) -> Result<ChargeCommitter, StateError> {
        Ok(ChargeCommitter {
            connection: schema::open_same(&self.path, self.files.database())?,
            turn: Turn::at(&self.path),
            files: Arc::clone(&self.files),
            recorded: Arc::clone(&self.recorded),
            kept: self.kept,
            arrivals: self.arrivals.clone(),
            #[cfg(test)]
            before_commit: self.before_commit.clone(),
        })
    }

    /// Writes until every sender is gone and the queue is empty, despite failures.
    fn run(self, first: ChargeCommitter) {
        let mut next = Some(first);
        loop {
            // After a panic, the connection is dropped with its transaction, and so is the batch, whose
            // requests then report an uncertain outcome.
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
                // Dropping the queue tells the waiting requests that nothing was charged.
                return;
            }
            std::thread::sleep(RESTART_PAUSE);
        }
    }

    fn write_all(&self, committer: &mut ChargeCommitter) {
        let mut pace = CommitPace::default();
        let mut next_removal = Instant::now();
        loop {
            let wait = next_removal.saturating_duration_since(Instant::now());
            match self.queue.recv_timeout(wait) {
                Ok(first) => {
                    self.wait_for_arrivals(&mut pace);
                    let batch = self.gather(first);
                    committer.commit(batch, self.now(), |is_written| {
                        self.note_written(is_written)
                    });
                    pace.committed(Instant::now());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() >= next_removal {
                if self.status.is_unwritable.load(Ordering::Relaxed) {
                    self.note_written(committer.try_to_write());
                }
                next_removal = Instant::now() + self.remove_expired(committer);
            }
        }
    }

    /// Waits while charges are about to arrive and the commit has room for them.
    fn wait_for_arrivals(&self, pace: &mut CommitPace) {
        loop {
            let has_room = self.status.waiting.load(Ordering::Relaxed) < MAX_BATCH;
            match pace.next(has_room && self.arrivals.are_under_way(), Instant::now()) {
                PaceStep::Commit => return,
                PaceStep::GiveUp => return self.arrivals.forget(),
                PaceStep::Pause(pause) => std::thread::sleep(pause),
            }
        }
    }

    /// Removes some expired answers. Returns the pause until the next removal.
    fn remove_expired(&self, committer: &mut ChargeCommitter) -> Duration {
        match committer.remove_expired(self.now(), REMOVED_AT_ONCE) {
            Ok(true) => REMOVAL_PAUSE,
            Ok(false) => REMOVAL_INTERVAL,
            Err(error) => {
                tracing::error!(%error, "expired answers cannot be removed");
                REMOVAL_INTERVAL
            }
        }
    }

    fn now(&self) -> i64 {
        self.clock.now().unix_timestamp()
    }

    fn note_written(&self, is_written: bool) {
        let status = &self.status.is_unwritable;
        status.store(!is_written, Ordering::Relaxed);
    }

    /// Takes the waiting charges, as many as one commit may have.
    fn gather(&self, first: QueuedCharge) -> Vec<QueuedCharge> {
        let mut batch = vec![first];
        batch.extend(self.queue.try_iter().take(MAX_BATCH - 1));
        self.status
            .waiting
            .fetch_sub(batch.len(), Ordering::Relaxed);
        batch
    }
}
