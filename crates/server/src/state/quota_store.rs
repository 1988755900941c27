//! Alerts of quotas in the state file: which keys have used 80 and 100 % of one, told once over all processes.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use time::UtcDateTime;

use super::activity_store::NewRequests;
use super::number::{Number, counts, number};
use super::{State, StateError};
use crate::instants::milliseconds;
use crate::metering::{Counter, Counts, Month};

/// The parts of a quota that are told, in percent, the larger first.
pub(crate) const TOLD_AT: [u64; 2] = [100, 80];

/// Keys that are looked at for the dashboard, a few milliseconds' worth.
pub(crate) const REACHED_MAX: u32 = 1_000;

/// A key that has used a part of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuotaAlert {
    pub(crate) key_id: String,
    pub(crate) name: String,
    pub(crate) hint: Option<String>,
    pub(crate) month: Month,
    pub(crate) counter: Counter,
    /// One of [`TOLD_AT`].
    pub(crate) percent: u64,
    pub(crate) used: u64,
    pub(crate) quota: u64,
}

/// A key with its usage this month and its quotas.
struct UsedQuotas {
    number: i64,
    key_id: String,
    name: String,
    hint: Option<String>,
    used: Counts,
    quotas: [Option<u64>; Counter::ALL.len()],
}

/// The largest part of a quota of [`TOLD_AT`] that is used; `None` below all of them, and for a quota of 0, which
/// forbids what it counts.
pub(crate) fn percent_reached(used: u64, quota: u64) -> Option<u64> {
    let is_reached =
        |percent: &u64| u128::from(used) * 100 >= u128::from(quota) * u128::from(*percent);
    let mut parts = TOLD_AT.into_iter();
    parts.find(is_reached).filter(|_| quota > 0)
}

impl State {
    /// The quotas of which a key has used a part that was told this month, most used first: at most `rows` of them, and the
    /// number of all. More keys than [`REACHED_MAX`] are not looked at.
    ///
    /// Cost: a look-up for each key.
    pub(crate) fn reached_quotas(
        &self,
        now: UtcDateTime,
        rows: usize,
    ) -> Result<(Vec<QuotaAlert>, usize), StateError> {
        let month = Month::of(now);
        let keys = self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT key FROM quota_alerts JOIN keys ON number = key \
                 WHERE month = ?1 AND revoked_at IS NULL LIMIT ?2",
            )?;
            let read = params![month.number(), REACHED_MAX];
            let keys = statement.query_map(read, |row| row.get(0))?;
            let keys: Vec<i64> = keys.collect::<rusqlite::Result<_>>()?;
            let keys = keys.into_iter();
            let quotas = keys.map(|key| used_quotas(connection, key, month));
            Ok(quotas.collect::<rusqlite::Result<Vec<_>>>()?)
        })?;
        let keys = keys.iter().flatten();
        let mut reached: Vec<QuotaAlert> = keys.flat_map(|key| key.reached(month)).collect();
        reached.sort_by_key(|alert| {
            let used = u128::from(alert.used) * 1_000_000 / u128::from(alert.quota.max(1));
            (std::cmp::Reverse(used), alert.key_id.clone())
        });
        let all = reached.len();
        reached.truncate(rows);
        Ok((reached, all))
    }
}

/// Notes which parts of quotas the keys of some requests have used, and returns what was not told yet.
///
/// Cost: a look-up for each key.
pub(super) fn note(
    change: &Transaction<'_>,
    requests: &[NewRequests],
    now: UtcDateTime,
) -> rusqlite::Result<Vec<QuotaAlert>> {
    let month = Month::of(now);
    let keys: BTreeSet<i64> = requests.iter().map(|new| new.by.key).collect();
    let mut alerts = Vec::new();
    for key in keys.into_iter().filter(|key| *key != 0) {
        let Some(key) = used_quotas(change, key, month)? else {
            continue;
        };
        for alert in key.reached(month) {
            if note_one(change, key.number, &alert, now)? {
                alerts.push(alert);
            }
        }
    }
    change.execute(
        "DELETE FROM quota_alerts WHERE month < ?1",
        [month.before().number()],
    )?;
    Ok(alerts)
}

/// Stores an alert with those of smaller parts. Returns whether it was not told yet.
fn note_one(
    change: &Transaction<'_>,
    key: i64,
    alert: &QuotaAlert,
    now: UtcDateTime,
) -> rusqlite::Result<bool> {
    let mut is_new = false;
    for percent in TOLD_AT.into_iter().filter(|known| *known <= alert.percent) {
        let mut note = change.prepare_cached(
            "INSERT INTO quota_alerts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8) \
             ON CONFLICT DO UPDATE SET quota = excluded.quota, used = excluded.used, \
             raised_at = excluded.raised_at, attempts = 0, due_at = excluded.due_at \
             WHERE excluded.quota > quota",
        )?;
        let (month, counter) = (alert.month.number(), alert.counter.as_str());
        let (quota, used) = (Number(alert.quota), Number(alert.used));
        let is_told = percent == alert.percent;
        let (at, due) = (now.unix_timestamp(), is_told.then(|| milliseconds(now)));
        let row = params![month, key, counter, Number(percent), quota, used, at, due];
        is_new |= note.execute(row)? > 0 && is_told;
    }
    Ok(is_new)
}

/// `None` if the key has used nothing in the month.
fn used_quotas(
    connection: &Connection,
    key: i64,
    month: Month,
) -> rusqlite::Result<Option<UsedQuotas>> {
    connection
        .prepare_cached(
            "SELECT number, id, name, hint, signals, activities, companies, free_answers, \
             quota_signals, quota_activities, quota_companies, quota_free_answers \
             FROM usage JOIN keys ON number = key WHERE month = ?1 AND key = ?2",
        )?
        .query_row(params![month.number(), key], |row| {
            let mut quotas = [None; Counter::ALL.len()];
            for (quota, column) in quotas.iter_mut().zip(8..) {
                let stored: Option<i64> = row.get(column)?;
                *quota = stored.map(|_| number(row, column)).transpose()?;
            }
            Ok(UsedQuotas {
                number: row.get(0)?,
                key_id: row.get(1)?,
                name: row.get(2)?,
                hint: row.get(3)?,
                used: counts(row, 4)?,
                quotas,
            })
        })
        .optional()
}

impl UsedQuotas {
    /// The quotas of which a part is used that is told.
    fn reached(&self, month: Month) -> impl Iterator<Item = QuotaAlert> {
        Counter::ALL.into_iter().filter_map(move |counter| {
            let (used, quota) = (self.used[counter.index()], self.quotas[counter.index()]?);
            Some(QuotaAlert {
                percent: percent_reached(used, quota)?,
                key_id: self.key_id.clone(),
                name: self.name.clone(),
                hint: self.hint.clone(),
                month,
                counter,
                used,
                quota,
            })
        })
    }
}

#[cfg(test)]
mod tests;
