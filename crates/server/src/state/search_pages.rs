//! Pages of the saved searches in the state file, newest first, and those whose webhooks have stopped.

use rusqlite::{Row, named_params};

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
    pub(crate) rows: usize,
}

/// A page of saved searches.
#[derive(Debug, Default)]
pub(crate) struct FoundSearches {
    pub(crate) searches: Vec<SearchRecord>,
    /// The id of the last search that was looked at, after which the next page goes on.
    pub(crate) last: String,
    /// Whether there are searches after the last.
    pub(crate) are_more: bool,
}

/// Bytes of texts that a page looks through. Beyond them it ends early, so that 100,000 long queries do not hold it up.
const TEXT_BYTES_MAX: usize = 48 << 20;
/// The texts that are looked through: the id, the name, the query and the URL.
const TEXTS: usize = 4;

/// The status of a search as [`read`] derives it.
const STATUS: &str = "CASE WHEN webhooks.status = 'paused' THEN 'paused' \
    WHEN (SELECT revoked_at IS NOT NULL OR expires_at <= :now FROM keys WHERE number = saved_searches.key) THEN 'key_ended' \
    WHEN webhooks.status IS NULL OR webhooks.status = 'key_ended' THEN 'active' ELSE webhooks.status END";

/// Looks for a text in those of searches.
struct TextFinder {
    /// In lower case; every search has the empty text.
    find: String,
    /// A text in lower case.
    lowered: String,
    /// How many bytes may still be looked through.
    bytes_left: usize,
}

impl TextFinder {
    /// Whether one of the texts of a row after its first column has the text as a part, in any case.
    fn is_in(&mut self, row: &Row<'_>) -> rusqlite::Result<bool> {
        for column in 1..=TEXTS {
            let text = row.get_ref(column)?.as_str_or_null()?.unwrap_or_default();
            self.bytes_left = self.bytes_left.saturating_sub(text.len());
            if self.find.is_empty() || self.is_part_of(text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_part_of(&mut self, text: &str) -> bool {
        if !text.is_ascii() {
            return text.to_lowercase().contains(&self.find);
        }
        // Most texts are, and one buffer serves them all.
        self.lowered.clear();
        self.lowered.push_str(text);
        self.lowered.make_ascii_lowercase();
        self.lowered.contains(&self.find)
    }
}

impl State {
    /// A page of saved searches, newest first.
    ///
    /// Cost: the rows of the page, and, where few have the text or the status, one pass over the searches: at most
    /// 48 MiB of their texts.
    pub(crate) fn search_page(
        &self,
        wanted: &SearchesWanted<'_>,
    ) -> Result<FoundSearches, StateError> {
        self.search_page_within(wanted, TEXT_BYTES_MAX)
    }

    fn search_page_within(
        &self,
        wanted: &SearchesWanted<'_>,
        bytes_max: usize,
    ) -> Result<FoundSearches, StateError> {
        // A condition that need not hold would keep SQLite from the index of a key's searches.
        let of_key = match wanted.key {
            "" => ":key = ''",
            _ => "saved_searches.key = (SELECT number FROM keys WHERE id = :key)",
        };
        // Whole rows of searches that are not wanted would take most of the time.
        let sql = format!(
            "SELECT saved_searches.number, saved_searches.id, name, query, url \
             FROM saved_searches LEFT JOIN webhooks ON search = saved_searches.number WHERE {of_key} \
             AND saved_searches.number < \
             coalesce((SELECT number FROM saved_searches WHERE id = :before), 9223372036854775807) \
             AND (:status IS NULL OR :status = {STATUS}) ORDER BY saved_searches.number DESC"
        );
        let now = self.now();
        let mut finder = TextFinder {
            find: wanted.find.to_lowercase(),
            lowered: String::new(),
            bytes_left: bytes_max,
        };
        self.with(|connection| {
            let reading = connection.unchecked_transaction()?;
            let mut statement = reading.prepare_cached(&sql)?;
            let mut one = reading.prepare_cached(&select("saved_searches.number = ?1"))?;
            let known = named_params! {
                ":key": wanted.key, ":before": wanted.before,
                ":status": wanted.status.map(SearchStatus::as_str), ":now": now.unix_timestamp()
            };
            let mut page = FoundSearches::default();
            let mut rows = statement.query(known)?;
            // Invariant: `page` has the wanted ones of the searches that were looked at.
            while let Some(row) = rows.next()? {
                page.are_more = page.searches.len() == wanted.rows || finder.bytes_left == 0;
                if page.are_more {
                    break;
                }
                if finder.is_in(row)? {
                    let number = [row.get::<_, i64>(0)?];
                    page.searches
                        .push(one.query_row(number, |row| read(row, now))?);
                }
                page.last = row.get(1)?;
            }
            Ok(page)
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
