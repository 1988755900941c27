//! Row windows: the part of a block that is processed at a time.
//!
//! A count processes whole blocks. A page starts with a window sized for its expected matches and takes larger
//! ones until the page is full.

use std::ops::Range;

use crate::encoding::posting::BlockRows;
use crate::encoding::row::Row;
use crate::kernels::block::BLOCK_ROWS;

/// The minimum size of a window: 16 words of bits. With half as many, pages of common matches are not faster
/// (`benches/queries`).
const MIN_ROWS: u32 = 1 << 10;

/// Ratio of expected to needed matches in the first window, so that a second one is seldom needed. With 1.25 and
/// with 2, pages take one percent longer (`benches/queries`).
const HEADROOM: f64 = 1.5;

/// Growth factor of the next window.
const GROWTH: u32 = 4;

/// Consecutive rows of one block, in whole words of its bitset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowWindow {
    block: u32,
    /// Offsets in the block: from `start` to before `end`.
    start: u32,
    end: u32,
}

/// The number of rows of the next window of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowSize(u32);

impl RowWindow {
    /// A whole block.
    pub(super) fn whole(block: u32) -> RowWindow {
        RowWindow {
            block,
            start: 0,
            end: BLOCK_ROWS,
        }
    }

    /// The window that contains a range of offsets of a block.
    pub(super) fn covering(block: u32, offsets: &Range<u32>) -> RowWindow {
        RowWindow {
            block,
            start: offsets.start / 64 * 64,
            end: offsets.end.next_multiple_of(64),
        }
    }

    /// The window that starts at an offset of a block and has as many rows of a span as the size says, in whole
    /// words.
    pub(super) fn from(block: u32, offset: u32, size: WindowSize, span: &Range<u32>) -> RowWindow {
        let start = offset / 64 * 64;
        // The size counts from the first row that may match, which may come after the start.
        let end = start.max(span.start) + size.0;
        RowWindow {
            block,
            start,
            // A window that reaches the end of the span takes the rest of the block, so that the
            // block counts as read.
            end: if end < span.end { end } else { BLOCK_ROWS },
        }
    }

    /// The window that ends at an offset of a block; as [`from`](Self::from).
    pub(super) fn before(
        block: u32,
        offset: u32,
        size: WindowSize,
        span: &Range<u32>,
    ) -> RowWindow {
        let end = offset.next_multiple_of(64);
        let start = end.min(span.end).saturating_sub(size.0);
        RowWindow {
            block,
            start: if start > span.start { start } else { 0 },
            end,
        }
    }

    /// The block.
    pub(super) fn block(&self) -> u32 {
        self.block
    }

    /// Whether it is a whole block.
    pub(super) fn is_whole(&self) -> bool {
        self.end - self.start == BLOCK_ROWS
    }

    /// The first row.
    pub(super) fn first_row(&self) -> Row {
        Row(self.block * BLOCK_ROWS + self.start)
    }

    /// The offset of the first row.
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    /// The offset after the last row.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// The part within a span of offsets, which is in whole words, too.
    pub(super) fn within(&self, span: &Range<u32>) -> RowWindow {
        let start = self.start.max(span.start);
        RowWindow {
            block: self.block,
            start,
            // At least `start`, so that a window outside of the span is empty.
            end: self.end.min(span.end).max(start),
        }
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The words of the block's bitset.
    pub(super) fn words(&self) -> Range<usize> {
        (self.start / 64) as usize..(self.end / 64) as usize
    }

    /// Restricts a block's rows to the window; bitsets are not cut.
    #[inline]
    pub(super) fn cut<'a>(&self, set: BlockRows<'a>) -> BlockRows<'a> {
        if self.is_whole() {
            return set;
        }
        match set {
            BlockRows::Bits(_) => set,
            BlockRows::Array(offsets) => BlockRows::Array(self.part(offsets, |&offset| offset)),
            BlockRows::List(rows) => BlockRows::List(self.part(rows, |&row| Row(row).offset())),
        }
    }

    /// Restricts a sorted slice to the window, without a search at an end where nothing has to be cut.
    fn part<'a, T>(&self, sorted: &'a [T], offset: impl Fn(&T) -> u16) -> &'a [T] {
        let from = match self.start {
            0 => sorted,
            start => &sorted[sorted.partition_point(|value| u32::from(offset(value)) < start)..],
        };
        match from.last() {
            Some(last) if u32::from(offset(last)) >= self.end => {
                &from[..from.partition_point(|value| u32::from(offset(value)) < self.end)]
            }
            _ => from,
        }
    }
}

impl WindowSize {
    /// The size in which `wanted` matches are expected, given the share of matching rows.
    pub(super) fn of(wanted: usize, share: f64) -> WindowSize {
        // A share of 0 gives infinity. The cast saturates, and the clamp limits it.
        let rows = (wanted as f64 * HEADROOM / share) as u32;
        WindowSize(rows.clamp(MIN_ROWS, BLOCK_ROWS).next_multiple_of(64))
    }

    /// The size after this one.
    pub(super) fn grown(self) -> WindowSize {
        WindowSize((self.0 * GROWTH).min(BLOCK_ROWS))
    }
}

#[cfg(test)]
mod tests;
