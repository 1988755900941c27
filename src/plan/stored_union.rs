//! Unions of stored sets and listed rows: the words of a prefix, most of which have few rows.

use smallvec::SmallVec;

use super::estimate::Estimate;
use super::statistics::{Source, SourceStatistics};
use super::steps::Access;
use crate::kernels::row_sort::sort_distinct;

/// A page visits one or two blocks. Searching the set of a word of a prefix in these takes less than listing its rows
/// while planning, however few they are (`benches/prefixes`).
pub(super) const LISTED_OF_A_PAGE: u64 = 0;

/// The rows of a word of a prefix are listed if there are at most this many, where its set would be searched in each
/// block (`benches/prefixes`).
pub(super) const LISTED_OF_EACH_BLOCK: u64 = 64;

/// The same of a few rows that are evaluated without a plan.
pub(super) const LISTED_WITHOUT_A_PLAN: u64 = 8;

/// Several sources, and listed rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StoredUnion {
    pub(crate) sources: Vec<Source>,
    /// Ascending.
    pub(crate) rows: Vec<u32>,
}

impl StoredUnion {
    /// The union of sources and of rows in any order, in a segment of `row_count` rows.
    pub(super) fn new(
        sources: &[SourceStatistics],
        mut rows: Vec<u32>,
        row_count: u64,
    ) -> (StoredUnion, Estimate) {
        // Rows are numbered in 32 bits, so the cast loses nothing.
        sort_distinct(&mut rows, row_count as usize);
        let of_sources = sources.iter().map(|source| source.rows);
        let estimate = Estimate::union(of_sources.chain([rows.len() as u64]), row_count);
        let sources = sources.iter().map(|source| source.source).collect();
        (StoredUnion { sources, rows }, estimate)
    }

    /// The simplest access to the rows.
    pub(super) fn into_access(self) -> Access {
        match self.sources.as_slice() {
            [] => Access::Rows(self.rows),
            &[source] if self.rows.is_empty() => Access::One(source),
            sources if self.rows.is_empty() => Access::Union(SmallVec::from_slice(sources)),
            _ => Access::UnionWithRows(Box::new(self)),
        }
    }

    /// The number of sets that the union combines.
    pub(super) fn set_count(&self) -> usize {
        self.sources.len() + usize::from(!self.rows.is_empty())
    }
}
