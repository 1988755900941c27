//! Questions of a coordinator to shards. The [engine](super::engine) carries them to other nodes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

use time::Date;

use super::answer::AnswerRow;
use super::companies::CompaniesQuestion;
use super::generation::SHARDS_MAX;
use signaldex::json::Rendering;
use signaldex::query::{CompanyStart, KeyFilter, Order, SortKey, Start};
use signaldex::{
    AggregateQuery, ChangeKind, Error, FacetQuery, Filter, Position, Query, Result, SignalId,
};

/// Maximum number of rows requested from a shard: all numbered pages, and one signal more.
pub(super) const ROWS_MAX: usize = 50 * 100 + 1;

/// The filter of a key, and the day that its days count from.
pub(super) type KeyScope = (Arc<KeyFilter>, Date);

/// A question to shards of one generation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) generation: u64,
    /// Each once.
    pub(super) shards: Vec<u32>,
    /// What the key sees: its filter, and the day that this counts from; `None` for everything.
    pub(super) key: Option<KeyScope>,
    /// How many rows to render at most; of the others, ids are sent.
    pub(super) rendered_max: usize,
    pub(super) wanted: Arc<ShardRequest>,
}

/// The requested result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ShardRequest {
    /// The first `limit` rows of a result, rendered or only as ids. Where rendered rows have more bytes than a page, the
    /// last ones are empty.
    Rows {
        query: Box<Query>,
        today: Date,
        rendering: Option<RowFormat>,
    },
    /// The number of matches.
    Count { filter: Box<Filter>, today: Date },
    /// The counts of facets.
    Facets { query: Box<FacetQuery>, today: Date },
    /// Figures in groups.
    Aggregates {
        query: Box<AggregateQuery>,
        today: Date,
    },
    /// Companies by their signals.
    Companies(Box<CompaniesQuestion>),
    /// The rendered detail of a signal.
    Signal(SignalId),
    /// The rendered detail of a company.
    Company(String),
    /// What the shards have of the items that a filter names, for hints.
    Hints { filter: Box<Filter>, is_empty: bool },
    /// Changes of one shard.
    Changes(Box<ChangesQuestion>),
    /// Which of some signals shards had at a position and have deleted since.
    Deleted(Box<DeletedQuestion>),
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFormat {
    /// As items of a page.
    Item(Rendering),
    /// As lines of a table.
    Csv,
}

/// A question for changes between two positions of a shard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChangesQuestion {
    pub(super) filter: Filter,
    pub(super) today: Date,
    pub(super) output: ChangesOutput,
    /// Maximum number of changes.
    pub(super) limit: usize,
    pub(super) since: Position,
    pub(super) until: Position,
    pub(super) kind: ChangeKind,
}

/// What changes are written as.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ChangesOutput {
    /// As items of the feed.
    Feed(Rendering),
    /// Signals as items of a page, each with its [origin](super::answer::ChangeOrigin); of removals that alone.
    Matches(Rendering),
    /// The indices of the saved searches that they concern, each at the first change that does; the index after the last
    /// one where a reader may have to remove a signal.
    Searches(Vec<Filter>),
}

/// A question for deleted signals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DeletedQuestion {
    pub(super) ids: Vec<SignalId>,
    /// The position of each shard.
    pub(super) since: BTreeMap<u32, Position>,
}

impl Question {
    /// What each shard is asked: of the rows of several shards, as many as one of them probably has.
    pub(super) fn of_each_shard(&self) -> Arc<ShardRequest> {
        match &*self.wanted {
            ShardRequest::Rows {
                query,
                today,
                rendering: rendering @ Some(_),
            } if self.shards.len() > 1 => {
                let limit = expected_rows(query.limit(), 1, self.shards.len());
                Arc::new(ShardRequest::Rows {
                    query: Box::new(query.part(query.start().clone(), limit)),
                    today: *today,
                    rendering: *rendering,
                })
            }
            _ => Arc::clone(&self.wanted),
        }
    }

    /// A received question, if it is within the limits.
    ///
    /// # Errors
    /// [`Corrupt`](signaldex::ErrorKind::Corrupt) otherwise.
    pub(super) fn checked(self) -> Result<Question> {
        self.check()?;
        Ok(self)
    }

    /// Checks the limits of a received question.
    fn check(&self) -> Result<()> {
        let shards = self.shards.len();
        if shards > SHARDS_MAX as usize {
            return Err(Error::corrupt(format!(
                "the question names {shards} shards; at most {SHARDS_MAX} are allowed"
            )));
        }
        let mut asked = HashSet::new();
        if let Some(shard) = self.shards.iter().find(|shard| !asked.insert(**shard)) {
            return Err(Error::corrupt(format!(
                "the question names shard {shard} twice"
            )));
        }
        match &*self.wanted {
            ShardRequest::Rows { query, .. } => check_rows(query),
            ShardRequest::Changes(wanted) => wanted.check(shards),
            ShardRequest::Deleted(wanted) => wanted.check(),
            ShardRequest::Companies(wanted) => check_companies(wanted),
            _ => Ok(()),
        }
    }
}

fn check_rows(query: &Query) -> Result<()> {
    let is_allowed =
        (1..=ROWS_MAX).contains(&query.limit()) && !matches!(query.start(), Start::Page(_));
    if is_allowed {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the question asks for {} rows from {:?}",
        query.limit(),
        query.start()
    )))
}

