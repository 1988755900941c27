//! The signals that were charged under the idempotency keys of exports, in the state file.
//!
//! An idempotency key has either an answer or an export; both are in the table of answers, an export with an
//! empty body. Each charged slice has a row of its own with exactly the ids that it charged, so that a resumed
//! download pays for no signal twice and gets none for free.
//!
//! Slices may overlap, because signals appear between those that were charged. A slice must not read all rows of
//! its export, so rows are indexed by the magnitude of their extent: a row of magnitude `m` that reaches below an
//! id is newer than it by less than 2^m, so for each magnitude the rows that overlap a slice are next to each other.

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use unsigned_varint::{decode, encode};

use super::kept_store::{KeptBatch, LIFETIME_SECONDS, row_bytes};
use super::number::Number;
use super::replay_store;
use super::{ChargeError, NewReplay, State, StateError};
use signaldex::SignalId;

/// An idempotency key of an export.
#[derive(Clone, Debug)]
pub(crate) struct ExportName {
    /// The number of the API key.
    pub(crate) key: i64,
    /// The `Idempotency-Key`.
    pub(crate) name: String,
    /// The hash of the filters.
    pub(crate) parameters: [u8; 32],
}

/// Signals of an export that are charged together.
pub(crate) struct ExportCharge {
    pub(crate) name: ExportName,
    /// At least one, each once, in any order.
    pub(crate) ids: Vec<SignalId>,
}

/// A row: the ids of a charged slice, delta-coded.
struct Slice {
    oldest: u64,
    newest: u64,
    /// The difference of each id but the first from the next smaller one, in LEB128.
    deltas: Vec<u8>,
}

impl ExportName {
    /// Identifies the slices of the export. Includes the filters, so that another export never finds them, whatever
    /// the clock says.
    fn digest(&self) -> [u8; 16] {
        let mut hash = Sha256::new();
        hash.update(self.key.to_le_bytes());
        hash.update(self.parameters);
        hash.update(&self.name);
        let hash: [u8; 32] = hash.finalize().into();
        std::array::from_fn(|index| hash[index])
    }

    /// Those of `ids` that were not charged within the last 24 hours, ascending.
    fn unpaid(
        &self,
        connection: &Connection,
        ids: &[SignalId],
        now: i64,
    ) -> rusqlite::Result<Vec<u64>> {
        let mut unpaid: Vec<u64> = ids.iter().map(|id| id.get()).collect();
        unpaid.sort_unstable();
        let (Some(&oldest), Some(&newest)) = (unpaid.first(), unpaid.last()) else {
            return Ok(unpaid);
        };
        let export = self.digest();
        let mut overlapping = connection.prepare_cached(
            "SELECT oldest, newest, ids FROM export_slices \
             WHERE export = ?1 AND magnitude = ?2 AND newest BETWEEN ?3 AND ?4 AND oldest <= ?5 \
             AND charged_at > ?6",
        )?;
        for magnitude in magnitudes(connection, &export)? {
            let reach = newest.saturating_add(extent_max(magnitude));
            let live = now - LIFETIME_SECONDS;
            let of_slice = params![
                export,
                magnitude,
                stored(oldest),
                stored(reach),
                stored(newest),
                live
            ];
            let mut rows = overlapping.query(of_slice)?;
            while let Some(row) = rows.next()? {
                let slice = Slice {
                    oldest: loaded(row.get(0)?),
                    newest: loaded(row.get(1)?),
                    deltas: row.get(2)?,
                };
                let paid = slice.ids().ok_or_else(|| replay_store::damaged("export"))?;
                remove_all(&mut unpaid, &paid);
            }
        }
        Ok(unpaid)
    }
}

impl State {
    /// The number of signals that were not charged under an export's name within the last 24 hours.
    pub(crate) fn unpaid(
        &self,
        name: &ExportName,
        ids: &[SignalId],
        now: i64,
    ) -> Result<u64, StateError> {
        self.with(|connection| Ok(name.unpaid(connection, ids, now)?.len() as u64))
    }
}

impl ExportCharge {
    /// An upper bound for the bytes that are counted as kept: a delta has at most ten.
    pub(super) fn bytes_max(&self) -> u64 {
        row_bytes(10 * self.ids.len(), &self.name.name)
    }

    /// The signals not yet paid, ascending, or why they cannot be charged.
    pub(super) fn unpaid(
        &self,
        connection: &Connection,
        now: i64,
    ) -> rusqlite::Result<Result<Vec<u64>, ChargeError>> {
        let ExportName {
            key,
            name,
            parameters,
        } = &self.name;
        let bound = replay_store::parameters(connection, *key, name, now)?;
        match bound {
            Some(bound) if bound != *parameters => Ok(Err(ChargeError::NameTaken)),
            _ => self.name.unpaid(connection, &self.ids, now).map(Ok),
        }
    }

