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
/// Words that can be looked up while planning at the cost of one comparison of a title.
const WORDS_PER_COST: u64 = 2;
/// Rows whose code can be compared, or added to the count of a facet, at the cost of one comparison of a
/// title.
const ROWS_PER_COST: u64 = 32;

/// Rows that are looked up in a stored set at the cost of one comparison of a title.
const LOOK_UPS_PER_COST: u64 = 8;

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
        let sets = self.source_count() * blocks(rows) * SET_BLOCK_COST;
        let ranges = self.ranges.len() as u64 * candidates / ROWS_PER_COST;
        let phrases = self.phrases.len() as u64 * candidates;
        let steps = self.required.iter().chain(&self.excluded);
        let checked: u64 = steps.clone().map(|step| step.check_cost(candidates)).sum();
        let words: u64 = steps.map(|step| step.clause.prefixed_words()).sum();
        sets + ranges + phrases + checked + words.div_ceil(WORDS_PER_COST)
    }

    /// The cost of looking up some rows in each set, without listing those of the sets.
    pub(crate) fn look_up_cost(&self, rows: u64) -> Cost {
        if self.no_match.is_some() {
            return 0;
        }
        let ranges = of_rows(self.ranges.len() as u64 * rows);
        let sets = self.source_count() * rows / LOOK_UPS_PER_COST;
        sets + ranges + self.phrases.len() as u64 * rows
    }

    /// The number of stored sets that all steps combine.
    fn source_count(&self) -> u64 {
        let steps = self.required.iter().chain(&self.excluded);
        steps.map(|step| step.source_count() as u64).sum()
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
    /// The maximum cost of checking phrases, each for the candidates in its rarest source, and of listed rows.
    fn check_cost(&self, candidates: u64) -> Cost {
        match &self.access {
            Access::AnyPhrase(any) => {
                let rows = any.checked.iter().map(|phrase| phrase.rarest_rows);
                let checked: u64 = rows.map(|rows| rows.min(candidates)).sum();
                checked + of_rows(any.stored.rows.len() as u64)
            }
            Access::UnionWithRows(union) => of_rows(union.rows.len() as u64),
            _ => 0,
        }
    }
}

/// An upper bound of the cost of a filter over `rows` rows whose titles have `title_words` words, without planning. Most
/// filters are already cheap by this bound, except for those with prefix words, which may stand for all words.
pub(crate) fn bound(filter: &Filter, rows: u64, title_words: u64) -> Cost {
    let texts = [
        &filter.all,
        &filter.any,
        &filter.none,
        &filter.company_words,
    ];
    let (mut words, mut to_check, mut prefixes) = (0, 0, 0);
    for phrase in texts.into_iter().flatten() {
        let terms = phrase.terms().len();
        words += terms;
        // A single word has no order to check.
        to_check += u64::from(terms > 1);
        prefixes += u64::from(phrase.is_prefix());
    }
    let values: usize = filter
        .filtered_facets()
        .map(|facet| filter.value_keys(facet).len())
        .sum();
    let prefixed_words = prefixes * title_words;
    let sources = (words + values + filter.companies.len() + 1) as u64 + prefixed_words;
    let ranges = if filter.has_ranges() {
        // Dates and amounts.
        2 * rows / ROWS_PER_COST
    } else {
        0
    };
    let sets = sources * blocks(rows) * SET_BLOCK_COST;
    sets + prefixed_words.div_ceil(WORDS_PER_COST) + to_check * rows + ranges
}

/// The additional cost of counting facets.
pub(crate) fn tally_bound(rows: u64, facets: usize) -> Cost {
    rows * facets as u64 / ROWS_PER_COST
}

fn blocks(rows: u64) -> u64 {
    rows.div_ceil(u64::from(BLOCK_ROWS))
}
