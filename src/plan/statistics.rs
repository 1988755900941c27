//! The statistics of a segment that the planner uses.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::estimate::Estimate;
use crate::Result;
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

/// A facet of companies with the source of each requested value.
pub(crate) type CompanyFacet = (Facet, SmallVec<[Source; 4]>);

/// The columns that ranges are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeColumn {
    /// Dates of signals.
    Date,
    /// Amounts of funding.
    Amount,
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

/// The words of titles that begin with a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrefixWords {
    /// The number of words.
    pub(crate) count: usize,
    /// The sources of words with many rows.
    pub(crate) sources: Vec<SourceStatistics>,
    /// The rows of the other words, in any order, some more than once.
    pub(crate) rows: Vec<u32>,
}

/// The stored rows of two neighbouring words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    /// The rows are stored.
    Stored(SourceStatistics),
    /// There are no rows.
    Absent,
    /// Unknown: only pairs of frequent words are stored.
    NotKept,
}

/// Statistics of a segment, available without visiting rows. Each fails if a part of the segment that it reads is
/// damaged.
pub(crate) trait Statistics {
    /// The number of rows.
    fn row_count(&self) -> u64;

    /// The statistics of a term, if it occurs in a text field.
    fn term(&self, field: TextField, term: &str) -> Result<Option<TermStatistics>>;

    /// The words of titles that begin with a prefix, with the rows of those that have at most `listed_rows_max`.
    fn title_prefix(&self, prefix: &str, listed_rows_max: u64) -> Result<PrefixWords>;

    /// The rows with two neighbouring words in their titles.
    fn title_pair(&self, first: &TermStatistics, second: &TermStatistics) -> Result<Pair>;

    /// The values of a facet with a key; several if labels differ in spelling.
    fn facet_values(
        &self,
        facet: Facet,
        key: &str,
    ) -> Result<impl Iterator<Item = SourceStatistics>>;

    /// The company with a slug.
    fn company(&self, slug: &str) -> Result<Option<SourceStatistics>>;

    /// The distinct companies that are meant by their slug or their name.
    fn companies(&self, references: &[CompanyReference]) -> Result<Vec<SourceStatistics>>;

    /// The rows of the companies that have a value of each facet. `None` if there are more than `max` rows.
    fn rows_of_companies(&self, facets: &[CompanyFacet], max: usize) -> Result<Option<Vec<u32>>>;

    /// The rows of ids, ascending.
    fn rows_of_ids(&self, ids: &[SignalId]) -> Result<Vec<u32>>;

    /// The codes of days; `None` if the segment has none of these days.
    fn day_codes(&self, days: &RangeInclusive<i32>) -> Result<Option<CodeRange>>;

    /// The codes of amounts; `None` if the segment has none of these amounts.
    fn amount_codes(&self, min: Option<f64>, max: Option<f64>) -> Result<Option<CodeRange>>;

    /// The estimated number of rows with these codes.
    fn rows_in_ranges(&self, column: RangeColumn, codes: &[CodeRange]) -> Result<Estimate>;
}
