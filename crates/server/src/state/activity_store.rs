//! Request counts in the state file, by key, endpoint, status and day.

use rusqlite::params;
use time::{Date, Duration};

use super::number::{Number, number};
use super::{State, StateError};

/// Retention: a year and a month, so that a month can be compared with the same month of the previous
/// year.
const DAYS_KEPT: Duration = Duration::days(400);

/// The key by which requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CountedBy {
    pub(crate) day: Date,
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

impl State {
    /// Adds requests, and removes days that are past the retention.
    pub(crate) fn record_requests(
        &self,
        requests: &[NewRequests],
        today: Date,
    ) -> Result<(), StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let mut add = change.prepare_cached(
                "INSERT INTO requests VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET \
                 requests = requests + excluded.requests",
            )?;
            for NewRequests { by, requests } in requests {
                let day = by.day.to_julian_day();
                add.execute(params![
                    day,
                    by.key,
                    by.endpoint,
                    by.status,
                    Number(*requests)
                ])?;
            }
            drop(add);
            let oldest = today.saturating_sub(DAYS_KEPT).to_julian_day();
            change.execute("DELETE FROM requests WHERE day < ?1", [oldest])?;
            change.execute("DELETE FROM usage_days WHERE day < ?1", [oldest])?;
            Ok(change.commit()?)
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
