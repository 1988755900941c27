//! Pages of the keys in the state file: filtered and sorted over all of them, and only one page read.

use rusqlite::{Connection, ToSql, named_params, params};
use time::UtcDateTime;

use super::key_store::{COLUMN_COUNT, COLUMNS, read};
use super::number::{counts, number};
use super::{State, StateError};
use crate::keys::{KeyHash, KeyRecord, KeyStatus};
use crate::metering::{Counter, Counts, Month};

#[cfg(test)]
mod tests;

/// Which keys a page shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeysWanted<'a> {
    pub(crate) status: Option<KeyStatus>,
    /// A part of the name, the id or the hint, in any case; every key has the empty text.
    pub(crate) find: &'a str,
    /// `name`, `scopes`, `rate`, `created`, `end` or the name of a [`Counter`]; else by status. Equal ones come newest
    /// first.
    pub(crate) sort: &'a str,
    /// Reverses the whole order.
    pub(crate) is_descending: bool,
    /// The page, from 1; one past the end means the last one.
    pub(crate) page: u64,
    /// Keys of a page.
    pub(crate) rows: u64,
    pub(crate) now: UtcDateTime,
}

/// A page of keys.
#[derive(Debug)]
pub(crate) struct KeyPage {
    /// The keys with their usage in the present month.
    pub(crate) keys: Vec<(KeyRecord, Counts)>,
    /// The page that this is, from 1.
    pub(crate) page: u64,
    /// Keys that are wanted, on all pages.
    pub(crate) wanted: u64,
    /// Keys of the state.
    pub(crate) all: u64,
}

/// The number of statuses of keys.
const STATUSES: usize = 3;

/// The wanted keys with their status and usage. The trial key of this process is revoked in the file alone.
const WANTED: &str = "
    WITH standing AS (
        SELECT *, CASE WHEN id = :trial THEN NULL ELSE revoked_at END AS ended_at FROM keys
    ), known AS (
        SELECT standing.*,
            CASE WHEN ended_at IS NOT NULL THEN 2 WHEN expires_at <= :now THEN 1 ELSE 0 END AS status,
            coalesce(signals, 0) AS signals, coalesce(activities, 0) AS activities,
            coalesce(companies, 0) AS companies, coalesce(free_answers, 0) AS free_answers
        FROM standing LEFT JOIN usage ON usage.key = number AND month = :month
    ), wanted AS (
        SELECT * FROM known
        WHERE (:status IS NULL OR status = :status)
        AND (:find = '' OR has_text(:find, name, id, hint))
    )";

impl KeysWanted<'_> {
    /// Whether the keys are ordered by status, as they are by default.
    fn is_by_status(&self) -> bool {
        self.terms() == ["status"]
    }

    /// What the keys are ordered by.
    fn terms(&self) -> &'static [&'static str] {
        let mut counters = Counter::ALL.into_iter();
        match self.sort {
            "name" => &["lowered(name)"],
            "scopes" => &["scopes"],
            "rate" => &["rate"],
            "created" => &["created_at"],
            // Keys without an end come last.
            "end" => &[
                "coalesce(ended_at, expires_at) IS NULL",
                "coalesce(ended_at, expires_at)",
            ],
            sort => match counters.find(|counter| counter.as_str() == sort) {
                Some(Counter::Signals) => &["signals"],
                Some(Counter::Activities) => &["activities"],
                Some(Counter::Companies) => &["companies"],
                Some(Counter::FreeAnswers) => &["free_answers"],
                None => &["status"],
            },
        }
    }

    /// The terms of `ORDER BY`.
    fn order(&self) -> String {
        let (forward, newest_first) = if self.is_descending {
            ("DESC", "ASC")
        } else {
            ("ASC", "DESC")
        };
        let by = self
            .terms()
            .iter()
            .map(|term| format!("{term} {forward}, "));
        let by: String = by.collect();
        format!("{by}number {newest_first}")
    }
}

