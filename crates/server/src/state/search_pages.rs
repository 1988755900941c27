//! Pages of the saved searches in the state file, newest first, and those whose webhooks have stopped.

use rusqlite::named_params;

use super::search_store::{read, select};
use super::{State, StateError};
use crate::saved_searches::SearchRecord;
use crate::webhooks::SearchStatus;

/// Which saved searches a page shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchesWanted<'a> {
    /// The id of their key; all keys if it is empty.
    pub(crate) key: &'a str,
    pub(crate) status: Option<SearchStatus>,
    /// A part of the name, the query, the id or the URL, in any case; every search has the empty text.
    pub(crate) find: &'a str,
    /// Only searches older than the one of this id; all if there is none.
    pub(crate) before: &'a str,
    pub(crate) rows: u64,
}

/// The status of a search as [`read`] derives it.
const STATUS: &str = "CASE WHEN webhooks.status = 'paused' THEN 'paused' \
    WHEN keys.revoked_at IS NOT NULL OR keys.expires_at <= :now THEN 'key_ended' \
    WHEN webhooks.status IS NULL OR webhooks.status = 'key_ended' THEN 'active' ELSE webhooks.status END";

impl State {
    /// A page of saved searches, newest first.
    ///
    /// Cost: the rows of the page, or one pass over the searches where few are wanted.
    pub(crate) fn search_page(
        &self,
        wanted: &SearchesWanted<'_>,
    ) -> Result<Vec<SearchRecord>, StateError> {
        // A condition that need not hold would keep SQLite from the index of a key's searches.
        let of_key = match wanted.key {
            "" => ":key = ''",
            _ => "saved_searches.key = (SELECT number FROM keys WHERE id = :key)",
        };
        let condition = format!(
            "{of_key} AND saved_searches.number < \
             coalesce((SELECT number FROM saved_searches WHERE id = :before), 9223372036854775807) \
             AND (:status IS NULL OR :status = {STATUS}) \
             AND (:find = '' OR has_text(:find, saved_searches.name, query, saved_searches.id, webhooks.url)) \
             ORDER BY saved_searches.number DESC LIMIT :rows"
        );
        let (now, find) = (self.now(), wanted.find.to_lowercase());
        self.with(|connection| {
            let mut statement = connection.prepare_cached(&select(&condition))?;
            let known = named_params! {
                ":key": wanted.key, ":before": wanted.before, ":find": find,
                ":status": wanted.status.map(SearchStatus::as_str), ":now": now.unix_timestamp(),
                ":rows": i64::try_from(wanted.rows).unwrap_or(i64::MAX)
            };
            let searches = statement.query_map(known, |row| read(row, now))?;
            Ok(searches.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The number of saved searches of a key, or of all if its id is empty.
    pub(crate) fn search_count(&self, key: &str) -> Result<u64, StateError> {
        let sql = match key {
            "" => "SELECT count(*) FROM saved_searches WHERE ?1 = ''",
            _ => {
                "SELECT count(*) FROM saved_searches WHERE key = (SELECT number FROM keys WHERE id = ?1)"
            }
        };
        self.with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([key], |row| super::number::number(row, 0))?)
        })
    }

    /// The number of webhooks that do not go on by themselves: those that are disabled, and those that are expired.
    ///
    /// Cost: an index look-up of these.
    pub(crate) fn stopped_webhooks(&self) -> Result<[(SearchStatus, u64); 2], StateError> {
        // As in the condition of the index.
        let sql =
            "SELECT count(*) FROM webhooks WHERE status IN ('disabled', 'expired') AND status = ?1";
        self.with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut counts = [(SearchStatus::Disabled, 0), (SearchStatus::Expired, 0)];
            for (status, count) in &mut counts {
                *count =
                    statement.query_row([status.as_str()], |row| super::number::number(row, 0))?;
            }
            Ok(counts)
        })
    }
}

#[cfg(test)]
mod tests;
