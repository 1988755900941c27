//! Questions for companies over shards: each is in one shard with all of its signals, so pages are merged by key, and counts
//! added.

use std::fmt;

use axum::body::Bytes;
use time::Date;

use signaldex::query::{CompanyKey, CompanyOrder, CompanyQuery};

/// A question for companies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CompaniesQuestion {
    pub(super) kind: CompaniesKind,
    pub(super) query: CompanyQuery,
    pub(super) today: Date,
}

/// What is asked about the companies that fulfil a query's filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompaniesKind {
    /// The first `limit` of them, rendered as long as a page has room for them.
    Items,
    /// The keys of the first `limit`.
    Keys,
    Count,
    /// Counts by the query's facets.
    Facets,
}

/// A company of a page: its key, and its rendered JSON.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CompanyRow {
    pub(super) key: CompanyKey,
    pub(super) bytes: Bytes,
}

impl CompaniesQuestion {
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(self.kind, CompaniesKind::Items | CompaniesKind::Keys)
    }

    /// A description of how answers are merged.
    pub(super) fn merging(&self) -> String {
        let by = match (self.kind, self.query.order()) {
            (CompaniesKind::Count, _) => return "sum".to_owned(),
            (CompaniesKind::Facets, _) => return "sum by value".to_owned(),
            (_, CompanyOrder::Slug) => "slug",
            (_, CompanyOrder::MostMatches) => "number of matches, descending, and slug",
            (_, CompanyOrder::LatestMatch) => "latest date, descending, and slug",
        };
        format!("merge by {by}, first {}", self.query.limit())
    }

    /// The first rows of several sorted runs.
    pub(super) fn first_rows(&self, mut rows: Vec<CompanyRow>) -> Vec<CompanyRow> {
        // A stable sort merges runs.
        rows.sort_by(|a, b| a.key.compare(&b.key));
        rows.truncate(self.query.limit());
        rows
    }
}

impl fmt::Display for CompaniesQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (filter, limit) = (self.query.filter(), self.query.limit());
        match self.kind {
            CompaniesKind::Items | CompaniesKind::Keys => {
                write!(f, "companies, filter=[{filter}], limit={limit}")
            }
            CompaniesKind::Count => write!(f, "count of companies, filter=[{filter}]"),
            CompaniesKind::Facets => write!(f, "facets of companies, filter=[{filter}]"),
        }
    }
}

impl CompanyRow {
    pub(super) fn of_key(key: CompanyKey) -> CompanyRow {
        CompanyRow {
            key,
            bytes: Bytes::new(),
        }
    }
}
