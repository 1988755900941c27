//! One commit: the waiting charges in one transaction, with an fsync.
//!
//! Invariants:
//! - A charge belongs to its request until the transaction that records it begins. Until then, the
//!   request may withdraw it, and it is never recorded. After that, it belongs to the commit.
//! - A charge is acknowledged only after a transaction with the charge, its idempotency record and its
//!   answer has been committed with an fsync, to the files that the next process will open.
//! - An error other than [`ChargeError::Uncertain`] means that nothing was recorded.
//! - The used units are read and written within the transaction, so a quota is exact over all processes
//!   that share the file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode, Transaction};
use time::Date;
use tokio::sync::oneshot;

use super::files::{LostFile, StateFiles};
use super::kept_store::{self, KeptBatch, Removal};
use super::outcome::{ChargeError, ChargeOutcome, Charged};
use super::pace::{Arrival, Arrivals};
use super::turn::Turn;
use super::usage_store::UsageBatch;
use super::{ExportCharge, KeptLimits, NewBatch, NewReplay};
use crate::metering::{Counter, Month};

/// Expired answers that a commit removes in addition to twice as many as it adds, so that removal always
/// catches up and delays no commit by more than a few milliseconds. Bounded in bytes because SQLite
/// visits every page that it frees.
const REMOVED_BESIDES: Removal = Removal {
    count_max: 16,
    bytes_max: 1 << 20,
};

/// Units to record, with the answer if the request has an idempotency key.
pub(crate) struct Charge {
    pub(crate) key: i64,
    pub(crate) month: Month,
    /// The day (UTC) on which the units were used.
    pub(crate) day: Date,
    pub(crate) counter: Counter,
    /// At least 1. Units of a named export that were paid before are not charged again.
    pub(crate) units: u64,
    pub(crate) quota: Option<u64>,
    pub(crate) kept: Option<KeptContent>,
    /// Dropped when the outcome is known, before the request learns it.
    pub(crate) guard: Option<Arc<dyn Send + Sync>>,
    /// Dropped when the charge is in the queue.
    pub(crate) arrival: Option<Arrival>,
}

/// What is stored with a charge under an idempotency key.
pub(crate) enum KeptContent {
    Answer(NewReplay),
    Export(ExportCharge),
    Batch(NewBatch),
}

/// The outcome for a request, which is under way again until it has received it.
pub(super) type ChargeReply = (ChargeOutcome, Arrival);

/// A charge that its request may withdraw until a commit takes it.
#[derive(Clone)]
pub(super) struct ChargeSlot(Arc<Mutex<Option<Charge>>>);

/// A charge in the queue.
pub(super) struct QueuedCharge {
    pub(super) slot: ChargeSlot,
    pub(super) reply: oneshot::Sender<ChargeReply>,
}

/// A charge that belongs to a commit. If it is dropped without a reply, the outcome is uncertain.
struct Taken {
    charge: Charge,
    reply: oneshot::Sender<ChargeReply>,
}

/// Everything that commits share.
pub(super) struct ChargeCommitter {
    pub(super) connection: Connection,
    pub(super) turn: Turn,
    pub(super) files: Arc<StateFiles>,
    pub(super) recorded: Arc<Recorded>,
    pub(super) kept: KeptLimits,
    pub(super) arrivals: Arrivals,
    #[cfg(test)]
    pub(super) before_commit: Hook,
}

/// A transaction of charges.
struct Recording<'t> {
    transaction: &'t Transaction<'t>,
    usage: UsageBatch<'t>,
    kept: KeptBatch<'t>,
    now: i64,
}

/// Units that this process has recorded, by counter.
pub(super) type Recorded = [AtomicU64; Counter::ALL.len()];

/// Called before each commit of charges.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Hook(Arc<Mutex<Option<HookFn>>>);

#[cfg(test)]
type HookFn = Box<dyn FnMut() + Send>;

/// Why a transaction was not committed.
enum CommitFailure {
    /// The transaction was rolled back or never began.
    RolledBack(rusqlite::Error),
    /// The next process that opens the file may find it committed.
    Uncertain(rusqlite::Error),
    /// The open files are no longer at their path; nothing was written.
    Lost(LostFile),
    /// The open files are no longer at their path, which was noticed after the commit.
    LostSince(LostFile),
}

impl CommitFailure {
    /// Whether SQLite could not write. Lost files are reported separately.
    fn is_of_writing(&self) -> bool {
        match self {
            CommitFailure::RolledBack(_) | CommitFailure::Uncertain(_) => true,
            CommitFailure::Lost(_) | CommitFailure::LostSince(_) => false,
        }
    }
}

