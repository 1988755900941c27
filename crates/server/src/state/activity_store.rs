//! Request counts in the state file, by key, endpoint, status and day.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use rusqlite::{Row, Transaction, params};
use time::{Date, Duration, UtcDateTime};

use super::number::{Number, number};
use super::quota_store::{self, QuotaAlert};
use super::series_store::{self, SeriesStep};
use super::{State, StateError};
use crate::time_histogram::TimeHistogram;

/// Retention: a year and a month, so that a month can be compared with the same month of the previous
/// year.
const DAYS_KEPT: Duration = Duration::days(400);

/// The key by which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CountedBy {
    /// Minutes since 1970.
    pub(crate) minute: i64,
    /// The number of the key; 0 if no key was accepted.
    pub(crate) key: i64,
    pub(crate) endpoint: &'static str,
    pub(crate) status: u16,
}

/// Requests not yet recorded.
#[derive(Clone, Debug)]
pub(crate) struct NewRequests {
    pub(crate) by: CountedBy,
    pub(crate) requests: u64,
    /// Units charged.
    pub(crate) units: u64,
    /// Times to the first byte, of answers of 2xx alone: refusals take microseconds, and would hide what answers take.
    pub(crate) times: TimeHistogram,
    /// When the last of them was answered, in seconds since 1970.
    pub(crate) last_at: i64,
}

/// The number of requests of a key to an endpoint on a day with a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestLine {
    pub(crate) day: Date,
    /// Id and name of the key; `None` if no key was accepted.
    pub(crate) key: Option<(String, String)>,
    pub(crate) endpoint: String,
    pub(crate) status: u16,
    pub(crate) requests: u64,
}

/// The number of requests to an endpoint with a status, in some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestTotal {
    pub(crate) endpoint: String,
    pub(crate) status: u16,
    pub(crate) requests: u64,
}

/// A key with its requests on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BusyKey {
    /// Id and name of the key; `None` for requests without a valid key.
    pub(crate) key: Option<(String, String)>,
    pub(crate) requests: u64,
    /// Answers of 4xx.
    pub(crate) refused: u64,
    /// Answers of 5xx.
    pub(crate) failed: u64,
}

impl CountedBy {
    /// The day of the minute as a Julian day number.
    fn day(&self) -> i64 {
        let unix_epoch = i64::from(UtcDateTime::UNIX_EPOCH.date().to_julian_day());
        self.minute.div_euclid(SeriesStep::Day.minutes()) + unix_epoch
    }
}

impl NewRequests {
    /// Requests of a kind before the first is counted.
    pub(crate) fn none(by: CountedBy) -> NewRequests {
        NewRequests {
            by,
            requests: 0,
            units: 0,
            times: TimeHistogram::default(),
            last_at: 0,
        }
    }

    /// Adds requests of the same kind.
    pub(crate) fn merge(&mut self, other: &NewRequests) {
        self.requests = self.requests.saturating_add(other.requests);
        self.units = self.units.saturating_add(other.units);
        self.times.merge(&other.times);
        self.last_at = self.last_at.max(other.last_at);
    }
}

