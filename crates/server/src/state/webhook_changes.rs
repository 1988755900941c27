//! Which searches with a webhook have changed, so that a deliverer reads these alone.
//!
//! Invariants:
//! - Each change of a search with a webhook adds a row in its own transaction, with the next number.
//! - The newest [`KEPT`] rows are kept, so the last number never decreases. A deliverer that is further behind reads all searches.

use rusqlite::{Connection, Row, params};

use super::{State, StateError, search_store};
use signaldex::Filter;

/// Rows that are kept: as in the trigger `webhook_changes_kept`.
const KEPT: i64 = 10_000;
/// Rows of a page of changes or of searches.
const PAGE_ROWS: i64 = 1_000;

/// The changes after ?1, and each search as it is now; null without a webhook.
const CHANGED: &str = "SELECT webhook_changes.number, webhook_changes.search, query, removals \
    FROM webhook_changes LEFT JOIN webhooks USING (search) \
    LEFT JOIN saved_searches ON saved_searches.number = webhooks.search \
    WHERE webhook_changes.number > ?1 ORDER BY webhook_changes.number LIMIT ?2";
/// The searches with a webhook after the number ?1.
const WATCHED: &str = "SELECT 0, search, query, removals \
    FROM webhooks JOIN saved_searches ON number = search WHERE search > ?1 ORDER BY search LIMIT ?2";

/// A search that a commit may match.
#[derive(Debug)]
pub(crate) struct WatchedSearch {
    pub(crate) filter: Filter,
    pub(crate) removals: bool,
}

/// The number of a search, and what it is now: `None` if it was deleted or has no webhook.
pub(crate) type ChangedSearch = (i64, Option<WatchedSearch>);

impl State {
    /// The number of the last change of a search with a webhook; 0 before the first.
    pub(crate) fn webhook_changes(&self) -> Result<i64, StateError> {
        self.with(|connection| Ok(last_change(connection)?))
    }

    /// The next searches that have changed after a change, and the number of the last change that these are of. `None` if
    /// changes between are no longer kept.
    ///
    /// Cost: a look-up for each change, of at most 1,000.
    pub(crate) fn changed_searches(
        &self,
        since: i64,
    ) -> Result<Option<(i64, Vec<ChangedSearch>)>, StateError> {
        self.with(|connection| {
            let reading = connection.unchecked_transaction()?;
            let last = last_change(&reading)?;
            // A state that was restored may be before it.
            if last < since || last - since > KEPT {
                return Ok(None);
            }
            let mut statement = reading.prepare_cached(CHANGED)?;
            let mut rows = statement.query(params![since, PAGE_ROWS])?;
            let (mut last, mut changed) = (since, Vec::new());
            while let Some(row) = rows.next()? {
                last = row.get(0)?;
                changed.push(read(row)?);
            }
            Ok(Some((last, changed)))
        })
    }

    /// The next 1,000 searches with a webhook after a number of a search, ascending.
    pub(crate) fn watched_searches(&self, after: i64) -> Result<Vec<ChangedSearch>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(WATCHED)?;
            let searches = statement.query_map(params![after, PAGE_ROWS], read)?;
            Ok(searches.collect::<rusqlite::Result<_>>()?)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ChangedSearch> {
    let removals: Option<bool> = row.get(3)?;
    let search = removals.map(|removals| {
        let filter = search_store::parsed(row, 2)?;
        Ok::<_, rusqlite::Error>(WatchedSearch { filter, removals })
    });
    Ok((row.get(1)?, search.transpose()?))
}

/// The number of the last change; 0 before the first.
pub(super) fn last_change(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT coalesce(max(number), 0) FROM webhook_changes";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests;
