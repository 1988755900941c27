//! Pages of the keys in the state file: filtered and sorted over all of them, and only one page read.

use rusqlite::{named_params, params};
use time::UtcDateTime;

use super::key_store::{COLUMN_COUNT, COLUMNS, read};
use super::number::{counts, number};
use super::{State, StateError};
use crate::keys::{KeyRecord, KeyStatus};
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
        AND (:find = '' OR instr(lowered(name), :find) OR instr(lowered(id), :find)
            OR instr(lowered(coalesce(hint, '')), :find))
    )";

impl KeysWanted<'_> {
    /// The terms of `ORDER BY`.
    fn order(&self) -> String {
        let mut counters = Counter::ALL.into_iter();
        let by: &[&str] = match self.sort {
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
        };
        let (forward, newest_first) = if self.is_descending {
            ("DESC", "ASC")
        } else {
            ("ASC", "DESC")
        };
        let by = by.iter().map(|term| format!("{term} {forward}, "));
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
    /// Cost: one pass over the keys, and the memory of a page.
    pub(crate) fn key_page(&self, wanted: &KeysWanted<'_>) -> Result<KeyPage, StateError> {
        let (trial, find) = (self.trial_id(), wanted.find.to_lowercase());
        let status = wanted.status.map(|status| status as i64);
        let (month, now) = (Month::of(wanted.now).number(), wanted.now.unix_timestamp());
        self.with(|connection| {
            let known = named_params! {
                ":trial": trial, ":find": find, ":status": status, ":month": month, ":now": now
            };
            let sql = format!(
                "{WANTED} SELECT (SELECT count(*) FROM wanted), (SELECT count(*) FROM keys)"
            );
            let (count, all) =
                connection.query_row(&sql, known, |row| Ok((number(row, 0)?, number(row, 1)?)))?;
            let last = count.div_ceil(wanted.rows).max(1);
            let page = wanted.page.clamp(1, last);
            let sql = format!(
                "{WANTED} SELECT {COLUMNS}, signals, activities, companies, free_answers \
                 FROM wanted ORDER BY {} LIMIT {} OFFSET {}",
                wanted.order(),
                wanted.rows,
                (page - 1) * wanted.rows
            );
            let mut statement = connection.prepare(&sql)?;
            let keys = statement.query_map(known, |row| {
                let (_, key) = self.with_trial(read(row)?);
                Ok((key, counts(row, COLUMN_COUNT)?))
            })?;
            Ok(KeyPage {
                keys: keys.collect::<rusqlite::Result<_>>()?,
                page,
                wanted: count,
                all,
            })
        })
    }
}
