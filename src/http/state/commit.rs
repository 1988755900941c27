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

use super::files::{Files, LostFile};
use super::replay_store::Removal;
use super::turn::Turn;
use super::usage_store::UsageBatch;
use super::{ExportCharge, NewReplay, replay_store};
use crate::http::metering::{Counter, Month};

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
    pub(crate) kept: Option<Kept>,
    /// Dropped when the outcome is known, before the request learns it.
    pub(crate) guard: Option<Arc<dyn Send + Sync>>,
}

/// What is stored with a charge under an idempotency key.
pub(crate) enum Kept {
    Answer(NewReplay),
    Export(ExportCharge),
}

/// The charged units, and the key's usage after the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charged {
    pub(crate) units: u64,
    pub(crate) total: u64,
}

/// Why a charge is not known to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChargeError {
    /// Only `left` units are left of the quota, fewer than the charge.
    QuotaExceeded { left: u64 },
    /// Another process has answered under this idempotency key.
    NameTaken,
    /// The export with this idempotency key has more separate ranges than are stored.
    TooManyPieces,
    /// Too many charges are waiting.
    QueueFull,
    /// The state cannot be written.
    Unavailable,
    /// The deadline passed before the commit began.
    TimedOut,
    /// The charge may have been recorded or may still be.
    Uncertain,
}

pub(super) type Outcome = Result<Charged, ChargeError>;

/// A charge that its request may withdraw until a commit takes it.
#[derive(Clone)]
pub(super) struct Slot(Arc<Mutex<Option<Charge>>>);

/// A charge in the queue.
pub(super) struct Waiting {
    pub(super) slot: Slot,
    pub(super) reply: oneshot::Sender<Outcome>,
}

/// A charge that belongs to a commit. If it is dropped without a reply, the outcome is uncertain.
struct Taken {
    charge: Charge,
    reply: oneshot::Sender<Outcome>,
}

/// Everything that commits share.
pub(super) struct Committer {
    pub(super) connection: Connection,
    pub(super) turn: Turn,
    pub(super) files: Arc<Files>,
    pub(super) recorded: Arc<Recorded>,
    #[cfg(test)]
    pub(super) before_commit: Hook,
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
enum Failure {
    /// The transaction was rolled back or never began.
    RolledBack(rusqlite::Error),
    /// The next process that opens the file may find it committed.
    Uncertain(rusqlite::Error),
    /// The open files are no longer at their path; nothing was written.
    Lost(LostFile),
    /// The open files are no longer at their path, which was noticed after the commit.
    LostSince(LostFile),
}

impl Failure {
    /// Whether SQLite could not write. Lost files are reported separately.
    fn is_of_writing(&self) -> bool {
        match self {
            Failure::RolledBack(_) | Failure::Uncertain(_) => true,
            Failure::Lost(_) | Failure::LostSince(_) => false,
        }
    }
}

impl Slot {
    pub(super) fn new(charge: Charge) -> Slot {
        Slot(Arc::new(Mutex::new(Some(charge))))
    }

    /// Takes the charge. The first caller gets it: the request that gives up, or the commit.
    pub(super) fn take(&self) -> Option<Charge> {
        let mut charge = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        charge.take()
    }
}

impl Waiting {
    fn taken(self) -> Option<Taken> {
        let charge = self.slot.take()?;
        Some(Taken {
            charge,
            reply: self.reply,
        })
    }
}

impl Taken {
    fn tell(self, outcome: Outcome) {
        drop(self.charge.guard);
        // If the client has gone, it can still repeat the request for free.
        let _ = self.reply.send(outcome);
    }
}

impl Committer {
    /// Records a batch, except withdrawn charges, and sends each request the outcome. Before that, it calls
    /// `note_written` with whether the state could be written, so that a client that was refused finds the
    /// service not ready.
    pub(super) fn commit(
        &mut self,
        batch: Vec<Waiting>,
        now: i64,
        note_written: impl FnOnce(bool),
    ) {
        let transaction = match self.begin() {
            Ok(transaction) => transaction,
            Err(failure) => {
                let taken: Vec<Taken> = batch.into_iter().filter_map(Waiting::taken).collect();
                note_written(!failure.is_of_writing());
                return fail(taken, &failure);
            }
        };
        let taken: Vec<Taken> = batch.into_iter().filter_map(Waiting::taken).collect();
        let recorded = record_all(&transaction, &taken, now).map_err(Failure::RolledBack);
        let written = recorded.and_then(|outcomes| {
            #[cfg(test)]
            self.before_commit.call();
            end(transaction)?;
            self.files.check().map_err(Failure::LostSince)?;
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
                    taken.tell(outcome);
                }
            }
            Err(failure) => {
                note_written(!failure.is_of_writing());
                fail(taken, &failure);
            }
        }
    }

