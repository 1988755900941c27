//! The range of rows that a page has not read yet.

use std::ops::Range;

use super::output::OutputBuffer;
use super::row_window::RowWindow;
use crate::encoding::row::Row;
use crate::kernels::block::BLOCK_ROWS;
use crate::kernels::gallop::between;
use crate::query::IdOrder;

/// The range of unread rows, and the reading order.
#[derive(Debug)]
pub(super) struct Remaining {
    order: IdOrder,
    start: u32,
    end: u32,
}

impl Remaining {
    #[inline(always)]
    pub(super) fn new(order: IdOrder, rows: Range<u32>) -> Remaining {
        Remaining {
            order,
            start: rows.start,
            end: rows.end,
        }
    }

    pub(super) fn order(&self) -> IdOrder {
        self.order
    }

    pub(super) fn rows(&self) -> Range<u32> {
        self.start..self.end
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Empties the range.
    pub(super) fn clear(&mut self) {
        self.start = self.end;
    }

    /// The block of the next row. The range must not be empty.
    pub(super) fn block(&self) -> u32 {
        match self.order {
            IdOrder::OldestFirst => Row(self.start).block(),
            IdOrder::NewestFirst => Row(self.end - 1).block(),
        }
    }

    /// Whether a block has remaining rows. The range must not be empty.
    pub(super) fn has_block(&self, block: u32) -> bool {
        (Row(self.start).block()..=Row(self.end - 1).block()).contains(&block)
    }

    /// The offset at which reading a block starts, and the offset at which reading a whole block would start.
    pub(super) fn start_in(&self, block: u32) -> (u32, u32) {
        let first = block * BLOCK_ROWS;
        match self.order {
            IdOrder::OldestFirst => (self.start.saturating_sub(first), 0),
            // The block has remaining rows, so its first row is before `end`.
            IdOrder::NewestFirst => ((self.end - first).min(BLOCK_ROWS), BLOCK_ROWS),
        }
    }

    /// The unread offsets of a window.
    pub(super) fn offsets(&self, window: RowWindow) -> Range<u32> {
        let first = window.block() * BLOCK_ROWS;
        let start = self.start.saturating_sub(first).max(window.start());
        // The window's block has remaining rows, so its first row is before `end`.
        start..(self.end - first).min(window.end())
    }

    /// Removes the offsets of a block that have been read, or only those up to the last row of the output if it is
    /// full. Returns whether all of them have been read.
    pub(super) fn advance(
        &mut self,
        block: u32,
        offsets: &Range<u32>,
        output: &OutputBuffer,
    ) -> bool {
        let first = block * BLOCK_ROWS;
        // With room left, the output has all candidates of these offsets; else there may be more
        // after its last row.
        let is_all = output.room() > 0;
        let last = output.rows().last().filter(|_| !is_all);
        match (self.order, last) {
            (IdOrder::OldestFirst, Some(&last)) => self.start = last + 1,
            (IdOrder::OldestFirst, None) => self.start = first + offsets.end,
            (IdOrder::NewestFirst, Some(&last)) => self.end = last,
            (IdOrder::NewestFirst, None) => self.end = first + offsets.start,
        }
        is_all
    }

    /// Moves the next rows to the output.
    pub(super) fn take(&mut self, output: &mut OutputBuffer) {
        // The output has at most 64 slots, so the cast does not truncate.
        let count = (output.room() as u32).min(self.end.saturating_sub(self.start));
        match self.order {
            IdOrder::OldestFirst => {
                let end = self.start + count;
                output.extend(self.start..end);
                self.start = end;
            }
            IdOrder::NewestFirst => {
                let first = self.end - count;
                output.extend((first..self.end).rev());
                self.end = first;
            }
        }
    }

    /// Moves the next ones of ascending rows to the output.
    pub(super) fn take_listed(&mut self, rows: &[u32], output: &mut OutputBuffer) {
        let rows = between(rows, &self.rows());
        let room = output.room();
        output.push_rows(rows, self.order);
        // If all rows fit, none are left; else reading continues after the last one.
        let last = output.rows().last().filter(|_| rows.len() > room);
        match (self.order, last) {
            (IdOrder::OldestFirst, Some(&last)) => self.start = last + 1,
            (IdOrder::NewestFirst, Some(&last)) => self.end = last,
            (_, None) => self.clear(),
        }
    }
}
