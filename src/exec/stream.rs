//! The matches of an execution in id order, found as they are asked for.

use super::batch::Batch;
use super::execution::Execution;
use crate::query::Order;
use crate::segment::{BLOCK_ROWS, Row, block_count};

/// Matching rows, one by one, in either order, from any row on.
#[derive(Debug)]
pub(crate) struct RowStream<'a> {
    execution: Execution<'a>,
    order: Order,
    /// The rows that are still wanted: from `start` to before `end`.
    start: u32,
    end: u32,
    /// The block whose candidates are formed.
    block: Option<u32>,
    /// Matches of the block that were taken at once, and are not among the wanted any more.
    batch: Batch,
}

impl<'a> RowStream<'a> {
    /// The matches among the rows from `start` to before `end`.
    pub(crate) fn new(execution: Execution<'a>, order: Order, start: u32, end: u32) -> Self {
        RowStream {
            execution,
            order,
            start,
            end,
            block: None,
            batch: Batch::new(),
        }
    }

    /// The next match.
    pub(crate) fn next(&mut self) -> Option<Row> {
        if let (Some(offset), Some(block)) = (self.batch.pop(), self.block) {
            return Some(Row::of(block, offset));
        }
        // Every round gives up at least one wanted row, or a block of them, or ends.
        while self.start < self.end {
            let Some(block) = self.block.or_else(|| self.enter_block()) else {
                self.start = self.end;
                break;
            };
            let Some(row) = self.take_candidate(block) else {
                self.leave_block(block);
                continue;
            };
            if self.execution.is_settled() {
                self.take_batch(block);
                return Some(row);
            }
            if self.execution.passes(row) {
                return Some(row);
            }
        }
        None
    }

    /// Keeps a trace from here on.
    pub(crate) fn trace(&mut self) {
        self.execution.trace();
    }

    /// The execution, for what it counted.
    pub(crate) fn into_execution(self) -> Execution<'a> {
        self.execution
    }

    /// How many rows were looked at one by one so far.
    pub(crate) fn rows_checked(&self) -> u64 {
        self.execution.rows_checked()
    }

    /// Takes the next matches of a block in which every candidate is one.
    fn take_batch(&mut self, block: u32) {
        let first = block * BLOCK_ROWS;
        let start = self.start.saturating_sub(first);
        let end = (self.end - first).min(BLOCK_ROWS);
        let candidates = self.execution.candidates();
        match self.order {
            Order::OldestFirst => candidates.collect_from(start, end, &mut self.batch),
            Order::NewestFirst => candidates.collect_before(end, start, &mut self.batch),
        }
        let Some(last) = self.batch.last() else {
            return;
        };
        match self.order {
            Order::OldestFirst => self.start = Row::of(block, last).0 + 1,
            Order::NewestFirst => self.end = Row::of(block, last).0,
        }
    }

    fn enter_block(&mut self) -> Option<u32> {
        let block = match self.order {
            Order::OldestFirst => self.execution.block_at_or_after(Row(self.start).block()),
            Order::NewestFirst => self.execution.block_at_or_before(Row(self.end - 1).block()),
        };
        let block = block.filter(|&block| {
            block <= Row(self.end - 1).block() && block >= Row(self.start).block()
        })?;
        self.execution.enter(block);
        self.block = Some(block);
        Some(block)
    }

    fn leave_block(&mut self, block: u32) {
        self.block = None;
        match self.order {
            Order::OldestFirst => {
                let behind = (block + 1).min(block_count(u32::MAX)) * BLOCK_ROWS;
                self.start = self.start.max(behind);
            }
            Order::NewestFirst => self.end = self.end.min(block * BLOCK_ROWS),
        }
    }

    /// The next wanted candidate of the block, which is then wanted no more.
    fn take_candidate(&mut self, block: u32) -> Option<Row> {
        let first = block * BLOCK_ROWS;
        match self.order {
            Order::OldestFirst => {
                let offset = self
                    .execution
                    .candidates()
                    .at_or_after(self.start.saturating_sub(first))?;
                let row = Row::of(block, offset);
                (row.0 < self.end).then(|| self.start = row.0 + 1)?;
                Some(row)
            }
            Order::NewestFirst => {
                let limit = (self.end - first).min(BLOCK_ROWS);
                let row = Row::of(block, self.execution.candidates().before(limit)?);
                (row.0 >= self.start).then(|| self.end = row.0)?;
                Some(row)
            }
        }
    }
}