impl ChargeSlot {
    pub(super) fn new(charge: Charge) -> ChargeSlot {
        ChargeSlot(Arc::new(Mutex::new(Some(charge))))
    }

    /// Takes the charge. The first caller gets it: the request that gives up, or the commit.
    pub(super) fn take(&self) -> Option<Charge> {
        let mut charge = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        charge.take()
    }
}

impl QueuedCharge {
    fn taken(self) -> Option<Taken> {
        let charge = self.slot.take()?;
        Some(Taken {
            charge,
            reply: self.reply,
        })
    }
}

impl Taken {
    fn tell(self, outcome: ChargeOutcome, arrivals: &Arrivals) {
        drop(self.charge.guard);
        // If the client has gone, it can still repeat the request for free.
        let _ = self.reply.send((outcome, arrivals.enter()));
    }
}

impl ChargeCommitter {
    /// Records a batch, except withdrawn charges, and sends each request the outcome. Before that, it calls
    /// `note_written` with whether the state could be written, so that a client that was refused finds the
    /// service not ready.
    pub(super) fn commit(
        &mut self,
        batch: Vec<QueuedCharge>,
        now: i64,
        note_written: impl FnOnce(bool),
    ) {
        let transaction = match self.begin() {
            Ok(transaction) => transaction,
            Err(failure) => {
                let taken: Vec<Taken> = batch.into_iter().filter_map(QueuedCharge::taken).collect();
                note_written(!failure.is_of_writing());
                return self.fail(taken, &failure);
            }
        };
        let taken: Vec<Taken> = batch.into_iter().filter_map(QueuedCharge::taken).collect();
        let recorded = Recording::new(&transaction, self.kept, now).record_all(&taken);
        let recorded = recorded.map_err(CommitFailure::RolledBack);
        let written = recorded.and_then(|outcomes| {
            #[cfg(test)]
            self.before_commit.call();
            end(transaction)?;
            self.files.check().map_err(CommitFailure::LostSince)?;
            Ok(outcomes)
        });
        match written {
            Ok(outcomes) => {
                note_written(true);
                for (taken, outcome) in taken.into_iter().zip(outcomes) {
                    if let Ok(charged) = outcome {
                        let recorded = &self.recorded[taken.charge.counter.index()];
                        recorded.fetch_add(charged.units, Ordering::Relaxed);
                    }
                    taken.tell(outcome, &self.arrivals);
                }
            }
            Err(failure) => {
                note_written(!failure.is_of_writing());
                self.fail(taken, &failure);
            }
        }
    }

    /// Sends each request of a batch that was not committed the error.
    fn fail(&self, taken: Vec<Taken>, failure: &CommitFailure) {
        let charges = taken.len();
        let outcome = match failure {
            CommitFailure::RolledBack(error) => {
                tracing::error!(%error, charges, "charges cannot be written");
                ChargeError::Unavailable
            }
            CommitFailure::Lost(error) => {
                tracing::error!(%error, charges, "charges are not written");
                ChargeError::Unavailable
            }
            CommitFailure::Uncertain(error) => {
                tracing::error!(%error, charges, "it is not certain whether charges were written");
                ChargeError::Uncertain
            }
            CommitFailure::LostSince(error) => {
                tracing::error!(%error, charges, "charges were written into a file that is lost");
                ChargeError::Uncertain
            }
        };
        for taken in taken {
            taken.tell(Err(outcome), &self.arrivals);
        }
    }

    /// Rewrites existing data to find out whether the state can be written again.
    pub(super) fn try_to_write(&self) -> bool {
        let written = self.begin().and_then(|transaction| {
            let sql = "UPDATE key_changes SET count = count";
            transaction
                .execute(sql, [])
                .map_err(CommitFailure::RolledBack)?;
            end(transaction)
        });
        written.is_ok()
    }

    /// Waits for the write lock. Requests may still withdraw their charges meanwhile.
    fn begin(&self) -> Result<Transaction<'_>, CommitFailure> {
        let begun = self.turn.begin(&self.connection);
        let transaction = begun.map_err(CommitFailure::RolledBack)?;
        self.files.check().map_err(CommitFailure::Lost)?;
        Ok(transaction)
    }

    /// Removes expired answers. Returns whether there may be more.
    pub(super) fn remove_expired(&mut self, now: i64, removal: Removal) -> rusqlite::Result<bool> {
        if !kept_store::has_expired(&self.connection, now)? {
            return Ok(false);
        }
        let transaction = self.turn.begin(&self.connection)?;
        let mut kept = KeptBatch::new(&transaction, self.kept, now);
        let are_more = kept_store::remove_expired(&transaction, &mut kept, now, removal)?;
        kept.write()?;
        transaction.commit()?;
        Ok(are_more)
    }
}

