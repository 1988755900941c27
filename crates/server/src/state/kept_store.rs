//! How many bytes are kept under idempotency keys, by API key and hour, in the state file, and the removal of what
//! has expired.
//!
//! The totals are written in the transaction that stores or removes what they count, so they are exact over
//! restarts and over all processes that share the file, and no request adds up what is stored.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::number::{Number, number};
use super::{State, StateError};

/// How long an answer can be repeated, in seconds.
pub(super) const LIFETIME_SECONDS: i64 = 24 * 60 * 60;
/// The number under which the bytes of all keys are counted; keys have positive numbers.
const ALL_KEYS: i64 = 0;
const HOUR_SECONDS: i64 = 60 * 60;
/// Bytes of a row besides its body and its name: numbers, hashes, an entity tag, entries of indexes.
const ROW_BYTES: u64 = 160;

/// Upper bounds of the bytes that are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptLimits {
    pub(crate) bytes_per_key: u64,
    pub(crate) bytes: u64,
}

/// There is no room for what would have to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptFull {
    /// Whether the bound of all keys is reached, and not only that of the key.
    pub(crate) is_of_all: bool,
    /// When everything has expired that was kept in the oldest hour.
    pub(crate) retry_after_seconds: u64,
}

/// How to find the oldest expired rows of a table, and to remove one.
type Expiry = (&'static str, &'static str);

/// Answers, and the slices of exports.
const EXPIRIES: [Expiry; 2] = [
    (
        "SELECT rowid, key, answered_at, bytes FROM replays WHERE answered_at <= ?1 \
         ORDER BY answered_at LIMIT ?2",
        "DELETE FROM replays WHERE rowid = ?1",
    ),
    (
        "SELECT rowid, key, charged_at, bytes FROM export_slices WHERE charged_at <= ?1 \
         ORDER BY charged_at LIMIT ?2",
        "DELETE FROM export_slices WHERE rowid = ?1",
    ),
];

/// The limits of one removal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    pub(super) count_max: usize,
    /// Counted bytes, exceeded by at most one answer.
    pub(super) bytes_max: u64,
}

/// The bytes that a row takes in the file. The name is stored in an index, too.
pub(super) fn row_bytes(body: usize, name: &str) -> u64 {
    (body + 2 * name.len()) as u64 + ROW_BYTES
}

/// The changes of a transaction, each total read and written once.
pub(super) struct KeptBatch<'t> {
    connection: &'t Connection,
    limits: KeptLimits,
    now: i64,
    /// The totals of keys, including the changes so far.
    totals: HashMap<i64, i64>,
    /// The changes by key and hour.
    changes: HashMap<(i64, i64), i64>,
}

impl<'t> KeptBatch<'t> {
    pub(super) fn new(connection: &'t Connection, limits: KeptLimits, now: i64) -> KeptBatch<'t> {
        KeptBatch {
            connection,
            limits,
            now,
            totals: HashMap::new(),
            changes: HashMap::new(),
        }
    }

    /// Whether further bytes can be kept for a key.
    pub(super) fn check(&mut self, key: i64, bytes: u64) -> rusqlite::Result<Result<(), KeptFull>> {
        for (counted, limit) in [
            (key, self.limits.bytes_per_key),
            (ALL_KEYS, self.limits.bytes),
        ] {
            let total = self.total(counted)?.saturating_add(bytes);
            if total > limit {
                return Ok(Err(KeptFull {
                    is_of_all: counted == ALL_KEYS,
                    retry_after_seconds: self.retry_after(counted)?,
                }));
            }
        }
        Ok(Ok(()))
    }

    /// Counts what was stored for a key at a time.
    pub(super) fn add(&mut self, key: i64, at: i64, bytes: u64) {
        self.change(key, at, bytes.cast_signed());
    }

    /// Counts what was removed and had been stored for a key at a time.
    pub(super) fn subtract(&mut self, key: i64, at: i64, bytes: u64) {
        self.change(key, at, -bytes.cast_signed());
    }

    fn change(&mut self, key: i64, at: i64, bytes: i64) {
        for counted in [key, ALL_KEYS] {
            let hour = at.div_euclid(HOUR_SECONDS);
            *self.changes.entry((counted, hour)).or_default() += bytes;
            if let Some(total) = self.totals.get_mut(&counted) {
                *total += bytes;
            }
        }
    }

    fn total(&mut self, key: i64) -> rusqlite::Result<u64> {
        let total = match self.totals.get(&key) {
            Some(total) => *total,
            None => {
                let changed = self
                    .changes
                    .iter()
                    .filter(|((counted, _), _)| *counted == key);
                let changed: i64 = changed.map(|(_, bytes)| bytes).sum();
                let total = changed + total(self.connection, key)?;
                self.totals.insert(key, total);
                total
            }
        };
        // Negative only if the file was changed by other means.
        Ok(u64::try_from(total).unwrap_or(0))
    }

    fn retry_after(&self, key: i64) -> rusqlite::Result<u64> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT min(hour) FROM kept_bytes WHERE key = ?1 AND bytes > 0")?;
        let oldest: Option<i64> = statement.query_row([key], |row| row.get(0))?;
        let oldest = oldest.unwrap_or(self.now.div_euclid(HOUR_SECONDS));
        let expired_at = (oldest + 1) * HOUR_SECONDS + LIFETIME_SECONDS;
        Ok(u64::try_from(expired_at - self.now).unwrap_or(0).max(1))
    }

