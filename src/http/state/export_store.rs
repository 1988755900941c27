//! The paid ranges of exports in the state file, by idempotency key.
//!
//! An export is stored in the table of answers: an idempotency key has either an answer or an export.
//! Instead of an answer it has the charged ranges of ids, each with an expiry, so that a resumed
//! download pays for no signal twice.

use std::ops::RangeInclusive;

use rusqlite::{Connection, params};

use super::replay_store::{LIFETIME_SECONDS, StoredReplay};
use super::{ChargeError, NewReplay, replay_store};
use crate::SignalId;

/// Ranges per export. More would mean that a client fetches single signals under one key. Limits what a charge
/// reads and writes to 24 KB.
const RANGES_MAX: usize = 1000;
/// Expiries are rounded to hours, so that adjacent ranges of the same hour can be merged.
const EXPIRY_STEP_SECONDS: i64 = 60 * 60;
/// Stored bytes of a range: first id, last id, expiry.
const RANGE_BYTES: usize = 24;

/// Signals of an export that are charged together.
pub(crate) struct ExportCharge {
    /// The `Idempotency-Key`.
    pub(crate) name: String,
    /// The hash of the filters.
    pub(crate) parameters: [u8; 32],
    /// The preceding signal of the export.
    pub(crate) after: Option<SignalId>,
    /// Newest first; at least one.
    pub(crate) ids: Vec<SignalId>,
}

/// Charged ranges of ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PaidRanges(Vec<PaidRange>);

/// A range of ids that is paid until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PaidRange {
    oldest: u64,
    newest: u64,
    expires_at: i64,
}

/// The units that an export still has to pay, and the paid ranges after that.
pub(super) struct Due {
    pub(super) units: u64,
    paid: PaidRanges,
}

impl ExportCharge {
    /// The number of signals not yet paid, or why they cannot be charged.
    pub(super) fn due(
        &self,
        connection: &Connection,
        key: i64,
        now: i64,
    ) -> rusqlite::Result<Result<Due, ChargeError>> {
        let stored = replay_store::find(connection, key, &self.name, now)?;
        if stored
            .as_ref()
            .is_some_and(|stored| stored.parameters != self.parameters)
        {
            return Ok(Err(ChargeError::NameTaken));
        }
        let mut paid = match stored {
            None => PaidRanges::default(),
            Some(stored) => {
                PaidRanges::of(&stored, now).ok_or_else(|| replay_store::damaged("export"))?
            }
        };
        let units = self.ids.iter().filter(|id| !paid.has(**id)).count() as u64;
        if let (1.., [first, ..], Some(oldest)) = (units, &*self.ids, self.ids.last()) {
            // Consecutive ranges are merged, because no signal lies between them. An unpaid `after` is no
            // bound: it may be larger than every id.
            let newest = match self.after.filter(|after| paid.has(*after)) {
                Some(after) => after.get() - 1,
                None => first.get(),
            };
            paid.add(oldest.get()..=newest, now);
        }
        if paid.0.len() > RANGES_MAX {
            return Ok(Err(ChargeError::TooManyPieces));
        }
        Ok(Ok(Due { units, paid }))
    }

    /// Stores the paid ranges.
    pub(super) fn pay(
        &self,
        connection: &Connection,
        key: i64,
        now: i64,
        due: &Due,
    ) -> rusqlite::Result<()> {
        let (name, ranges) = (self.name.clone(), due.paid.to_bytes());
        let kept = NewReplay::compress(name, self.parameters, String::new(), &ranges);
        let kept = kept.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        connection.execute(
            "DELETE FROM replays WHERE key = ?1 AND name = ?2",
            params![key, self.name],
        )?;
        kept.insert(connection, key, now)?;
        Ok(())
    }
}

impl PaidRanges {
    /// The ranges of a stored export that have not expired; `None` if it is damaged.
    pub(crate) fn of(stored: &StoredReplay, now: i64) -> Option<PaidRanges> {
        let (ranges, rest) = stored.body.as_chunks::<RANGE_BYTES>();
        let ranges = ranges.iter().map(PaidRange::read);
        let valid = ranges.filter(|range| range.expires_at > now);
        rest.is_empty().then(|| PaidRanges(valid.collect()))
    }

    /// The ranges, from the oldest id of each to its newest.
    pub(crate) fn ranges(&self) -> Vec<RangeInclusive<SignalId>> {
        let id = |id| SignalId::new(id);
        let ranges = self.0.iter();
        ranges
            .filter_map(|range| Some(id(range.oldest)?..=id(range.newest)?))
            .collect()
    }

    fn has(&self, id: SignalId) -> bool {
        let id = id.get();
        self.0
            .iter()
            .any(|range| (range.oldest..=range.newest).contains(&id))
    }

    /// Adds a range, merged with adjacent ranges of the same hour.
    fn add(&mut self, ids: RangeInclusive<u64>, now: i64) {
        let hours = now.div_euclid(EXPIRY_STEP_SECONDS) + 1;
        let mut added = PaidRange {
            oldest: *ids.start(),
            newest: *ids.end(),
            expires_at: hours * EXPIRY_STEP_SECONDS + LIFETIME_SECONDS,
        };
        self.0.retain(|range| {
            let touches = range.expires_at == added.expires_at
                && range.oldest <= added.newest.saturating_add(1)
                && added.oldest <= range.newest.saturating_add(1);
            if touches {
                added.oldest = added.oldest.min(range.oldest);
                added.newest = added.newest.max(range.newest);
            }
            !touches
        });
        self.0.push(added);
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|range| range.to_bytes()).collect()
    }
}

impl PaidRange {
    fn read(bytes: &[u8; RANGE_BYTES]) -> PaidRange {
        let (numbers, _) = bytes.as_chunks::<8>();
        PaidRange {
            oldest: u64::from_le_bytes(numbers[0]),
            newest: u64::from_le_bytes(numbers[1]),
            expires_at: i64::from_le_bytes(numbers[2]),
        }
    }

    fn to_bytes(self) -> [u8; RANGE_BYTES] {
        let mut bytes = [0; RANGE_BYTES];
        let numbers = [
            self.oldest.to_le_bytes(),
            self.newest.to_le_bytes(),
            self.expires_at.to_le_bytes(),
        ];
        bytes.copy_from_slice(numbers.as_flattened());
        bytes
    }
}

#[cfg(test)]
mod tests;
