//! When it is better to find companies first, and then look at their rows.

use smallvec::SmallVec;

use super::{Clause, Plan, RangeColumn, Source, Step};
use crate::encoding::posting::ARRAY_ROWS_MAX;
use crate::kernels::block::BLOCK_ROWS;
use crate::query::Facet;

/// What forming the candidates of a block takes, in the time of looking at a row of a company, some 6
/// nanoseconds (`benches/queries`, term + country + industry + size).
const BLOCK_COST: f64 = 32.0;

/// What a row of the leading set adds to that, as long as its rows are listed.
const LISTED_ROW_COST: f64 = 0.07;

/// A facet of companies, and where the rows with each value asked for are.
pub(crate) type CompanyFacet = (Facet, SmallVec<[Source; 4]>);

impl Plan<'_> {
    /// The facets of companies, the rarest first, and the most rows that companies may have for
    /// looking at each to take less than going block by block; `None` where there are not several
    /// facets, or more rows are expected. `wanted` matches are of interest among `rows`, or all.
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
        // Most filters are told apart by what blocks take at most.
        let blocks = rows.div_ceil(u64::from(BLOCK_ROWS)) as f64;
        if expected > blocks * block_cost(ARRAY_ROWS_MAX as f64) {
            return None;
        }
        let most = self.company_rows_max(rows, expected, wanted);
        if expected > most {
            return None;
        }
        let mut steps: SmallVec<[&Step<'_>; 3]> = of_companies().collect();
        steps.sort_by_key(|step| step.estimate.expected);
        let facets = steps.iter().map(|step| step.company_facet());
        Some((facets.collect(), most as usize))
    }

    /// How many rows of companies, of which `expected` match, take as long to look at as scanning
    /// the leading set or going block by block.
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
        // A page ends where it is full: the earlier, the more rows the companies have.
        let matching = self.expected_share(rows as u32) * rows as f64 / expected;
        let of_page = wanted.map(|wanted| (whole * wanted as f64 / matching).sqrt());
        of_page.map_or(whole, |of_page| of_page.min(whole))
    }
}

/// What a block takes that has `leading_rows` rows of the leading set.
fn block_cost(leading_rows: f64) -> f64 {
    BLOCK_COST + leading_rows.min(ARRAY_ROWS_MAX as f64) * LISTED_ROW_COST
}

impl Step<'_> {
    /// Whether it is a facet of companies.
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
