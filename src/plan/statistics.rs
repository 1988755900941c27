//! The statistics of a segment that the planner uses.

use std::ops::RangeInclusive;

use super::{CompanyFacet, Estimate, RangeColumn};
use crate::encoding::posting::PostingId;
use crate::encoding::row::CompanyNumber;
use crate::encoding::tokens::TermNumber;
use crate::query::{CompanyReference, Facet};
use crate::segment::TextField;
use crate::signal::SignalId;

/// A range of codes of an ordered column.
pub(crate) type CodeRange = RangeInclusive<u32>;

/// A stored set of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A posting.
    Posting(PostingId),
    /// The rows of a company, by its number.
    Company(CompanyNumber),
}

/// A source and the number of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceStatistics {
    pub(crate) source: Source,
    pub(crate) rows: u64,
}

/// A term's source and its number in token streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TermStatistics {
    pub(crate) source: SourceStatistics,
    pub(crate) number: TermNumber,
}

/// What a segment knows of two words next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    /// They have rows, which are stored.
    Stored(SourceStatistics),
    /// They have none.
    Absent,
    /// Nothing: only pairs of frequent words are stored.
    NotKept,
}

/// What a segment knows about itself without touching rows.
pub(crate) trait Statistics {
    /// The number of rows.
    fn row_count(&self) -> u64;

    /// The term of a text field, where it occurs.
    fn term(&self, field: TextField, term: &str) -> Option<TermStatistics>;

    /// The rows in whose titles two words stand next to each other.
    fn title_pair(&self, first: &TermStatistics, second: &TermStatistics) -> Pair;

    /// The values of a facet with a key; several where they are written differently.
    fn facet_values(&self, facet: Facet, key: &str) -> impl Iterator<Item = SourceStatistics>;

    /// The company with a slug.
    fn company(&self, slug: &str) -> Option<SourceStatistics>;

    /// The companies that are meant, by slug or by folded name, each once.
    fn companies(&self, references: &[CompanyReference]) -> Vec<SourceStatistics>;

    /// The rows of the companies that have a value of each facet; the sources are those of the values.
    /// `None` where there are more rows than `max`.
    fn rows_of_companies(&self, facets: &[CompanyFacet], max: usize) -> Option<Vec<u32>>;

    /// The rows of ids, ascending.
    fn rows_of_ids(&self, ids: &[SignalId]) -> Vec<u32>;

    /// The codes of days; `None` where no day of the segment is among them.
    fn day_codes(&self, days: &RangeInclusive<i32>) -> Option<CodeRange>;

    /// The codes of amounts; `None` where no amount of the segment is among them.
    fn amount_codes(&self, min: Option<f64>, max: Option<f64>) -> Option<CodeRange>;

    /// How many rows have one of these codes.
    fn rows_in_ranges(&self, column: RangeColumn, codes: &[CodeRange]) -> Estimate;
}
