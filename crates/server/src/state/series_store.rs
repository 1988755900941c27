//! Series in the state file: requests, times of successes and units by minute, hour and day, of all keys and of each.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::activity_store::NewRequests;
use super::number::{Number, number};
use super::{State, StateError};
use crate::time_histogram::TimeHistogram;

/// Rows that a transaction removes, as many as it may add: a day has 24 hours, so removing keeps up.
const REMOVED_MAX: usize = 4096;

/// The length of a step of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum SeriesStep {
    Minute,
    Hour,
    Day,
}

/// What a series has of one step and endpoint, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeriesFigures {
    /// All answers, with those of 3xx.
    pub(crate) requests: u64,
    /// Answers of 2xx.
    pub(crate) succeeded: u64,
    /// Answers of 4xx.
    pub(crate) refused: u64,
    /// Answers of 5xx.
    pub(crate) failed: u64,
    /// Units charged.
    pub(crate) units: u64,
    /// Times of the answers of 2xx, to the first byte.
    pub(crate) times: TimeHistogram,
}

/// The figures of an endpoint in a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeriesLine {
    /// The first minute since 1970.
    pub(crate) start: i64,
    pub(crate) endpoint: String,
    pub(crate) figures: SeriesFigures,
}

/// A row to be added: step, first minute, key if it is the series of one, endpoint.
type Cell<'a> = (SeriesStep, i64, Option<i64>, &'a str);

impl SeriesStep {
    pub(crate) const ALL: [SeriesStep; 3] = [SeriesStep::Minute, SeriesStep::Hour, SeriesStep::Day];

    pub(crate) const fn minutes(self) -> i64 {
        match self {
            SeriesStep::Minute => 1,
            SeriesStep::Hour => 60,
            SeriesStep::Day => 24 * 60,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            SeriesStep::Minute => "minute",
            SeriesStep::Hour => "hour",
            SeriesStep::Day => "day",
        }
    }

    /// For how many days steps of this length are kept, of all keys or of each; 0 for not at all.
    pub(crate) const fn days_kept(self, is_of_key: bool) -> i64 {
        match (self, is_of_key) {
            (SeriesStep::Minute, false) => 2,
            (SeriesStep::Minute, true) => 0,
            (SeriesStep::Hour, true) => 30,
            (SeriesStep::Hour, false) | (SeriesStep::Day, _) => 400,
        }
    }

    /// The first minute of the step that a minute is in.
    pub(crate) const fn start_of(self, minute: i64) -> i64 {
        minute - minute.rem_euclid(self.minutes())
    }
}

impl SeriesFigures {
    pub(crate) fn merge(&mut self, other: &SeriesFigures) {
        for (sum, added) in [
            (&mut self.requests, other.requests),
            (&mut self.succeeded, other.succeeded),
            (&mut self.refused, other.refused),
            (&mut self.failed, other.failed),
            (&mut self.units, other.units),
        ] {
            *sum = sum.saturating_add(added);
        }
        self.times.merge(&other.times);
    }

    fn add(&mut self, new: &NewRequests) {
        let of_class = match new.by.status {
            200..300 => Some(&mut self.succeeded),
            400..500 => Some(&mut self.refused),
            500.. => Some(&mut self.failed),
            _ => None,
        };
        if let Some(count) = of_class {
            *count = count.saturating_add(new.requests);
        }
        self.requests = self.requests.saturating_add(new.requests);
        self.units = self.units.saturating_add(new.units);
        self.times.merge(&new.times);
    }
}

impl State {
    /// The series of all keys or of one, from a minute to another, oldest first, by endpoint.
    ///
    /// Cost: a row for each step and endpoint; of one key, a look-up for each step.
    pub(crate) fn series(
        &self,
        key: Option<i64>,
        step: SeriesStep,
        minutes: Range<i64>,
    ) -> Result<Vec<SeriesLine>, StateError> {
        let (from, to) = (step.start_of(minutes.start), minutes.end);
        self.with(|connection| {
            let lines: rusqlite::Result<Vec<SeriesLine>> = match key {
                None => connection
                    .prepare_cached(
                        "SELECT start, endpoint, requests, succeeded, refused, failed, units, times \
                         FROM series WHERE step = ?1 AND start >= ?2 AND start < ?3 \
                         ORDER BY start, endpoint",
                    )?
                    .query_map(params![step.minutes(), from, to], read)?
                    .collect(),
                Some(key) => connection
                    .prepare_cached(
                        "WITH RECURSIVE starts (start) AS \
                         (SELECT ?2 UNION ALL SELECT start + ?1 FROM starts WHERE start + ?1 < ?3) \
                         SELECT start, endpoint, requests, succeeded, refused, failed, units, times \
                         FROM starts CROSS JOIN key_series USING (start) \
                         WHERE step = ?1 AND key = ?4 ORDER BY start, endpoint",
                    )?
                    .query_map(params![step.minutes(), from, to, key], read)?
                    .collect(),
            };
            Ok(lines?)
        })
    }
}

