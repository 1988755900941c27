//! The first matches by value, block by block: the block with the first values first, and within a block the rows of
//! its first values.
//!
//! Every block waits with the codes that are left of it, by the first of these. Once there are enough matches, blocks
//! whose first code comes after the last of them are skipped. Signals arrive roughly in the order of their dates, so for
//! a page by date one or two blocks are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::candidate_rows::CandidateRows;
use super::code_order::CodeOrder;
use super::execution::Execution;
use super::first_keys::FirstKeys;
use super::observer::Observer;
use super::row_test::RowTest;
use super::value_column::ValueColumn;
use crate::encoding::row::Row;
use crate::kernels::bits;
use crate::kernels::block::block_count;
use crate::kernels::gallop;
use crate::kernels::retain::retain_where;
use crate::kernels::whole;
use crate::plan::CodeRange;

/// Up to this many rows of a block are looked up individually.
const FEW_ROWS_MAX: usize = 128;

/// Rows of a block that are tested before the matches are compared with the wanted ones; each time twice as many.
const FIRST_CHUNK_ROWS: usize = 64;
const CHUNK_ROWS_MAX: usize = 512;

/// From this many rows of a code on, they are looked up together: they ascend, as vectorised look-ups need.
const PROBED_MIN: usize = 32;

/// From this many rows of a block in the order of their values on, part of the block is evaluated first.
const SPLIT_MIN: usize = 512;

/// Finds the first matches with codes in a range.
pub(super) struct ValueBlocks<'e, 'a, O> {
    execution: &'e mut Execution<'a, O>,
    column: ValueColumn<'e>,
    tests: &'e [RowTest<'a>],
    first: FirstKeys,
    /// The rows of a block that are evaluated first; `None` for all.
    rows_wanted: Option<u64>,
    rows: Vec<u32>,
    /// Buffers for offsets that ascend, and for sorting.
    offsets: Vec<u16>,
    order: CodeOrder,
}

