//! The part of a block that is narrowed at once.
//!
//! A count looks at whole blocks. A page starts with a small window, since where matches are common
//! a sixteenth of a block has more than it needs, and takes greater ones as long as it is not full.

use std::ops::Range;

use crate::segment::{BLOCK_ROWS, BlockRows, Row};

/// The rows of the first window of a page: 64 words of bits. Half as many make pages of common
/// matches no faster, and those of rarer ones slower (`benches/queries`).
const FIRST_ROWS: u32 = 1 << 12;

/// How much greater the next window is.
const GROWTH: u32 = 4;

/// Some rows of one block, in whole words of its bitset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    block: u32,
    /// Offsets in the block: from `start` to before `end`.
    start: u32,
    end: u32,
}

/// How many rows the next window of a page has.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowSize(u32);

impl Window {
    /// A whole block.
    pub(crate) fn whole(block: u32) -> Window {
        Window {
            block,
            start: 0,
            end: BLOCK_ROWS,
        }
    }

    /// The rows of a block from an offset on, as many as the size says, in whole words.
    pub(super) fn from(block: u32, offset: u32, size: WindowSize) -> Window {
        let start = offset / 64 * 64;
        Window {
            block,
            start,
            end: (start + size.0).min(BLOCK_ROWS),
        }
    }

    /// The rows of a block before an offset, as many as the size says, in whole words.
    pub(super) fn before(block: u32, offset: u32, size: WindowSize) -> Window {
        let end = offset.next_multiple_of(64);
        Window {
            block,
            start: end.saturating_sub(size.0),
            end,
        }
    }

    /// The block.
    pub(crate) fn block(&self) -> u32 {
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

    /// The offset behind the last row.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// The part of it that lies in a span of offsets, which is in whole words as well.
    pub(super) fn within(&self, span: &Range<u32>) -> Window {
        let start = self.start.max(span.start);
        Window {
            block: self.block,
            start,
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

    /// Those of a block's rows that lie in the window; bits stay those of the block.
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

    /// The first window of a block reaches to one of its ends, where nothing is to be searched.
    fn part<'a, T>(&self, sorted: &'a [T], offset: impl Fn(&T) -> u16) -> &'a [T] {
        let from = match self.start {
            0 => sorted,
            start => &sorted[sorted.partition_point(|value| u32::from(offset(value)) < start)..],
        };
        match self.end {
            BLOCK_ROWS => from,
            end => &from[..from.partition_point(|value| u32::from(offset(value)) < end)],
        }
    }
}

impl WindowSize {
    /// The size to begin with.
    pub(super) const FIRST: WindowSize = WindowSize(FIRST_ROWS);

    /// A whole block.
    pub(super) const WHOLE: WindowSize = WindowSize(BLOCK_ROWS);

    /// The size behind this one.
    pub(super) fn greater(self) -> WindowSize {
        WindowSize((self.0 * GROWTH).min(BLOCK_ROWS))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn windows_cover_a_block_from_both_sides(offset in 0..=BLOCK_ROWS) {
            let (mut at, mut size) = (offset, WindowSize::FIRST);
            while at < BLOCK_ROWS {
                let window = Window::from(7, at, size);
                prop_assert!(window.start() <= at && at < window.end());
                (at, size) = (window.end(), size.greater());
            }
            let (mut at, mut size) = (offset, WindowSize::FIRST);
            while at > 0 {
                let window = Window::before(7, at, size);
                prop_assert!(window.start() < at && at <= window.end());
                (at, size) = (window.start(), size.greater());
            }
        }

        #[test]
        fn a_window_cuts_sorted_offsets(
            offsets in prop::collection::btree_set(any::<u16>(), 0..200),
            offset in 0..BLOCK_ROWS,
        ) {
            let window = Window::from(3, offset, WindowSize::FIRST);
            let offsets: Vec<u16> = offsets.into_iter().collect();
            let rows: Vec<u32> = offsets.iter().map(|&offset| Row::of(3, offset).0).collect();
            let is_inside = |offset: u16| (window.start()..window.end()).contains(&offset.into());
            let inside: Vec<u16> = offsets.iter().copied().filter(|&offset| is_inside(offset)).collect();
            for set in [BlockRows::Array(&offsets), BlockRows::List(&rows)] {
                prop_assert_eq!(window.cut(set).offsets().collect::<Vec<_>>(), inside.clone());
                prop_assert_eq!(Window::whole(3).cut(set).offsets().collect::<Vec<_>>(), offsets.clone());
            }
        }
    }
}
