//! The rows that a page has not looked at yet.

use std::ops::Range;

use super::batch::Batch;
use super::window::Window;
use crate::encoding::row::Row;
use crate::kernels::block::BLOCK_ROWS;
use crate::kernels::gallop::between;
use crate::query::Order;

/// What lies ahead of a page in its order: rows from one to before another.
#[derive(Debug)]
pub(super) struct Ahead {
    order: Order,
    start: u32,
    end: u32,
}

impl Ahead {
    #[inline(always)]
    pub(super) fn new(order: Order, rows: Range<u32>) -> Ahead {
        Ahead {
            order,
            start: rows.start,
            end: rows.end,
        }
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn rows(&self) -> Range<u32> {
        self.start..self.end
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// Leaves all rows behind.
    pub(super) fn clear(&mut self) {
        self.start = self.end;
    }

    /// The block of the next row, which there has to be.
    pub(super) fn block(&self) -> u32 {
        match self.order {
            Order::OldestFirst => Row(self.start).block(),
            Order::NewestFirst => Row(self.end - 1).block(),
        }
    }

    /// Whether a block has rows that lie ahead, which there have to be.
    pub(super) fn has_block(&self, block: u32) -> bool {
        (Row(self.start).block()..=Row(self.end - 1).block()).contains(&block)
    }

    /// Where the next row is in a block, or before it the edge that is met first; and that edge.
    pub(super) fn entry(&self, block: u32) -> (u32, u32) {
        let first = block * BLOCK_ROWS;
        match self.order {
            Order::OldestFirst => (self.start.saturating_sub(first), 0),
            Order::NewestFirst => ((self.end - first).min(BLOCK_ROWS), BLOCK_ROWS),
        }
    }

    /// The offsets of a window that have not been looked at.
    pub(super) fn offsets(&self, window: Window) -> Range<u32> {
        let first = window.block() * BLOCK_ROWS;
        let start = self.start.saturating_sub(first).max(window.start());
        start..(self.end - first).min(window.end())
    }

    /// Leaves what was looked at behind: some offsets of a block, up to the last row of the batch where
    /// that is full. Returns whether it was all of them.
    pub(super) fn leave(&mut self, block: u32, offsets: &Range<u32>, batch: &Batch) -> bool {
        let first = block * BLOCK_ROWS;
        let is_all = batch.room() > 0;
        let last = batch.rows().last().filter(|_| !is_all);
        match (self.order, last) {
            (Order::OldestFirst, Some(&last)) => self.start = last + 1,
            (Order::OldestFirst, None) => self.start = first + offsets.end,
            (Order::NewestFirst, Some(&last)) => self.end = last,
            (Order::NewestFirst, None) => self.end = first + offsets.start,
        }
        is_all
    }

    /// Moves the next of all rows to a batch.
    pub(super) fn take(&mut self, batch: &mut Batch) {
        let count = (batch.room() as u32).min(self.end.saturating_sub(self.start));
        match self.order {
            Order::OldestFirst => {
                let behind = self.start + count;
                batch.extend(self.start..behind);
                self.start = behind;
            }
            Order::NewestFirst => {
                let first = self.end - count;
                batch.extend((first..self.end).rev());
                self.end = first;
            }
        }
    }

    /// Moves the next of some listed rows, which ascend, to a batch.
    pub(super) fn take_listed(&mut self, rows: &[u32], batch: &mut Batch) {
        let rows = between(rows, &self.rows());
        let room = batch.room();
        batch.extend_from(rows, self.order);
        let last = batch.rows().last().filter(|_| rows.len() > room);
        match (self.order, last) {
            (Order::OldestFirst, Some(&last)) => self.start = last + 1,
            (Order::NewestFirst, Some(&last)) => self.end = last,
            (_, None) => self.clear(),
        }
    }
}