impl<'e, 'a, O: Observer> ValueBlocks<'e, 'a, O> {
    pub(super) fn new(
        execution: &'e mut Execution<'a, O>,
        (column, tests): (ValueColumn<'e>, &'e [RowTest<'a>]),
        (wanted, rows_wanted): (usize, Option<u64>),
    ) -> Self {
        ValueBlocks {
            execution,
            column,
            tests,
            first: FirstKeys::new(wanted, column.order()),
            rows_wanted,
            rows: Vec::new(),
            offsets: Vec::new(),
            order: CodeOrder::default(),
        }
    }

    /// The first matches with these codes, in order.
    pub(super) fn run(mut self, codes: &CodeRange) -> impl Iterator<Item = (u32, u32)> + use<O> {
        let (column, first) = (self.column, &mut self.first);
        let push = |row: Row| {
            let code = column.code(row);
            if codes.contains(&code) {
                first.push(code, row);
            }
        };
        // Of a long list, the rows of the first blocks are enough.
        let are_few = self.execution.leads_with_few();
        if !(are_few && self.execution.visit_listed(push)) {
            self.take_blocks(codes);
        }
        self.first.sorted()
    }

    fn take_blocks(&mut self, codes: &CodeRange) {
        let blocks = 0..block_count(self.execution.segment().row_count());
        let column = self.column;
        let part = |block| BlockPart::of_zone(column, block, column.in_block(block, codes));
        let mut waiting: BinaryHeap<BlockPart> = blocks.filter_map(part).collect();
        // Invariant: `first` has the first matches of all that is not waiting. Each iteration takes some codes of a block.
        while let Some(part) = waiting.pop() {
            let (block, codes) = (part.block, part.start..=part.end);
            if self.may_stop() && !self.first.takes(column.first_code(&codes)) {
                self.execution.counters.blocks_skipped += 1 + waiting.len() as u64;
                break;
            }
            if !part.is_exact {
                waiting.extend(BlockPart::new(column, block, codes));
            } else if self.execution.may_match(block) {
                let rest = self.take_part(block, codes);
                waiting.extend(BlockPart::of_zone(column, block, rest));
            }
        }
    }

    fn may_stop(&self) -> bool {
        self.execution.strategies.early_stop
    }

    /// Takes the matches with the first of some codes of a block. Returns the codes that are left.
    fn take_part(&mut self, block: u32, codes: CodeRange) -> CodeRange {
        let last = self.first.last_code().filter(|_| self.may_stop());
        let codes = last.map_or(codes.clone(), |last| self.column.up_to(&codes, last));
        let Some(listed) = self.column.offsets_in(block, &codes) else {
            // Without a permutation, the candidates say which codes there are.
            self.evaluate(block, &codes, None);
            return self.column.without(&codes, &codes);
        };
        let taken = self.first_codes(block, &codes, listed);
        let rest = self.column.without(&codes, &taken);
        let listed = if rest.is_empty() {
            listed
        } else {
            self.column.offsets_in(block, &taken).unwrap_or_default()
        };
        if listed.len() <= FEW_ROWS_MAX {
            self.look_up(block, listed);
        } else {
            self.evaluate(block, &taken, Some(listed));
        }
        // Fewer matches than expected were found, or another block would not be read.
        self.rows_wanted = self.rows_wanted.map(|rows| rows.saturating_mul(4));
        rest
    }

    /// The first codes of a block that have the wanted rows, or all.
    fn first_codes(&self, block: u32, codes: &CodeRange, listed: &[u16]) -> CodeRange {
        let wanted = self.rows_wanted.unwrap_or(u64::MAX);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        if listed.len() < SPLIT_MIN || listed.len() / 2 < wanted {
            return codes.clone();
        }
        let last = if self.column.order().descending {
            listed[listed.len() - wanted.max(1)]
        } else {
            listed[wanted.max(1) - 1]
        };
        self.column
            .up_to(codes, self.column.code(Row::of(block, last)))
    }

    fn look_up(&mut self, block: u32, listed: &[u16]) {
        self.rows.clear();
        let rows = listed.iter().map(|&offset| Row::of(block, offset).0);
        self.rows.extend(rows);
        self.order_rows();
        self.execution
            .retain_rows(self.tests, self.first.wanted(), &mut self.rows);
        self.push_rows();
    }

    /// Takes the matches of a block with codes in a range, given their rows in the order of codes if it is known.
    fn evaluate(&mut self, block: u32, codes: &CodeRange, listed: Option<&[u16]>) {
        if self.execution.takes_all()
            && let Some(listed) = listed
        {
            return self.walk(block, listed);
        }
        let span = self.column.span(block, codes);
        self.execution.load_in_span(block, &span);
        // Of rows whose titles are read, any may be among the first matches.
        let max = if self.execution.checks_phrases() {
            usize::MAX
        } else {
            self.first.wanted()
        };
        match (self.execution.sparse_candidates(), listed) {
            (CandidateRows::Bits { .. }, Some(listed)) => self.walk(block, listed),
            (candidates, _) => {
                let (by, rows) = ((self.column, codes), &mut self.rows);
                self.order
                    .list((block, candidates), by, (&self.first, max), rows);
                self.push_checked();
            }
        }
    }

    /// Takes matches among the candidates of a block in the order of their values, given in ascending order.
    fn walk(&mut self, block: u32, listed: &[u16]) {
        let (from_end, mut rows) = (self.column.order().descending, FIRST_CHUNK_ROWS);
        let mut rest = listed;
        // Invariant: the rows that are not in `rest` have been taken. Each iteration shortens it.
        while let Some(code) = self.first_code(block, rest) {
            if self.may_stop() && !self.first.takes(code) {
                return;
            }
            // Many rows of a code are looked up together; of few, those of several codes are.
            let of_code = self.rows_of_first(block, rest, code);
            let taken;
            (rest, taken) = split_first(rest, of_code.unwrap_or(rows.min(rest.len())), from_end);
            if of_code.is_some() {
                self.take_code(block, code, taken);
            } else {
                self.keep_candidates(block, taken);
                self.push_checked();
            }
            rows = (2 * rows).min(CHUNK_ROWS_MAX);
        }
    }

    /// The code that comes first among some rows of a block, given in ascending order.
    fn first_code(&self, block: u32, listed: &[u16]) -> Option<u32> {
        let first = if self.column.order().descending {
            listed.last()
        } else {
            listed.first()
        };
        Some(self.column.code(Row::of(block, *first?)))
    }

    /// The number of rows with the first code of a list; `None` if they are few.
    fn rows_of_first(&self, block: u32, listed: &[u16], code: u32) -> Option<usize> {
        let has_code = |&offset: &u16| self.column.code(Row::of(block, offset)) == code;
        let rows = if self.column.order().descending {
            gallop::gallop_back(listed, has_code)
        } else {
            gallop::gallop(listed, has_code)
        };
        (rows >= PROBED_MIN).then_some(rows)
    }

    /// Takes matches among the candidates with one code, given rows that have it, ascending.
    fn take_code(&mut self, block: u32, code: u32, listed: &[u16]) {
        let (mut rest, mut rows) = (listed, FIRST_CHUNK_ROWS);
        // Invariant: the rows after those in `rest` have been taken. Each iteration shortens it.
        while let Some(&last) = rest.last() {
            if self.may_stop() && !self.first.takes_row(code, Row::of(block, last)) {
                return;
            }
            let (before, chunk) = rest.split_at(rest.len().saturating_sub(rows));
            rest = before;
            rows = (2 * rows).min(CHUNK_ROWS_MAX);
            self.probe(block, chunk);
            self.push_checked();
        }
    }

    /// Lists the candidates among some rows of a code, which ascend, by descending row.
    fn probe(&mut self, block: u32, chunk: &[u16]) {
        if self.execution.takes_all() || !whole::ascend(chunk) {
            return self.keep_candidates(block, chunk);
        }
        self.execution
            .list_candidates_among(chunk, &mut self.offsets);
        let rows = self.offsets.iter().rev();
        self.rows.clear();
        self.rows
            .extend(rows.map(|&offset| Row::of(block, offset).0));
    }

    /// Lists the candidates among the rows of a chunk, in the order of their values.
    fn keep_candidates(&mut self, block: u32, chunk: &[u16]) {
        let start = Row::of(block, 0).0;
        let row = |&offset: &u16| start + u32::from(offset);
        self.rows.clear();
        self.rows.extend(chunk.iter().map(row));
        if !self.execution.takes_all()
            && let CandidateRows::Bits { first_word, words } = self.execution.candidates()
        {
            let offset = |row: u32| Row(row).offset();
            let is_candidate = |row| bits::test_within(first_word, words, offset(row));
            retain_where(&mut self.rows, is_candidate);
        }
        self.order_rows();
    }

    /// Brings rows with ascending codes, and ascending within a code, into the order of values.
    fn order_rows(&mut self) {
        if self.column.order().descending {
            return self.rows.reverse();
        }
        let column = self.column;
        let equal = |a: &u32, b: &u32| column.code(Row(*a)) == column.code(Row(*b));
        self.rows.chunk_by_mut(equal).for_each(<[u32]>::reverse);
    }

    /// Adds the first of the listed rows, which are in the order of values, that contain the phrases.
    fn push_checked(&mut self) {
        self.execution
            .retain_phrases(self.first.wanted(), &mut self.rows);
        self.push_rows();
    }

    fn push_rows(&mut self) {
        for &row in &self.rows {
            self.first.push(self.column.code(Row(row)), Row(row));
        }
        self.first.tighten();
    }
}

/// Splits the first `n` rows in an order off a list in ascending order. Returns the others, then these.
fn split_first(listed: &[u16], n: usize, from_end: bool) -> (&[u16], &[u16]) {
    if from_end {
        listed.split_at(listed.len() - n)
    } else {
        let (first, rest) = listed.split_at(n);
        (rest, first)
    }
}

/// Codes of a block that wait to be evaluated; the first ones are the greatest.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct BlockPart {
    /// The rank of the first code.
    rank: Reverse<u32>,
    /// Of blocks with the same first code, the last has the highest ids.
    block: u32,
    start: u32,
    end: u32,
    /// Whether a row has the first code, as far as is known: it is looked up only for the block that comes first.
    is_exact: bool,
}

impl BlockPart {
    /// Codes of which a row may have the first; `None` without codes.
    fn of_zone(column: ValueColumn<'_>, block: u32, codes: CodeRange) -> Option<BlockPart> {
        (!codes.is_empty()).then(|| BlockPart {
            rank: Reverse(column.order().code_rank(column.first_code(&codes))),
            block,
            start: *codes.start(),
            end: *codes.end(),
            is_exact: false,
        })
    }

    /// Codes without those before the first that a row has; `None` without codes.
    fn new(column: ValueColumn<'_>, block: u32, codes: CodeRange) -> Option<BlockPart> {
        let codes = column.starting_at_first_row(block, codes);
        let part = BlockPart::of_zone(column, block, codes)?;
        Some(BlockPart {
            is_exact: true,
            ..part
        })
    }
}
