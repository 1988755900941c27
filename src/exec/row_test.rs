//! How rows in any order are looked up in required sets: in a posting, or by the code of a facet or a company, which is one
//! read.

use smallvec::SmallVec;

use crate::Result;
use crate::encoding::column::Column;
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::row::Row;
use crate::kernels::retain::retain_where;
use crate::plan::{Clause, Plan, Source, Step};
use crate::segment::Segment;

/// How a row is looked up in a required set.
pub(super) enum RowTest<'a> {
    /// In the set.
    Set,
    /// By its code, which is one read, where a posting is searched.
    Codes(FacetColumn<'a>, SmallVec<[u32; 4]>),
    /// By the code of its company; these ascend.
    Companies(Column<'a>, SmallVec<[u32; 4]>),
}

impl<'a> RowTest<'a> {
    /// The tests for the required sets of an execution, given the step of each.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn of_all(
        segment: &'a Segment,
        plan: &Plan<'_>,
        steps: &[usize],
    ) -> Result<SmallVec<[RowTest<'a>; 4]>> {
        // Rows that are not deleted lead without a step of the plan.
        let test = |&step| match plan.required.get(step) {
            Some(step) => RowTest::of(segment, step),
            None => Ok(RowTest::Set),
        };
        steps.iter().map(test).collect()
    }

    /// The test for a step.
    ///
    /// # Errors
    /// The column of a facet or of companies is damaged.
    fn of(segment: &'a Segment, step: &Step<'_>) -> Result<RowTest<'a>> {
        let Some(sources) = step.access.sources() else {
            return Ok(RowTest::Set);
        };
        let company = |source: &Source| match source {
            Source::Company(company) => Some(company.code()),
            Source::Posting(_) => None,
        };
        let companies: Option<SmallVec<[u32; 4]>> = sources.iter().map(company).collect();
        if let Some(mut codes) = companies {
            codes.sort_unstable();
            return Ok(RowTest::Companies(segment.company_column()?, codes));
        }
        let Clause::Facet(facet, ..) = step.clause else {
            return Ok(RowTest::Set);
        };
        let view = segment.facet(facet);
        let code = |source: &Source| match source {
            // Another posting than those of the facet wraps, or is past the last value.
            Source::Posting(id) => {
                let value = id.0.wrapping_sub(view.posting(0).0);
                ((value as usize) < view.len()).then(|| value + 1)
            }
            Source::Company(_) => None,
        };
        let codes: Option<SmallVec<[u32; 4]>> = sources.iter().map(code).collect();
        Ok(match codes {
            Some(codes) => RowTest::Codes(segment.facet_column(facet)?, codes),
            None => RowTest::Set,
        })
    }

    /// Whether the set has to be asked.
    pub(super) fn is_set(&self) -> bool {
        matches!(self, RowTest::Set)
    }

    /// Keeps the rows that pass, unless the set has to be asked.
    pub(super) fn retain(&self, rows: &mut Vec<u32>) {
        match self {
            RowTest::Set => {}
            RowTest::Codes(column, codes) => match codes.as_slice() {
                [code] => retain_where(rows, |row| column.get(Row(row)) == *code),
                codes => retain_where(rows, |row| codes.contains(&column.get(Row(row)))),
            },
            RowTest::Companies(column, codes) => match codes.as_slice() {
                [code] => retain_where(rows, |row| column.get(Row(row)) == *code),
                codes => retain_where(rows, |row| {
                    codes.binary_search(&column.get(Row(row))).is_ok()
                }),
            },
        }
    }
}
