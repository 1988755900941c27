//! Decides whether to find matching companies first and then check their rows.

use smallvec::SmallVec;

use super::clause::Clause;
use super::statistics::{CompanyFacet, RangeColumn};
use super::steps::{Plan, Step};
use crate::encoding::posting::ARRAY_ROWS_MAX;
use crate::kernels::block::BLOCK_ROWS;

/// Cost of forming the candidates of a block, in units of checking a row of a company, about 6 nanoseconds
/// (`benches/queries`, term + country + industry + size).
const BLOCK_COST: f64 = 32.0;

/// Additional cost per row of the leading set, if its rows are listed.
const LISTED_ROW_COST: f64 = 0.07;

impl Plan<'_> {
    /// The facets of companies, rarest first, and the maximum number of company rows for which checking each is
    /// cheaper than going block by block. `None` if there are fewer than two facets or more rows are expected.
    /// `wanted` is the number of matches needed among `rows`; `None` means all.
    pub(super) fn company_facets(
        &self,
        rows: u64,
        wanted: Option<usize>,
    ) -> Option<(SmallVec<[CompanyFacet; 3]>, usize)> {
        let of_companies = || self.required.iter().filter(|step| step.is_of_companies());
        if of_companies().count() < 2 {
            return None;
        }
        let share = |step: &Step<'_>| step.estimate.expected as f64 / rows as f64;
        let expected = of_companies().map(share).product::<f64>() * rows as f64;
        // An upper bound of the cost of blocks decides most filters.
        let blocks = rows.div_ceil(u64::from(BLOCK_ROWS)) as f64;
        if expected > blocks * block_cost(ARRAY_ROWS_MAX as f64) {
            return None;
        }
        let most = self.company_rows_max(rows, expected, wanted);
        if expected > most {
            return None;
        }
        let mut steps: SmallVec<[&Step<'_>; 3]> = of_companies().collect();
        // The rarest set leads the intersection of companies.
        steps.sort_by_key(|step| step.estimate.expected);
        let facets = steps.iter().map(|step| step.company_facet());
        Some((facets.collect(), most as usize))
    }

    /// The number of company rows, of which `expected` match, whose checks cost as much as scanning the leading
    /// set or going block by block.
    fn company_rows_max(&self, rows: u64, expected: f64, wanted: Option<usize>) -> f64 {
        let estimates = self.required.iter().map(|step| step.estimate.expected);
        let leading = estimates.min().unwrap_or(rows) as f64;
        let blocks = rows.div_ceil(u64::from(BLOCK_ROWS)) as f64;
        // Most blocks are outside of a range of dates.
        let dates = self
            .ranges
            .iter()
            .filter(|step| step.column == RangeColumn::Date);
        let inside = dates.map(|step| step.estimate.min as f64 / rows as f64);
        let whole = leading.min(blocks * block_cost(leading / blocks)) * inside.product::<f64>();
        // A page ends when it is full, which is earlier if the companies have more rows.
        let matching = self.expected_share(rows as u32) * rows as f64 / expected;
        let of_page = wanted.map(|wanted| (whole * wanted as f64 / matching).sqrt());
        of_page.map_or(whole, |of_page| of_page.min(whole))
    }
}

/// The cost of a block with `leading_rows` rows of the leading set.
fn block_cost(leading_rows: f64) -> f64 {
    BLOCK_COST + leading_rows.min(ARRAY_ROWS_MAX as f64) * LISTED_ROW_COST
}

impl Step<'_> {
    /// Whether the clause is a facet of companies.
    pub(super) fn is_of_companies(&self) -> bool {
        matches!(self.clause, Clause::Facet(facet, ..) if facet.is_of_company())
    }

    fn company_facet(&self) -> CompanyFacet {
        let Clause::Facet(facet, ..) = self.clause else {
            unreachable!("only facets of companies are looked for among companies");
        };
        let sources = self.access.sources();
        let sources = sources.expect("values of facets are stored sets");
        (facet, SmallVec::from_slice(sources))
    }
}