    /// Stores the ids that are charged, ascending and at least one, or says that there is no room for them.
    pub(super) fn pay(
        &self,
        connection: &Connection,
        kept: &mut KeptBatch<'_>,
        unpaid: &[u64],
        now: i64,
    ) -> rusqlite::Result<Result<(), ChargeError>> {
        let Some(slice) = Slice::of(unpaid) else {
            return Ok(Ok(()));
        };
        let ExportName { key, name, .. } = &self.name;
        let bytes = row_bytes(slice.deltas.len(), name);
        if let Err(full) = kept.check(*key, bytes)? {
            return Ok(Err(ChargeError::KeptFull(full)));
        }
        self.bind(connection, kept, now)?;
        let mut insert = connection.prepare_cached(
            "INSERT INTO export_slices \
             (export, magnitude, newest, oldest, key, charged_at, bytes, ids) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        insert.execute(params![
            self.name.digest(),
            slice.magnitude(),
            stored(slice.newest),
            stored(slice.oldest),
            key,
            now,
            Number(bytes),
            slice.deltas
        ])?;
        kept.add(*key, now, bytes);
        Ok(Ok(()))
    }

    /// Binds the idempotency key to the export for 24 hours from now. Its bytes are counted with each slice.
    fn bind(
        &self,
        connection: &Connection,
        kept: &mut KeptBatch<'_>,
        now: i64,
    ) -> rusqlite::Result<()> {
        let ExportName {
            key,
            name,
            parameters,
        } = &self.name;
        let mut extend = connection.prepare_cached(
            "UPDATE replays SET answered_at = max(answered_at, ?3) \
             WHERE key = ?1 AND name = ?2 AND answered_at > ?4",
        )?;
        if extend.execute(params![key, name, now, now - LIFETIME_SECONDS])? == 0 {
            let bound = NewReplay::of_export(name.clone(), *parameters);
            let bound =
                bound.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
            bound.insert(connection, kept, *key, now)?;
        }
        Ok(())
    }
}

impl Slice {
    /// The row of ascending ids; `None` without an id.
    fn of(ids: &[u64]) -> Option<Slice> {
        let (&oldest, &newest) = (ids.first()?, ids.last()?);
        let mut deltas = Vec::with_capacity(2 * ids.len());
        for pair in ids.windows(2) {
            deltas.extend(encode::u64(pair[1] - pair[0], &mut encode::u64_buffer()));
        }
        Some(Slice {
            oldest,
            newest,
            deltas,
        })
    }

    /// The number of bits of the difference between the newest id and the oldest.
    fn magnitude(&self) -> u32 {
        u64::BITS - (self.newest - self.oldest).leading_zeros()
    }

    /// The ids, ascending; `None` if the row is damaged.
    fn ids(&self) -> Option<Vec<u64>> {
        let mut rest = self.deltas.as_slice();
        let (mut last, mut ids) = (self.oldest, vec![self.oldest]);
        while !rest.is_empty() {
            let (delta, after) = decode::u64(rest).ok()?;
            (last, rest) = (last.checked_add(delta)?, after);
            ids.push(last);
        }
        (last == self.newest).then_some(ids)
    }
}

/// The magnitudes of an export's rows, ascending, each found by one seek.
fn magnitudes(connection: &Connection, export: &[u8; 16]) -> rusqlite::Result<Vec<u32>> {
    let mut next = connection.prepare_cached(
        "SELECT min(magnitude) FROM export_slices WHERE export = ?1 AND magnitude >= ?2",
    )?;
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(magnitude) = next.query_row(params![export, from], |row| row.get(0))? {
        found.push(magnitude);
        from = magnitude + 1;
    }
    Ok(found)
}

/// The largest difference between the newest id and the oldest of a row.
fn extent_max(magnitude: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - magnitude).unwrap_or(0)
}

/// Removes ascending numbers from others.
fn remove_all(from: &mut Vec<u64>, removed: &[u64]) {
    let mut removed = removed.iter().copied().peekable();
    from.retain(|id| {
        // What is left of `removed` is not smaller than any number that is still to come.
        while removed.next_if(|removed| removed < id).is_some() {}
        removed.peek() != Some(id)
    });
}

/// An id as SQLite stores it: its integers are signed, and order is kept.
fn stored(id: u64) -> i64 {
    (id ^ (1 << 63)).cast_signed()
}

fn loaded(id: i64) -> u64 {
    id.cast_unsigned() ^ (1 << 63)
}

#[cfg(test)]
mod tests;
