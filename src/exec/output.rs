//! A buffer of matches, because producing matches one at a time takes longer than using them.

use std::ops::Range;

use crate::encoding::row::Row;
use crate::kernels::bits;
use crate::kernels::block::BLOCK_ROWS;
use crate::query::IdOrder;

/// Capacity in rows: more than a page of the usual length and the match after it.
const OUTPUT_ROWS: usize = 64;

/// Up to this many rows are removed one by one instead of comparing all rows.
const REMOVED_MAX: usize = 8;

/// The next matches in the requested order.
#[derive(Debug)]
pub(super) struct OutputBuffer {
    rows: [u32; OUTPUT_ROWS + bits::SPARE_SLOTS],
    next: usize,
    end: usize,
    /// The current capacity.
    capacity: usize,
    /// The first row of the block of pushed offsets.
    block_start: u32,
}

impl OutputBuffer {
    pub(super) fn new() -> OutputBuffer {
        OutputBuffer {
            rows: [0; OUTPUT_ROWS + bits::SPARE_SLOTS],
            next: 0,
            end: 0,
            capacity: 0,
            block_start: 0,
        }
    }

    /// Clears the buffer for rows of a block, with a capacity of at most `wanted`.
    pub(super) fn reset(&mut self, block: u32, wanted: usize) {
        (self.next, self.end) = (0, 0);
        self.capacity = wanted.min(OUTPUT_ROWS);
        self.block_start = block * BLOCK_ROWS;
    }

    /// The rows that have not been taken.
    pub(super) fn rows(&self) -> &[u32] {
        &self.rows[self.next..self.end]
    }

    /// Removes the next rows.
    pub(super) fn take(&mut self, count: usize) {
        self.next = self.end.min(self.next + count);
    }

    /// The remaining capacity.
    pub(super) fn room(&self) -> usize {
        self.capacity - self.end
    }

    /// Adds the first rows, in an order, that are set in these words of the block between two offsets, while there
    /// is room; `first` is the offset of the first word's first row.
    pub(super) fn push_bits(
        &mut self,
        words: &[u64],
        offsets: Range<u32>,
        first: u32,
        order: IdOrder,
    ) {
        let base = self.block_start + first;
        // The spare slots take the surplus rows of the last word, which are cut off below.
        let slots = &mut self.rows[self.end..self.capacity + bits::SPARE_SLOTS];
        let listed = match order {
            IdOrder::OldestFirst => bits::first_rows(words, offsets, base, slots),
            IdOrder::NewestFirst => bits::last_rows(words, offsets, base, slots),
        };
        self.end = self.capacity.min(self.end + listed);
    }

    /// Adds the rows at ascending offsets of the block, in an order, while there is room.
    pub(super) fn push_offsets(&mut self, offsets: &[u16], order: IdOrder) {
        self.add(offsets, self.block_start, order);
    }

    /// Adds ascending rows, in an order, while there is room.
    pub(super) fn push_rows(&mut self, rows: &[u32], order: IdOrder) {
        self.add(rows, 0, order);
    }

    /// Adds rows while there is room.
    pub(super) fn extend(&mut self, rows: impl Iterator<Item = u32>) {
        let free = self.rows[self.end..self.capacity].iter_mut();
        // The free slots come first in the zip, so no row is taken from the iterator without a slot
        // for it.
        self.end += free.zip(rows).map(|(free, row)| *free = row).count();
    }

    /// Copies all rows and then reverses them; the compiler vectorises both.
    #[inline]
    fn add<T: Copy + Into<u32>>(&mut self, ascending: &[T], base: u32, order: IdOrder) {
        let count = ascending.len().min(self.room());
        let free = &mut self.rows[self.end..self.end + count];
        let first = match order {
            IdOrder::OldestFirst => 0,
            // `count` is at most the length, so this does not underflow.
            IdOrder::NewestFirst => ascending.len() - count,
        };
        for (free, &row) in free.iter_mut().zip(&ascending[first..]) {
            *free = base + row.into();
        }
        if order == IdOrder::NewestFirst {
            free.reverse();
        }
        self.end += count;
    }

    /// Removes rows that occur among ascending rows or offsets, traversing both in the order of the buffer.
    pub(super) fn subtract<T: Copy + Into<u32>>(
        &mut self,
        ascending: &[T],
        base: u32,
        order: IdOrder,
    ) {
        let rows = ascending.iter().map(|&row| base + row.into());
        if ascending.len() <= REMOVED_MAX {
            return rows.for_each(|row| self.remove(row, order));
        }
        match order {
            IdOrder::OldestFirst => self.subtract_ordered(rows, |before, row| before < row),
            IdOrder::NewestFirst => self.subtract_ordered(rows.rev(), |before, row| before > row),
        }
    }

    /// Removes a row if it occurs.
    fn remove(&mut self, row: u32, order: IdOrder) {
        let rows = self.rows();
        let found = match order {
            IdOrder::OldestFirst => rows.binary_search(&row),
            IdOrder::NewestFirst => rows.binary_search_by(|other| row.cmp(other)),
        };
        if let Ok(index) = found {
            let index = self.next + index;
            self.rows.copy_within(index + 1..self.end, index);
            self.end -= 1;
        }
    }

    fn subtract_ordered(
        &mut self,
        mut others: impl Iterator<Item = u32>,
        is_before: impl Fn(u32, u32) -> bool,
    ) {
        let mut next = others.next();
        self.retain(|Row(row)| {
            // Both are in the order of the buffer, so each of the others is passed once.
            while let Some(other) = next
                && is_before(other, row)
            {
                next = others.next();
            }
            next != Some(row)
        });
    }

    /// Keeps the rows that pass a test.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Row) -> bool) {
        let mut kept = self.next;
        // Invariant: kept rows are in `self.next..kept`, and `kept` is at most `index`.
        for index in self.next..self.end {
            let row = self.rows[index];
            self.rows[kept] = row;
            kept += usize::from(keep(Row(row)));
        }
        self.end = kept;
    }
}