impl State {
    /// Adds requests, notes the use of their keys, and removes what is past its retention. Returns the
    /// parts of quotas that those keys have used and that were not told yet.
    pub(crate) fn record_requests(
        &self,
        requests: &[NewRequests],
        now: UtcDateTime,
    ) -> Result<Vec<QuotaAlert>, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let mut add = change.prepare_cached(
                "INSERT INTO requests VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET \
                 requests = requests + excluded.requests",
            )?;
            // Units of an answer that is still being sent come without a request.
            let counted = requests.iter().filter(|new| new.requests > 0);
            for NewRequests { by, requests, .. } in counted.clone() {
                add.execute(params![
                    by.day(),
                    by.key,
                    by.endpoint,
                    by.status,
                    Number(*requests)
                ])?;
            }
            drop(add);
            add_to_totals(&change, counted.clone())?;
            note_use(&change, counted)?;
            series_store::add(&change, requests, now.unix_timestamp().div_euclid(60))?;
            let alerts = quota_store::note(&change, requests, now)?;
            let oldest = now.date().saturating_sub(DAYS_KEPT).to_julian_day();
            change.execute("DELETE FROM requests WHERE day < ?1", [oldest])?;
            change.execute("DELETE FROM usage_days WHERE day < ?1", [oldest])?;
            change.execute("DELETE FROM usage_totals WHERE day < ?1", [oldest])?;
            change.execute("DELETE FROM request_totals WHERE day < ?1", [oldest])?;
            change.commit()?;
            Ok(alerts)
        })
    }

    /// Requests of all keys since a day, by endpoint and status.
    ///
    /// Cost: a row for each day, endpoint and status.
    pub(crate) fn request_totals(&self, from: Date) -> Result<Vec<RequestTotal>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT endpoint, status, sum(requests) FROM request_totals WHERE day >= ?1 \
                 GROUP BY endpoint, status ORDER BY endpoint, status",
            )?;
            let totals = statement.query_map([from.to_julian_day()], read_total)?;
            Ok(totals.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The same of one key, from a day to another.
    ///
    /// Cost: a look-up for each day.
    pub(crate) fn requests_of(
        &self,
        key: i64,
        days: RangeInclusive<Date>,
    ) -> Result<Vec<RequestTotal>, StateError> {
        let (from, to) = (days.start().to_julian_day(), days.end().to_julian_day());
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "WITH RECURSIVE days (day) AS \
                 (SELECT ?2 UNION ALL SELECT day + 1 FROM days WHERE day < ?3) \
                 SELECT endpoint, status, sum(requests) FROM days CROSS JOIN requests USING (day) \
                 WHERE key = ?1 GROUP BY endpoint, status ORDER BY endpoint, status",
            )?;
            let totals = statement.query_map(params![key, from, to], read_total)?;
            Ok(totals.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The keys with the most requests on a day, most first.
    ///
    /// Cost: one pass over the requests of the day.
    pub(crate) fn busiest_keys(&self, day: Date, rows: usize) -> Result<Vec<BusyKey>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, name, requests, refused, failed FROM \
                 (SELECT key, sum(requests) AS requests, \
                     sum(iif(status / 100 = 4, requests, 0)) AS refused, \
                     sum(iif(status / 100 = 5, requests, 0)) AS failed \
                 FROM requests WHERE day = ?1 GROUP BY key ORDER BY 2 DESC, key LIMIT ?2) AS top \
                 LEFT JOIN keys ON number = top.key ORDER BY requests DESC, top.key",
            )?;
            let rows = i64::try_from(rows).unwrap_or(i64::MAX);
            let day = i64::from(day.to_julian_day());
            let keys = statement.query_map([day, rows], |row| {
                let (id, name): (Option<String>, Option<String>) = (row.get(0)?, row.get(1)?);
                Ok(BusyKey {
                    key: id.zip(name),
                    requests: number(row, 2)?,
                    refused: number(row, 3)?,
                    failed: number(row, 4)?,
                })
            })?;
            Ok(keys.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Requests since a day, oldest first.
    pub(crate) fn requests(&self, from: Date) -> Result<Vec<RequestLine>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT day, id, name, endpoint, status, requests \
                 FROM requests LEFT JOIN keys ON number = key \
                 WHERE day >= ?1 ORDER BY day, key, endpoint, status",
            )?;
            let lines = statement.query_map([from.to_julian_day()], |row| {
                let (id, name): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
                Ok(RequestLine {
                    day: super::day_of(row.get(0)?),
                    key: id.zip(name),
                    endpoint: row.get(3)?,
                    status: row.get(4)?,
                    requests: number(row, 5)?,
                })
            })?;
            Ok(lines.collect::<rusqlite::Result<_>>()?)
        })
    }
}

fn add_to_totals<'n>(
    change: &Transaction<'_>,
    requests: impl Iterator<Item = &'n NewRequests>,
) -> rusqlite::Result<()> {
    let mut totals: HashMap<(i64, &str, u16), u64> = HashMap::new();
    for NewRequests { by, requests, .. } in requests {
        *totals
            .entry((by.day(), by.endpoint, by.status))
            .or_default() += requests;
    }
    let mut add = change.prepare_cached(
        "INSERT INTO request_totals VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET \
         requests = requests + excluded.requests",
    )?;
    for ((day, endpoint, status), requests) in totals {
        add.execute(params![day, endpoint, status, Number(requests)])?;
    }
    Ok(())
}

fn read_total(row: &Row<'_>) -> rusqlite::Result<RequestTotal> {
    Ok(RequestTotal {
        endpoint: row.get(0)?,
        status: row.get(1)?,
        requests: number(row, 2)?,
    })
}

/// Notes the minute in which each key was last used, unless a later one is known. No change of a key: nothing has to be
/// read again.
fn note_use<'n>(
    change: &Transaction<'_>,
    requests: impl Iterator<Item = &'n NewRequests>,
) -> rusqlite::Result<()> {
    let mut last: HashMap<i64, i64> = HashMap::new();
    for new in requests.filter(|new| new.by.key != 0) {
        let minute = new.last_at - new.last_at.rem_euclid(60);
        let known = last.entry(new.by.key).or_insert(minute);
        *known = minute.max(*known);
    }
    let mut note = change.prepare_cached(
        "UPDATE keys SET used_at = ?2 WHERE number = ?1 AND (used_at IS NULL OR used_at < ?2)",
    )?;
    for (key, minute) in last {
        note.execute(params![key, minute])?;
    }
    Ok(())
}