    /// Rewrites existing data to find out whether the state can be written again.
    pub(super) fn try_to_write(&self) -> bool {
        let written = self.begin().and_then(|transaction| {
            let sql = "UPDATE key_changes SET count = count";
            transaction.execute(sql, []).map_err(Failure::RolledBack)?;
            end(transaction)
        });
        written.is_ok()
    }

    /// Waits for the write lock. Requests may still withdraw their charges meanwhile.
    fn begin(&self) -> Result<Transaction<'_>, Failure> {
        let begun = self.turn.begin(&self.connection);
        let transaction = begun.map_err(Failure::RolledBack)?;
        self.files.check().map_err(Failure::Lost)?;
        Ok(transaction)
    }

    /// Removes expired answers. Returns whether there may be more.
    pub(super) fn remove_expired(&mut self, now: i64, removal: Removal) -> rusqlite::Result<bool> {
        if !replay_store::has_expired(&self.connection, now)? {
            return Ok(false);
        }
        let transaction = self.turn.begin(&self.connection)?;
        let are_more = replay_store::remove_expired(&transaction, now, removal)?;
        transaction.commit()?;
        Ok(are_more)
    }
}

/// Commits a transaction with an fsync.
fn end(transaction: Transaction<'_>) -> Result<(), Failure> {
    transaction.commit().map_err(|error| {
        if is_surely_rolled_back(&error) {
            Failure::RolledBack(error)
        } else {
            Failure::Uncertain(error)
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

fn fail(taken: Vec<Taken>, failure: &Failure) {
    let charges = taken.len();
    let outcome = match failure {
        Failure::RolledBack(error) => {
            tracing::error!(%error, charges, "charges cannot be written");
            ChargeError::Unavailable
        }
        Failure::Lost(error) => {
            tracing::error!(%error, charges, "charges are not written");
            ChargeError::Unavailable
        }
        Failure::Uncertain(error) => {
            tracing::error!(%error, charges, "it is not certain whether charges were written");
            ChargeError::Uncertain
        }
        Failure::LostSince(error) => {
            tracing::error!(%error, charges, "charges were written into a file that is lost");
            ChargeError::Uncertain
        }
    };
    for taken in taken {
        taken.tell(Err(outcome));
    }
}

fn record_all(
    transaction: &Transaction<'_>,
    taken: &[Taken],
    now: i64,
) -> rusqlite::Result<Vec<Outcome>> {
    let mut usage = UsageBatch::new(transaction);
    let outcomes: Vec<Outcome> = taken
        .iter()
        .map(|taken| record(transaction, &mut usage, &taken.charge, now))
        .collect::<rusqlite::Result<_>>()?;
    usage.write()?;
    let mut removal = REMOVED_BESIDES;
    for taken in taken {
        if let Some(Kept::Answer(answer)) = &taken.charge.kept {
            removal.count_max += 2;
            removal.bytes_max += 2 * answer.stored_bytes();
        }
    }
    replay_store::remove_expired(transaction, now, removal)?;
    Ok(outcomes)
}

fn record(
    connection: &Connection,
    usage: &mut UsageBatch<'_>,
    charge: &Charge,
    now: i64,
) -> rusqlite::Result<Outcome> {
    let counts = usage.counts(charge.key, charge.month)?;
    let used = counts[charge.counter.index()];
    let left = charge.quota.map(|quota| quota.saturating_sub(used));
    let units = match keep(connection, charge, left, now)? {
        Ok(units) => units,
        Err(error) => return Ok(Err(error)),
    };
    let total = used.saturating_add(units);
    counts[charge.counter.index()] = total;
    usage.add_to_day(charge.key, charge.day, charge.counter, units);
    Ok(Ok(Charged { units, total }))
}

/// Stores the answer of a charge if the quota suffices. Returns the units to charge.
fn keep(
    connection: &Connection,
    charge: &Charge,
    left: Option<u64>,
    now: i64,
) -> rusqlite::Result<Result<u64, ChargeError>> {
    let check = |units| match left {
        Some(left) if units > left => Err(ChargeError::QuotaExceeded { left }),
        _ => Ok(units),
    };
    let Some(Kept::Export(export)) = &charge.kept else {
        let checked = check(charge.units);
        if checked.is_ok()
            && let Some(Kept::Answer(answer)) = &charge.kept
            && !answer.insert(connection, charge.key, now)?
        {
            return Ok(Err(ChargeError::NameTaken));
        }
        return Ok(checked);
    };
    let due = match export.due(connection, charge.key, now)? {
        Ok(due) => due,
        Err(error) => return Ok(Err(error)),
    };
    let checked = check(due.units);
    if checked.is_ok() {
        export.pay(connection, charge.key, now, &due)?;
    }
    Ok(checked)
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