    pub(super) fn write(self) -> rusqlite::Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let mut add = self.connection.prepare_cached(
            "INSERT INTO kept_bytes VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET \
             bytes = bytes + excluded.bytes",
        )?;
        let mut remove = self
            .connection
            .prepare_cached("DELETE FROM kept_bytes WHERE key = ?1 AND hour = ?2 AND bytes = 0")?;
        for ((key, hour), bytes) in self.changes {
            if bytes != 0 {
                add.execute(params![key, hour, bytes])?;
            }
            if bytes < 0 {
                remove.execute(params![key, hour])?;
            }
        }
        Ok(())
    }
}

fn total(connection: &Connection, key: i64) -> rusqlite::Result<i64> {
    let mut statement = connection
        .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM kept_bytes WHERE key = ?1")?;
    statement.query_row([key], |row| row.get(0))
}

/// Whether anything has expired. Only reads, so it takes no write lock.
pub(super) fn has_expired(connection: &Connection, now: i64) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM replays WHERE answered_at <= ?1) \
         OR EXISTS (SELECT 1 FROM export_slices WHERE charged_at <= ?1)",
    )?;
    statement.query_row([now - LIFETIME_SECONDS], |row| row.get(0))
}

/// Removes the oldest expired answers and slices of exports. Returns whether there may be more.
pub(super) fn remove_expired(
    connection: &Connection,
    kept: &mut KeptBatch<'_>,
    now: i64,
    mut removal: Removal,
) -> rusqlite::Result<bool> {
    for (find, delete) in EXPIRIES {
        let mut oldest = connection.prepare_cached(find)?;
        let mut rows = oldest.query(params![
            now - LIFETIME_SECONDS,
            Number(removal.count_max as u64)
        ])?;
        let mut expired = Vec::new();
        while removal.bytes_max > 0
            && let Some(row) = rows.next()?
        {
            let bytes = number(row, 3)?;
            kept.subtract(row.get(1)?, row.get(2)?, bytes);
            expired.push(row.get::<_, i64>(0)?);
            removal.count_max -= 1;
            removal.bytes_max = removal.bytes_max.saturating_sub(bytes);
        }
        let mut delete = connection.prepare_cached(delete)?;
        for row in expired {
            delete.execute([row])?;
        }
    }
    Ok(removal.count_max == 0 || removal.bytes_max == 0)
}

impl State {
    /// Why nothing more can be kept for a key, if so.
    pub(crate) fn kept_full(
        &self,
        key: i64,
        limits: KeptLimits,
        now: i64,
    ) -> Result<Option<KeptFull>, StateError> {
        self.with(|connection| Ok(KeptBatch::new(connection, limits, now).check(key, 1)?.err()))
    }

    /// The bytes that are kept for all keys.
    pub(crate) fn kept_bytes(&self) -> Result<u64, StateError> {
        self.with(|connection| Ok(u64::try_from(total(connection, ALL_KEYS)?).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests;
