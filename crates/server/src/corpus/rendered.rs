//! What a corpus answers with, rendered but not charged yet.

use time::Date;

use signaldex::json::{CompaniesAnswer, Rendering, SearchAnswer};
use signaldex::query::{CompanyCursor, CompanyKey, CompanyQuery, Cursor, SortKey};
use signaldex::{Filter, Query, SignalId};

use super::FeedPosition;

/// A page of results.
#[derive(Clone)]
pub struct RenderedPage {
    /// The sort keys of the signals, in the order of the page.
    pub keys: Vec<SortKey>,
    /// One item for each key.
    pub answer: SearchAnswer,
    /// Where the next page starts, unless this is the last one.
    pub next_cursor: Option<Cursor>,
    /// Whether the page has fewer signals than it would, because they are large.
    pub ends_early: bool,
    /// How many rows were looked at one by one, for the log of slow queries.
    pub rows_checked: u64,
}

impl RenderedPage {
    /// Keeps the first signals. The cursor then follows the last of them.
    pub fn truncate(&mut self, length: usize, query: &Query, today: Date) {
        self.keys.truncate(length);
        self.answer.truncate(length);
        if let Some(&last) = self.keys.last() {
            self.next_cursor = Some(query.cursor_after(last, today));
        }
    }

    /// Ends a page early whose answer has no room for all of its signals.
    pub fn ended(mut self, query: &Query, today: Date) -> RenderedPage {
        if self.answer.len() < self.keys.len() {
            self.ends_early = true;
            self.truncate(self.answer.len(), query, today);
        }
        self
    }
}

/// A page of companies.
#[derive(Clone)]
pub struct RenderedCompanies {
    /// The keys of the companies, in the order of the page.
    pub keys: Vec<CompanyKey>,
    /// One item for each key.
    pub answer: CompaniesAnswer,
    /// Where the next page starts, unless this is the last one.
    pub next_cursor: Option<CompanyCursor>,
    /// Whether the page has fewer companies than it would, because they are large.
    pub ends_early: bool,
}

impl RenderedCompanies {
    /// Keeps the first companies. The cursor then follows the last of them.
    pub fn truncate(&mut self, length: usize, query: &CompanyQuery, today: Date) {
        self.keys.truncate(length);
        self.answer.truncate(length);
        if let Some(last) = self.keys.last() {
            self.next_cursor = Some(query.cursor_after_key(last.clone(), today));
        }
    }

    /// Ends a page early whose answer has no room for all of its companies.
    pub fn ended(mut self, query: &CompanyQuery, today: Date) -> RenderedCompanies {
        if self.answer.len() < self.keys.len() {
            self.ends_early = true;
            self.truncate(self.answer.len(), query, today);
        }
        self
    }
}

/// A request for changes.
#[derive(Clone, Debug)]
pub struct ChangesRequest {
    /// Which signals are reported.
    pub filter: Filter,
    /// The maximum number of changes in the answer.
    pub limit: usize,
    /// Without a position, the answer is just the current one.
    pub since: Option<FeedPosition>,
    /// The maximum number of signals in the answer.
    pub upserts_max: usize,
    /// How much of each signal is written.
    pub rendering: Rendering,
}

/// A page of changes.
#[derive(Debug)]
pub struct RenderedChanges {
    /// The complete response body.
    pub body: Vec<u8>,
    /// The number of signals in it.
    pub upserts: u64,
}

/// A request for the matches of a saved search.
#[derive(Clone, Debug)]
pub struct MatchesRequest {
    /// The id of the search, from which the ids of its matches derive.
    pub search: String,
    /// What it searches for.
    pub filter: Filter,
    /// Where the matches begin.
    pub since: FeedPosition,
    /// The maximum number of matches and removed signals.
    pub limit: usize,
    /// The maximum number of matches.
    pub matches_max: usize,
    /// The maximum number of bytes of more than one match.
    pub bytes_max: usize,
    /// Whether signals that are not new are left out.
    pub only_new: bool,
    /// Whether signals that have left the search are named.
    pub removals: bool,
    /// How much of each signal is written.
    pub rendering: Rendering,
}

/// A page of the matches of a saved search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedMatches {
    /// The matches, in the order of the feed of changes.
    pub matches: Vec<RenderedMatch>,
    /// The ids of signals that have left the search.
    pub removed: Vec<SignalId>,
    /// The position after them.
    pub next: FeedPosition,
    /// Whether there are more.
    pub more: bool,
}

/// A match of a saved search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedMatch {
    /// Its id, which derives from the search, the signal and the commit of the change.
    pub id: String,
    /// The signal.
    pub signal: SignalId,
    /// The match as JSON: `{"id","isNew","signal"}`.
    pub json: Vec<u8>,
}

/// Which of some saved searches something after a position concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConcernedSearches {
    /// The indices of those that an added or changed signal matches, ascending.
    pub matched: Vec<usize>,
    /// Whether a signal that a reader may hold was changed or deleted, which concerns every search that is told removals.
    pub removals: bool,
}