/// Commits a transaction with an fsync.
fn end(transaction: Transaction<'_>) -> Result<(), CommitFailure> {
    transaction.commit().map_err(|error| {
        if is_surely_rolled_back(&error) {
            CommitFailure::RolledBack(error)
        } else {
            CommitFailure::Uncertain(error)
        }
    })
}

/// Whether an error of COMMIT means that the transaction's last page was not written, so that recovery
/// cannot find it. After a failed fsync, the log may contain all of it.
fn is_surely_rolled_back(error: &rusqlite::Error) -> bool {
    let Some(error) = error.sqlite_error() else {
        return false;
    };
    let is_refused = matches!(
        error.code,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull
    );
    is_refused || error.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE
}

impl<'t> Recording<'t> {
    fn new(transaction: &'t Transaction<'t>, limits: KeptLimits, now: i64) -> Recording<'t> {
        Recording {
            transaction,
            usage: UsageBatch::new(transaction),
            kept: KeptBatch::new(transaction, limits, now),
            now,
        }
    }

    fn record_all(mut self, taken: &[Taken]) -> rusqlite::Result<Vec<ChargeOutcome>> {
        // First, because it makes room.
        self.remove_expired(taken)?;
        let outcomes = taken.iter().map(|taken| self.record(&taken.charge));
        let outcomes: Vec<ChargeOutcome> = outcomes.collect::<rusqlite::Result<_>>()?;
        self.usage.write()?;
        self.kept.write()?;
        Ok(outcomes)
    }

    /// Removes expired answers when the commit adds some. Else the thread does so once a second.
    fn remove_expired(&mut self, taken: &[Taken]) -> rusqlite::Result<()> {
        let kept = taken.iter().filter_map(|taken| taken.charge.kept.as_ref());
        let mut kept = kept.peekable();
        if kept.peek().is_none() {
            return Ok(());
        }
        let mut removal = REMOVED_BESIDES;
        for kept in kept {
            removal.count_max += 2;
            removal.bytes_max += 2 * kept.bytes_max();
        }
        kept_store::remove_expired(self.transaction, &mut self.kept, self.now, removal)?;
        Ok(())
    }

    fn record(&mut self, charge: &Charge) -> rusqlite::Result<ChargeOutcome> {
        let used = self.usage.counts(charge.key, charge.month)?[charge.counter.index()];
        let left = charge.quota.map(|quota| quota.saturating_sub(used));
        let units = match self.keep(charge, left)? {
            Ok(units) => units,
            Err(error) => return Ok(Err(error)),
        };
        let total = used.saturating_add(units);
        self.usage.counts(charge.key, charge.month)?[charge.counter.index()] = total;
        self.usage.add_to_day(
            charge.key,
            (charge.month, charge.day),
            charge.counter,
            units,
        );
        Ok(Ok(Charged { units, total }))
    }

    /// Stores what is kept with a charge if the quota and the room suffice. Returns the units to charge.
    fn keep(
        &mut self,
        charge: &Charge,
        left: Option<u64>,
    ) -> rusqlite::Result<Result<u64, ChargeError>> {
        let (units, unpaid) = match &charge.kept {
            Some(KeptContent::Export(export)) => match export.unpaid(self.transaction, self.now)? {
                Ok(unpaid) => (unpaid.len() as u64, unpaid),
                Err(error) => return Ok(Err(error)),
            },
            Some(KeptContent::Answer(_) | KeptContent::Batch(_)) | None => {
                (charge.units, Vec::new())
            }
        };
        if let Some(left) = left.filter(|left| units > *left) {
            return Ok(Err(ChargeError::QuotaExceeded { left }));
        }
        let (transaction, kept, now) = (self.transaction, &mut self.kept, self.now);
        let stored = match &charge.kept {
            Some(KeptContent::Export(export)) => export.pay(transaction, kept, &unpaid, now)?,
            Some(KeptContent::Answer(answer)) => {
                answer.store(transaction, kept, charge.key, now)?
            }
            Some(KeptContent::Batch(batch)) => batch.store(transaction)?,
            None => Ok(()),
        };
        Ok(stored.map(|()| units))
    }
}

impl KeptContent {
    /// An upper bound for the bytes that are counted as kept.
    fn bytes_max(&self) -> u64 {
        match self {
            KeptContent::Answer(answer) => answer.bytes(),
            KeptContent::Export(export) => export.bytes_max(),
            KeptContent::Batch(_) => 0,
        }
    }
}

#[cfg(test)]
impl Hook {
    pub(crate) fn set(&self, hook: impl FnMut() + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn call(&self) {
        let mut hook = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hook) = hook.as_mut() {
            hook();
        }
    }
}

#[cfg(test)]
impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

#[cfg(test)]
mod tests;