/// Adds requests to the series, and removes steps that are past their time.
pub(super) fn add(
    change: &Transaction<'_>,
    requests: &[NewRequests],
    now: i64,
) -> rusqlite::Result<()> {
    for ((step, start, key, endpoint), figures) in cells(requests) {
        match key {
            None => add_of_all(change, (step, start), endpoint, figures)?,
            Some(key) => add_of_key(change, (step, start), (key, endpoint), figures)?,
        }
    }
    for step in SeriesStep::ALL {
        remove(change, step, now)?;
    }
    Ok(())
}

fn cells(requests: &[NewRequests]) -> BTreeMap<Cell<'_>, SeriesFigures> {
    let mut cells: BTreeMap<Cell<'_>, SeriesFigures> = BTreeMap::new();
    for new in requests {
        for step in SeriesStep::ALL {
            let start = step.start_of(new.by.minute);
            let has_key = new.by.key != 0 && step.days_kept(true) > 0;
            let of_key = has_key.then_some(Some(new.by.key));
            for key in [Some(None), of_key].into_iter().flatten() {
                let cell = cells.entry((step, start, key, new.by.endpoint));
                cell.or_default().add(new);
            }
        }
    }
    cells
}

fn add_of_all(
    change: &Transaction<'_>,
    (step, start): (SeriesStep, i64),
    endpoint: &str,
    mut figures: SeriesFigures,
) -> rusqlite::Result<()> {
    let step = step.minutes();
    let stored = change
        .prepare_cached(
            "SELECT times FROM series WHERE step = ?1 AND start = ?2 AND endpoint = ?3",
        )?
        .query_row(params![step, start, endpoint], |row| row.get(0))
        .optional()?;
    merge_times(&mut figures.times, stored);
    let [requests, succeeded, refused, failed, units] = numbers(&figures);
    let times = figures.times.to_bytes();
    change
        .prepare_cached(
            "INSERT INTO series VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) \
             ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, \
             succeeded = succeeded + excluded.succeeded, refused = refused + excluded.refused, \
             failed = failed + excluded.failed, units = units + excluded.units, \
             times = excluded.times",
        )?
        .execute(params![
            step, start, endpoint, requests, succeeded, refused, failed, units, times
        ])?;
    Ok(())
}

fn add_of_key(
    change: &Transaction<'_>,
    (step, start): (SeriesStep, i64),
    (key, endpoint): (i64, &str),
    mut figures: SeriesFigures,
) -> rusqlite::Result<()> {
    let step = step.minutes();
    let stored = change
        .prepare_cached(
            "SELECT times FROM key_series \
             WHERE step = ?1 AND start = ?2 AND key = ?3 AND endpoint = ?4",
        )?
        .query_row(params![step, start, key, endpoint], |row| row.get(0))
        .optional()?;
    merge_times(&mut figures.times, stored);
    let [requests, succeeded, refused, failed, units] = numbers(&figures);
    let times = figures.times.to_bytes();
    change
        .prepare_cached(
            "INSERT INTO key_series VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
             ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, \
             succeeded = succeeded + excluded.succeeded, refused = refused + excluded.refused, \
             failed = failed + excluded.failed, units = units + excluded.units, \
             times = excluded.times",
        )?
        .execute(params![
            step, start, key, endpoint, requests, succeeded, refused, failed, units, times
        ])?;
    Ok(())
}

/// Adds the times of the row that is stored. Damaged ones are left behind, so that counting goes on.
fn merge_times(times: &mut TimeHistogram, stored: Option<Vec<u8>>) {
    let stored = stored.and_then(|bytes| TimeHistogram::from_bytes(&bytes));
    times.merge(&stored.unwrap_or_default());
}

fn numbers(figures: &SeriesFigures) -> [Number; 5] {
    [
        figures.requests,
        figures.succeeded,
        figures.refused,
        figures.failed,
        figures.units,
    ]
    .map(Number)
}

fn remove(change: &Transaction<'_>, step: SeriesStep, now: i64) -> rusqlite::Result<()> {
    for (table, columns, is_of_key) in [
        ("series", "step, start, endpoint", false),
        ("key_series", "step, start, key, endpoint", true),
    ] {
        let oldest = step.start_of(now - step.days_kept(is_of_key) * SeriesStep::Day.minutes());
        let sql = format!(
            "DELETE FROM {table} WHERE ({columns}) IN (SELECT {columns} FROM {table} \
             WHERE step = ?1 AND start < ?2 LIMIT {REMOVED_MAX})"
        );
        let mut remove = change.prepare_cached(&sql)?;
        remove.execute(params![step.minutes(), oldest])?;
    }
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<SeriesLine> {
    let times: Vec<u8> = row.get(7)?;
    let times = TimeHistogram::from_bytes(&times).ok_or_else(|| {
        let cause = "the times of a series are damaged";
        rusqlite::Error::FromSqlConversionFailure(7, Type::Blob, cause.into())
    })?;
    Ok(SeriesLine {
        start: row.get(0)?,
        endpoint: row.get(1)?,
        figures: SeriesFigures {
            requests: number(row, 2)?,
            succeeded: number(row, 3)?,
            refused: number(row, 4)?,
            failed: number(row, 5)?,
            units: number(row, 6)?,
            times,
        },
    })
}

#[cfg(test)]
mod tests;
