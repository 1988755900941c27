//! Walks the rows of a segment in the order of their values, and looks each up in the sets of the plan.
//!
//! The first rows of a page are then found after as many look-ups as it has matches, divided by their share. Where that
//! would take longer than to form the candidates of all blocks, the walk ends early, and blocks take the rest.

use super::execution::Execution;
use super::live::LiveSegment;
use super::observer::Observer;
use super::row_test::RowTest;
use super::value_column::ValueColumn;
use crate::encoding::row::Row;
use crate::kernels::block::block_count;
use crate::plan::{CodeRange, Plan, Step};

/// Rows that are looked up together, so that their cache misses overlap: at first as many as should have the matches.
const BATCH_ROWS: usize = 256;
const FIRST_ROWS_MIN: usize = 64;

/// Rows that may be walked in any case: looking them up takes less time than binding sets.
const ROWS_MIN: u64 = 64;

/// The walked part of the budget, one in this many rows, before it is seen as too long: what comes first by value, such as
/// the largest rounds, often has fewer matches than what follows.
const TRIED_PART: u64 = 4;

/// Nanoseconds of reading a row, of combining a block with a stored set, of a row of the leading set, and of comparing a
/// match with the last of the page (`benches/questions`, pages).
const ROW_COST: f64 = 1.2;
const BLOCK_COST: f64 = 350.0;
const LEADING_ROW_COST: f64 = 0.4;
const MATCH_COST: f64 = 1.5;

/// A walk under way.
pub(super) struct ValueWalk<'s, 'a> {
    column: ValueColumn<'s>,
    tests: &'s [RowTest<'a>],
    /// Rows that may still be walked, and those of the beginning.
    budget: u64,
    whole_budget: u64,
    /// Rows of the next batch.
    batch_rows: usize,
    /// Rows walked, and the matches among them.
    walked: u64,
    matches: u64,
    /// The rows of the codes that are walked, and those of them that are looked up together.
    batch: Vec<u32>,
    rows: Vec<u32>,
}

impl<'s, 'a> ValueWalk<'s, 'a> {
    /// A walk for `left` matches of a plan, given the test of each required set; `None` if blocks take less time.
    pub(super) fn new(
        (column, tests): (ValueColumn<'s>, &'s [RowTest<'a>]),
        (live, plan): (LiveSegment<'_>, &Plan<'_>),
        (codes, left): (&CodeRange, usize),
    ) -> Option<ValueWalk<'s, 'a>> {
        let with_value = column.listed_rows(codes)?;
        // Parts of the filter are assumed to be independent.
        let (share, cost) = RowTest::expected(tests);
        let share = share * live.live_share();
        let budget = (block_cost(plan, live) / (ROW_COST + cost)) as u64;
        let budget = budget.max(ROWS_MIN);
        // The share is a guess that words of rounds exceed by far, so a batch is tried if it is a small part.
        let expected = left as f64 / share;
        let is_hopeless = expected > budget as f64 && budget < 4 * BATCH_ROWS as u64;
        if is_hopeless && with_value > ROWS_MIN {
            return None;
        }
        Some(ValueWalk {
            column,
            tests,
            budget,
            whole_budget: budget,
            batch_rows: ((expected * 1.25) as usize).clamp(FIRST_ROWS_MIN, BATCH_ROWS),
            walked: 0,
            matches: 0,
            batch: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Adds the first matches with codes in a range to those found, up to `wanted` in all. Returns the codes that are
    /// left to evaluate.
    pub(super) fn run<O: Observer>(
        &mut self,
        execution: &mut Execution<'a, O>,
        codes: &CodeRange,
        (found, wanted): (&mut Vec<(u32, u32)>, usize),
    ) -> CodeRange {
        let mut rest = codes.clone();
        // Invariant: `found` has the first matches with codes that are not in `rest`. Each iteration shortens it.
        while found.len() < wanted && !rest.is_empty() {
            let left = wanted - found.len();
            if self.is_too_long(left) || !self.take_batch(&mut rest) {
                break;
            }
            self.look_up(execution, (found, wanted));
            self.batch_rows = BATCH_ROWS;
        }
        rest
    }

    /// Adds the first matches of a batch to those found, up to `wanted` in all.
    fn look_up<O: Observer>(
        &mut self,
        execution: &mut Execution<'a, O>,
        (found, wanted): (&mut Vec<(u32, u32)>, usize),
    ) {
        // A single value may have many rows, of which the first are enough.
        for part in self.batch.chunks(self.batch_rows) {
            let left = wanted - found.len();
            if left == 0 {
                return;
            }
            self.rows.clear();
            self.rows.extend_from_slice(part);
            execution.retain_rows(self.tests, left, &mut self.rows);
            self.walked += part.len() as u64;
            self.matches += self.rows.len() as u64;
            let rows = self.rows.iter().take(left);
            found.extend(rows.map(|&row| (self.column.code(Row(row)), row)));
        }
    }

    /// Whether the matches that are left are expected beyond the budget.
    fn is_too_long(&self, left: usize) -> bool {
        // The share of the walked rows, as products, so that nothing is divided by 0.
        let is_tried = self.walked * TRIED_PART >= self.whole_budget;
        is_tried && self.matches * self.budget < left as u64 * self.walked
    }

    /// Takes the rows of the next codes. Returns whether there are some within the budget.
    fn take_batch(&mut self, rest: &mut CodeRange) -> bool {
        self.batch.clear();
        while self.batch.len() < self.batch_rows && !rest.is_empty() {
            let code = self.column.first_code(rest);
            let rows = self.column.listed(code);
            let n = rows.len() as u64;
            if n > self.budget {
                break;
            }
            self.budget -= n;
            // Equal values come by descending row.
            self.batch.extend(rows.iter().rev());
            *rest = self.column.without(rest, &(code..=code));
        }
        !self.batch.is_empty()
    }
}

/// The expected nanoseconds of forming the candidates of all blocks and comparing their values.
fn block_cost(plan: &Plan<'_>, live: LiveSegment<'_>) -> f64 {
    let (rows, live_rows) = (live.segment.row_count(), live.live_rows());
    let leading = plan.required.first();
    let leading = leading.map_or(live_rows, |step| step.estimate.expected.min(live_rows)) as f64;
    let matches = plan.expected_share(rows) * live_rows as f64;
    let sources = plan.required.iter().map(Step::source_count).sum::<usize>();
    f64::from(block_count(rows)) * BLOCK_COST * sources as f64
        + leading * LEADING_ROW_COST
        + matches * MATCH_COST
}
