//! Alerts of quotas that the operator's webhook is to receive, in the state file.

use rusqlite::{Connection, OptionalExtension, Row, params};
use time::UtcDateTime;

use super::number::{Number, number};
use super::quota_store::QuotaAlert;
use super::{State, StateError};
use crate::instants::milliseconds;
use crate::metering::{Counter, Month};

/// An alert with its next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DueAlert {
    pub(crate) alert: QuotaAlert,
    pub(crate) raised_at: UtcDateTime,
    /// The number of this attempt, from 1.
    pub(crate) attempt: u32,
    /// The number of the key.
    key: i64,
}

impl State {
    /// Takes the alert of this month that is due first. No other process takes it before `held_until`.
    ///
    /// Cost: a small read if none is due.
    pub(crate) fn take_due_alert(
        &self,
        now: UtcDateTime,
        held_until: UtcDateTime,
    ) -> Result<Option<DueAlert>, StateError> {
        self.with(|connection| {
            if !is_any_due(connection, now)? {
                return Ok(None);
            }
            let change = self.begin(connection)?;
            let taken = take(&change, now, held_until)?;
            change.commit()?;
            Ok(taken)
        })
    }

    /// Records what came of an attempt: `next` is when the next one is due, if one follows. An alert that was raised anew
    /// meanwhile stays due.
    pub(crate) fn end_alert(
        &self,
        due: &DueAlert,
        next: Option<UtcDateTime>,
    ) -> Result<(), StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            change.execute(
                "UPDATE quota_alerts SET due_at = ?5 WHERE month = ?1 AND key = ?2 AND counter = ?3 \
                 AND percent = ?4 AND attempts = ?6 AND quota = ?7",
                params![
                    due.alert.month.number(),
                    due.key,
                    due.alert.counter.as_str(),
                    Number(due.alert.percent),
                    next.map(milliseconds),
                    due.attempt,
                    Number(due.alert.quota),
                ],
            )?;
            Ok(change.commit()?)
        })
    }
}

fn is_any_due(connection: &Connection, now: UtcDateTime) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM quota_alerts WHERE due_at <= ?1 AND month = ?2)",
    )?;
    let of = params![milliseconds(now), Month::of(now).number()];
    statement.query_row(of, |row| row.get(0))
}

fn take(
    connection: &Connection,
    now: UtcDateTime,
    held_until: UtcDateTime,
) -> rusqlite::Result<Option<DueAlert>> {
    let month = Month::of(now);
    let mut statement = connection.prepare_cached(
        "UPDATE quota_alerts SET due_at = ?3, attempts = attempts + 1 \
         WHERE (month, key, counter, percent) = \
             (SELECT month, key, counter, percent FROM quota_alerts \
              WHERE due_at <= ?1 AND month = ?2 ORDER BY due_at LIMIT 1) \
         RETURNING key, counter, percent, quota, used, raised_at, attempts, \
             (SELECT id FROM keys WHERE number = key), (SELECT name FROM keys WHERE number = key)",
    )?;
    let values = params![milliseconds(now), month.number(), milliseconds(held_until)];
    let taken = statement.query_row(values, |row| read(row, month));
    taken.optional()
}

fn read(row: &Row<'_>, month: Month) -> rusqlite::Result<DueAlert> {
    let counter: String = row.get(1)?;
    let mut counters = Counter::ALL.into_iter();
    let counter = counters.find(|known| known.as_str() == counter);
    let raised_at = UtcDateTime::from_unix_timestamp(row.get(5)?);
    Ok(DueAlert {
        key: row.get(0)?,
        alert: QuotaAlert {
            counter: counter.ok_or_else(|| rusqlite::Error::InvalidQuery)?,
            percent: number(row, 2)?,
            quota: number(row, 3)?,
            used: number(row, 4)?,
            key_id: row.get(7)?,
            name: row.get(8)?,
            hint: None,
            month,
        },
        raised_at: raised_at.unwrap_or(UtcDateTime::UNIX_EPOCH),
        attempt: row.get(6)?,
    })
}