impl State {
    /// The number of keys that are accepted at an instant.
    ///
    /// Cost: one pass over the keys.
    pub(crate) fn active_keys(&self, now: UtcDateTime) -> Result<u64, StateError> {
        let trial = self.trial_id();
        let sql = "SELECT count(*) FROM keys WHERE (revoked_at IS NULL OR id = ?1) \
                   AND (expires_at IS NULL OR expires_at > ?2)";
        self.with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let known = params![trial, now.unix_timestamp()];
            Ok(statement.query_row(known, |row| number(row, 0))?)
        })
    }

    /// The newest keys, those first that are accepted at an instant, and the number of all keys.
    ///
    /// Cost: one pass over the keys at most.
    pub(crate) fn newest_keys(
        &self,
        rows: usize,
        now: UtcDateTime,
    ) -> Result<(Vec<KeyRecord>, u64), StateError> {
        let trial = self.trial_id();
        self.with(|connection| {
            let mut keys = Vec::new();
            for wanted in ["", "NOT"] {
                let sql = format!(
                    "SELECT {COLUMNS} FROM keys WHERE {wanted} ((revoked_at IS NULL OR id IS ?1) \
                     AND (expires_at IS NULL OR expires_at > ?2)) ORDER BY number DESC LIMIT ?3"
                );
                let left = i64::try_from(rows - keys.len()).unwrap_or(i64::MAX);
                let mut statement = connection.prepare_cached(&sql)?;
                let known = params![trial, now.unix_timestamp(), left];
                let found = statement.query_map(known, |row| Ok(self.with_trial(read(row)?).1))?;
                keys.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
            }
            let count = "SELECT count(*) FROM keys";
            let all = connection.query_row(count, [], |row| number(row, 0))?;
            Ok((keys, all))
        })
    }

    /// A page of keys.
    ///
    /// Cost: one pass over the keys, or two if they are sorted by a setting and only some are wanted; the memory of a
    /// page.
    pub(crate) fn key_page(&self, wanted: &KeysWanted<'_>) -> Result<KeyPage, StateError> {
        let (trial, find) = (self.trial_id(), wanted.find.to_lowercase());
        let status = wanted.status.map(|status| status as i64);
        let (month, now) = (Month::of(wanted.now).number(), wanted.now.unix_timestamp());
        self.with(|connection| {
            // All statements see the same keys.
            let reading = connection.transaction()?;
            let keys = KeyReading {
                connection: &reading,
                wanted,
                known: named_params! {
                    ":trial": trial, ":find": find, ":status": status, ":month": month, ":now": now
                },
            };
            let all = reading.query_row("SELECT count(*) FROM keys", [], |row| number(row, 0))?;
            let by_status = keys.by_status()?;
            let count = by_status.map_or(all, |counts| counts.iter().sum());
            let last = count.div_ceil(wanted.rows).max(1);
            let page = wanted.page.clamp(1, last);
            let mut rows = Vec::new();
            for number in keys.numbers(page, by_status)? {
                let (key, counts) = keys.row(number)?;
                rows.push((self.with_trial(key).1, counts));
            }
            Ok(KeyPage {
                keys: rows,
                page,
                wanted: count,
                all,
            })
        })
    }
}

/// The statements that read a page.
struct KeyReading<'a> {
    connection: &'a Connection,
    wanted: &'a KeysWanted<'a>,
    /// The parameters of [`WANTED`].
    known: &'a [(&'static str, &'a dyn ToSql)],
}

impl KeyReading<'_> {
    /// The wanted keys by status; `None` if all are wanted, in an order that needs no such counts.
    fn by_status(&self) -> rusqlite::Result<Option<[u64; STATUSES]>> {
        let is_all = self.wanted.find.is_empty() && self.wanted.status.is_none();
        if is_all && !self.wanted.is_by_status() {
            return Ok(None);
        }
        let sql = format!(
            "{WANTED} SELECT count(*) FILTER (WHERE status = 0), \
             count(*) FILTER (WHERE status = 1), count(*) FILTER (WHERE status = 2) FROM wanted"
        );
        self.connection.query_row(&sql, self.known, |row| {
            Ok(Some([number(row, 0)?, number(row, 1)?, number(row, 2)?]))
        })
    }

    /// The numbers of the keys of a page, in order. Only they are sorted: whole rows would be moved as often.
    fn numbers(&self, page: u64, by_status: Option<[u64; STATUSES]>) -> rusqlite::Result<Vec<i64>> {
        let (rows, skipped) = (self.wanted.rows, (page - 1) * self.wanted.rows);
        match by_status {
            Some(counts) if self.wanted.is_by_status() => self.walk(counts, rows, skipped),
            _ => self.select("", &self.wanted.order(), rows, skipped),
        }
    }

    /// The same by status, where each status is read in the order of the table and nothing is sorted.
    fn walk(&self, counts: [u64; STATUSES], rows: u64, skipped: u64) -> rusqlite::Result<Vec<i64>> {
        let mut statuses: Vec<(usize, u64)> = counts.into_iter().enumerate().collect();
        let mut order = "number DESC";
        if self.wanted.is_descending {
            statuses.reverse();
            order = "number ASC";
        }
        let (mut numbers, mut skipped) = (Vec::new(), skipped);
        for (status, count) in statuses {
            if skipped >= count {
                skipped -= count;
                continue;
            }
            let left = rows - numbers.len() as u64;
            let which = format!("WHERE status = {status}");
            numbers.extend(self.select(&which, order, left, skipped)?);
            skipped = 0;
        }
        Ok(numbers)
    }

    fn select(
        &self,
        which: &str,
        order: &str,
        rows: u64,
        skipped: u64,
    ) -> rusqlite::Result<Vec<i64>> {
        let sql = format!(
            "{WANTED} SELECT number FROM wanted {which} ORDER BY {order} LIMIT {rows} OFFSET {skipped}"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let numbers = statement.query_map(self.known, |row| row.get(0))?;
        numbers.collect()
    }

    /// A key with its usage.
    fn row(&self, number: i64) -> rusqlite::Result<((KeyHash, KeyRecord), Counts)> {
        let sql = format!(
            "{WANTED} SELECT {COLUMNS}, signals, activities, companies, free_answers \
             FROM known WHERE number = :number"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let known = [self.known, named_params! {":number": number}].concat();
        statement.query_row(&*known, |row| Ok((read(row)?, counts(row, COLUMN_COUNT)?)))
    }
}
