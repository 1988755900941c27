//! How rows in any order are looked up in required sets: in a posting, or by the code of a facet or a company, which is one
//! read.

use smallvec::SmallVec;

use super::execution::Execution;
use super::observer::Observer;
use super::operand::Operand;
use crate::Result;
use crate::encoding::column::Column;
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::posting::{BlockRows, Posting};
use crate::encoding::row::Row;
use crate::kernels::block::block_count;
use crate::kernels::retain::retain_where;
use crate::plan::{Clause, Plan, Source, Step};
use crate::query::Facet;
use crate::segment::Segment;

/// Nanoseconds of looking up a row in a bitset, of reading a code, and of searching a stored set (`benches/questions`,
/// pages).
const BITS_COST: f64 = 1.2;
const CODE_COST: f64 = 1.6;
const SEARCH_COST: f64 = 4.0;

/// How a row is looked up in a required set.
pub(super) struct RowTest<'a> {
    /// The index of the set.
    set: usize,
    /// The expected share of rows that pass, among those that are looked up.
    share: f64,
    look_up: LookUp<'a>,
}

/// The sets of a posting's blocks.
type Blocks<'a> = Vec<BlockRows<'a>>;

/// Where a row is looked up.
enum LookUp<'a> {
    /// In this number of stored sets.
    Set(usize),
    /// In the set of its block of any of these postings. Of many rows, finding the set of each takes longer than the
    /// look-up.
    Blocks(SmallVec<[Blocks<'a>; 1]>),
    /// By its code, which is one read, where a posting is searched.
    Codes(FacetColumn<'a>, SmallVec<[u32; 4]>),
    /// By the code of its company; these ascend.
    Companies(Column<'a>, SmallVec<[u32; 4]>),
}

impl<'a> RowTest<'a> {
    /// The tests for the required sets of an execution, in the order in which rows are looked up: by codes and bitsets
    /// first, because one read takes less than a search, and first where the fewest are expected to pass. With
    /// `with_value`, many rows are looked up, which are among this number with an amount.
    ///
    /// # Errors
    /// The column of a facet or of companies is damaged.
    pub(super) fn of_all<O: Observer>(
        execution: &Execution<'a, O>,
        plan: &Plan<'_>,
        with_value: Option<u64>,
    ) -> Result<SmallVec<[RowTest<'a>; 4]>> {
        let (segment, steps) = (execution.segment(), execution.steps());
        let mut tests: SmallVec<[RowTest<'a>; 4]> = SmallVec::new();
        for (set, operand) in execution.required.iter().enumerate() {
            // Rows that are not deleted lead without a step of the plan.
            let step = plan.required.get(steps[set]);
            let by_code = step.map(|step| LookUp::of(segment, step)).transpose()?;
            let in_blocks = || with_value.and_then(|_| LookUp::in_blocks(segment, operand));
            // A code is one read for any number of values, and a bitset one for each.
            let look_up = match by_code {
                Some(by_code @ (LookUp::Codes(..) | LookUp::Companies(..))) => by_code,
                searched => in_blocks().or(searched).unwrap_or(LookUp::Set(1)),
            };
            let share = step.map_or(1.0, |step| share_of(step, segment, with_value));
            tests.push(RowTest {
                set,
                share,
                look_up,
            });
        }
        // Titles come last, since reading one takes far longer than any look-up.
        tests.sort_by(|a, b| {
            let reads = |test: &RowTest<'_>| execution.required[test.set].reads_titles();
            let by_method = (reads(a), a.is_searched()).cmp(&(reads(b), b.is_searched()));
            by_method.then(a.share.total_cmp(&b.share))
        });
        Ok(tests)
    }

    /// The expected share of rows that pass all tests, and the expected nanoseconds of looking up a row.
    pub(super) fn expected(tests: &[RowTest<'_>]) -> (f64, f64) {
        let add = |(share, cost): (f64, f64), test: &RowTest<'_>| {
            (share * test.share, cost + share * test.look_up.cost())
        };
        tests.iter().fold((1.0, 0.0), add)
    }

    /// The index of the required set.
    pub(super) fn set(&self) -> usize {
        self.set
    }

    /// Whether a stored set is searched.
    fn is_searched(&self) -> bool {
        matches!(self.look_up, LookUp::Set(_))
    }

    /// Keeps the rows that are in the set, which is given.
    pub(super) fn retain(&self, set: &Operand<'_>, rows: &mut Vec<u32>) {
        match &self.look_up {
            LookUp::Set(_) => set.retain(rows),
            LookUp::Blocks(postings) => match postings.as_slice() {
                [blocks] => retain_where(rows, |row| is_in(blocks, row)),
                // Every posting is looked up: a branch that is predicted wrongly takes longer.
                postings => retain_where(rows, |row| {
                    let in_any = |any: bool, blocks: &Blocks<'_>| any | is_in(blocks, row);
                    postings.iter().fold(false, in_any)
                }),
            },
            LookUp::Codes(column, codes) => match codes.as_slice() {
                [code] => retain_where(rows, |row| column.get(Row(row)) == *code),
                codes => retain_where(rows, |row| codes.contains(&column.get(Row(row)))),
            },
            LookUp::Companies(column, codes) => match codes.as_slice() {
                [code] => retain_where(rows, |row| column.get(Row(row)) == *code),
                codes => retain_where(rows, |row| {
                    codes.binary_search(&column.get(Row(row))).is_ok()
                }),
            },
        }
    }
}

impl<'a> LookUp<'a> {
    /// In the blocks of an operand, if it has bitsets.
    fn in_blocks(segment: &Segment, operand: &Operand<'a>) -> Option<LookUp<'a>> {
        let blocks = |posting: &Posting<'a>| {
            let blocks = 0..block_count(segment.row_count());
            let is_bits = posting.is_bits();
            is_bits.then(|| -> Blocks<'a> { blocks.map(|block| posting.block(block)).collect() })
        };
        let postings = match operand {
            Operand::One(posting) => std::slice::from_ref(posting),
            Operand::Union(postings) => postings,
            Operand::Merged(_) | Operand::AnyPhrase(_) => return None,
        };
        let all: Option<SmallVec<[Blocks<'a>; 1]>> = postings.iter().map(blocks).collect();
        all.map(LookUp::Blocks)
    }

    /// By the codes of a step, if its sources have some.
    fn of(segment: &'a Segment, step: &Step<'_>) -> Result<LookUp<'a>> {
        let searched = LookUp::Set(step.source_count().max(1));
        let Some(sources) = step.access.sources() else {
            return Ok(searched);
        };
        let company = |source: &Source| match source {
            Source::Company(company) => Some(company.code()),
            Source::Posting(_) => None,
        };
        let companies: Option<SmallVec<[u32; 4]>> = sources.iter().map(company).collect();
        if let Some(mut codes) = companies {
            codes.sort_unstable();
            return Ok(LookUp::Companies(segment.company_column()?, codes));
        }
        let Clause::Facet(facet, ..) = step.clause else {
            return Ok(searched);
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
            Some(codes) => LookUp::Codes(segment.facet_column(facet)?, codes),
            None => searched,
        })
    }

    /// The expected nanoseconds for a row.
    fn cost(&self) -> f64 {
        match self {
            LookUp::Set(sources) => SEARCH_COST * *sources as f64,
            LookUp::Blocks(postings) => BITS_COST * postings.len() as f64,
            LookUp::Codes(..) | LookUp::Companies(..) => CODE_COST,
        }
    }
}

#[inline(always)]
fn is_in(blocks: &[BlockRows<'_>], row: u32) -> bool {
    let row = Row(row);
    let rows = blocks.get(row.block() as usize);
    rows.is_some_and(|rows| rows.contains(row.offset()))
}

/// The expected share of a step's rows among all rows, or among those with an amount: nearly all rows with a currency or a
/// stage have an amount.
fn share_of(step: &Step<'_>, segment: &Segment, with_value: Option<u64>) -> f64 {
    let of = match (step.clause, with_value) {
        (Clause::Facet(Facet::FundingCurrency | Facet::FundingStage, ..), Some(rows)) => {
            rows.max(1)
        }
        // Of other values, rows with an amount are taken to have as many as all rows.
        _ => segment.row_count().max(1).into(),
    };
    (step.estimate.expected as f64 / of as f64).min(1.0)
}
