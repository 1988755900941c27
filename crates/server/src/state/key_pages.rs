//! Pages of the keys in the state file: filtered and sorted over all of them, and only one page read.

use rusqlite::named_params;
use time::UtcDateTime;

use super::key_store::{COLUMNS, read};
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
    /// The first page of all keys, by status.
    pub(crate) fn first(rows: u64, now: UtcDateTime) -> KeysWanted<'static> {
        KeysWanted {
            status: None,
            find: "",
            sort: "",
            is_descending: false,
            page: 1,
            rows,
            now,
        }
    }

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
                Ok((key, counts(row, COLUMNS.split(',').count())?))
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