fn check_companies(wanted: &CompaniesQuestion) -> Result<()> {
    let (limit, start) = (wanted.query.limit(), wanted.query.start());
    let is_allowed = (1..=ROWS_MAX).contains(&limit) && !matches!(start, CompanyStart::Page(_));
    if is_allowed || !wanted.is_of_rows() {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "the question asks for {limit} companies from {start:?}"
    )))
}

impl ChangesQuestion {
    fn check(&self, shards: usize) -> Result<()> {
        let limit = self.limit;
        if (1..=ROWS_MAX).contains(&limit) && shards == 1 {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the question asks {shards} shards for {limit} changes"
        )))
    }
}

impl DeletedQuestion {
    fn check(&self) -> Result<()> {
        let (ids, shards) = (self.ids.len(), self.since.len());
        if (1..=ROWS_MAX).contains(&ids) && shards <= SHARDS_MAX as usize {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the question asks for {ids} signals by {shards} positions"
        )))
    }
}

impl ShardRequest {
    /// The question for companies, if it is one.
    pub(super) fn companies(&self) -> Option<&CompaniesQuestion> {
        match self {
            ShardRequest::Companies(wanted) => Some(wanted),
            _ => None,
        }
    }

    /// Maximum number of rows in the answer.
    pub(super) fn rows_max(&self) -> usize {
        match self {
            ShardRequest::Rows { query, .. } => query.limit(),
            ShardRequest::Companies(wanted) => wanted.query.limit(),
            // Several shards may name one signal.
            ShardRequest::Deleted(wanted) => wanted.ids.len() * wanted.since.len(),
            _ => 1,
        }
    }

    /// How rows are rendered.
    pub(super) fn row_format(&self) -> RowFormat {
        match self {
            ShardRequest::Rows {
                rendering: Some(format),
                ..
            } => *format,
            _ => RowFormat::Item(Rendering::Whole),
        }
    }

    /// The first rows of several sorted runs.
    pub(super) fn first_rows(&self, mut rows: Vec<AnswerRow>) -> Vec<AnswerRow> {
        // A stable sort merges runs.
        rows.sort_by(|a, b| self.compare(a.key(), b.key()));
        rows.truncate(self.rows_max());
        rows
    }

    /// A description of how answers are merged.
    pub(super) fn merging(&self) -> String {
        match self {
            ShardRequest::Rows { .. } => {
                let by = match self.order() {
                    Order::NewestFirst => "id, descending",
                    Order::OldestFirst => "id, ascending",
                    Order::LatestDate => "date, descending, and id",
                    Order::EarliestDate => "date, ascending, and id",
                    Order::LargestAmount => "amount, descending, and id",
                    Order::SmallestAmount => "amount, ascending, and id",
                };
                format!("merge by {by}, first {}", self.rows_max())
            }
            ShardRequest::Count { .. } => "sum".to_owned(),
            ShardRequest::Facets { .. } => "sum by value".to_owned(),
            ShardRequest::Aggregates { .. } => "sum by group".to_owned(),
            ShardRequest::Companies(wanted) => wanted.merging(),
            ShardRequest::Signal(_) | ShardRequest::Company(_) => "any".to_owned(),
            ShardRequest::Hints { .. } | ShardRequest::Deleted(_) => "union".to_owned(),
            ShardRequest::Changes(_) => "one shard".to_owned(),
        }
    }

    /// Compares the sort keys of rows. Rows without one, of which a node sends none, come first.
    pub(super) fn compare(&self, a: Option<SortKey>, b: Option<SortKey>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => self.order().compare_keys(a, b),
            _ => a.is_some().cmp(&b.is_some()),
        }
    }

    /// The order of rows.
    fn order(&self) -> Order {
        match self {
            ShardRequest::Rows { query, .. } => query.order(),
            _ => Order::default(),
        }
    }
}

impl fmt::Display for ShardRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShardRequest::Rows { query, .. } => {
                let (filter, limit) = (query.filter(), query.limit());
                write!(f, "rows, filter=[{filter}], limit={limit}")
            }
            ShardRequest::Count { filter, .. } => {
                write!(f, "count, filter=[{}]", filter)
            }
            ShardRequest::Facets { query, .. } => {
                write!(f, "facets, filter=[{}]", query.filter)
            }
            ShardRequest::Aggregates { query, .. } => write!(f, "aggregates, query=[{query}]"),
            ShardRequest::Companies(wanted) => write!(f, "{wanted}"),
            ShardRequest::Signal(id) => write!(f, "signal {id}"),
            ShardRequest::Company(_) => write!(f, "company"),
            ShardRequest::Hints { filter, .. } => {
                write!(f, "hints, filter=[{filter}]")
            }
            ShardRequest::Changes(wanted) => {
                let filter = &wanted.filter;
                write!(f, "changes, filter=[{filter}], limit={}", wanted.limit)
            }
            ShardRequest::Deleted(wanted) => {
                write!(f, "deleted, of {} signals", wanted.ids.len())
            }
        }
    }
}

/// How many of `rows` some of the shards have at most, in 99 of 100 pages: the mean of the binomial distribution and two
/// and a half standard deviations.
pub(super) fn expected_rows(rows: usize, shards: usize, all: usize) -> usize {
    let (count, share) = (rows as f64, shards as f64 / all.max(1) as f64);
    let mean = count * share;
    let deviation = (mean * (1.0 - share)).max(0.0).sqrt();
    // Not negative, and at most a few thousand.
    rows.min((mean + 2.5 * deviation).ceil() as usize)
}

#[cfg(test)]
mod tests;
