//! Upper bounds of the cost of plans, to detect expensive queries before they run.
//!
//! The bounds depend only on the sizes of sets, not on expected matches: a query whose words never occur
//! together matches nothing and is still expensive.

use super::estimate::Estimate;
use super::steps::{Access, Plan, Step};
use crate::kernels::block::BLOCK_ROWS;
use crate::query::Filter;

/// An amount of work, in comparisons of a title with a phrase (<!--figure:kernels.phrase-->20 to 50<!--end-->
/// nanoseconds each).
pub type Cost = u64;

/// Cost of combining one set with the candidates of a block: up to a microsecond.
const SET_BLOCK_COST: Cost = 20;
/// Rows whose code can be compared, or added to the count of a facet, at the cost of one comparison of a
/// title.
const ROWS_PER_COST: u64 = 32;

/// The cost of comparing a code of each of these rows.
pub(crate) fn of_rows(rows: u64) -> Cost {
    rows / ROWS_PER_COST
}

impl Plan<'_> {
    /// The maximum cost of visiting all matches in a segment of `rows` rows.
    pub(crate) fn cost(&self, rows: u64) -> Cost {
        if self.no_match.is_some() {
            return 0;
        }
        let candidates = self.matches_max(rows);
        let steps = self.required.iter().chain(&self.excluded);
        let sources: u64 = steps.map(|step| step.source_count() as u64).sum();
        let sets = sources * blocks(rows) * SET_BLOCK_COST;
        let ranges = self.ranges.len() as u64 * candidates / ROWS_PER_COST;
        let phrases = self.phrases.len() as u64 * candidates;
        let steps = self.required.iter().chain(&self.excluded);
        let checked: u64 = steps.map(|step| step.check_cost(candidates)).sum();
        sets + ranges + phrases + checked
    }

    /// The maximum cost of adding each match to the counts of `facets` facets.
    pub(crate) fn tally_cost(&self, rows: u64, facets: usize) -> Cost {
        if self.no_match.is_some() || self.is_everything() {
            return 0;
        }
        self.matches_max(rows) * facets as u64 / ROWS_PER_COST
    }

    /// The maximum number of matches before phrases are checked.
    fn matches_max(&self, rows: u64) -> u64 {
        let required = self.required.iter().map(|step| step.estimate);
        let ranges = self.ranges.iter().map(|step| step.estimate);
        // A match is in every required set and range, so the smallest of them bounds the number.
        let maxima = required.chain(ranges).map(|Estimate { max, .. }| max);
        maxima.min().unwrap_or(rows).min(rows)
    }
}

impl Step<'_> {
    /// The maximum cost of checking phrases, each for the candidates in its rarest source.
    fn check_cost(&self, candidates: u64) -> Cost {
        match &self.access {
            Access::AnyPhrase(any) => {
                let rows = any.checked.iter().map(|phrase| phrase.rarest_rows);
                rows.map(|rows| rows.min(candidates)).sum()
            }
            _ => 0,
        }
    }
}

/// An upper bound of the cost of a filter over `rows` rows, without planning. Most filters are already
/// cheap by this bound.
pub(crate) fn bound(filter: &Filter, rows: u64) -> Cost {
    let texts = [
        &filter.all,
        &filter.any,
        &filter.none,
        &filter.company_words,
    ];
    let phrases = || texts.into_iter().flatten();
    let words: usize = phrases().map(|phrase| phrase.terms().len()).sum();
    // A single word has no order to check.
    let to_check = phrases().filter(|phrase| phrase.terms().len() > 1).count();
    let values: usize = filter
        .filtered_facets()
        .map(|facet| filter.value_keys(facet).len())
        .sum();
    let sources = (words + values + filter.companies.len() + 1) as u64;
    let ranges = if filter.has_ranges() {
        // Dates and amounts.
        2 * rows / ROWS_PER_COST
    } else {
        0
    };
    sources * blocks(rows) * SET_BLOCK_COST + to_check as u64 * rows + ranges
}

/// The additional cost of counting facets.
pub(crate) fn tally_bound(rows: u64, facets: usize) -> Cost {
    rows * facets as u64 / ROWS_PER_COST
}

fn blocks(rows: u64) -> u64 {
    rows.div_ceil(u64::from(BLOCK_ROWS))
}
