//! Rows: the numbers of a segment's signals.

use crate::kernels::block::BLOCK_ROWS;

/// The index of a signal in its segment. Rows ascend with ids; a row means nothing outside its
/// segment, and is never mixed with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row(pub(crate) u32);

/// The most rows that a segment holds, so that every row and the row count fit a `u32`.
pub(crate) const SEGMENT_ROWS_MAX: u32 = u32::MAX - BLOCK_ROWS;

impl Row {
    /// The block that holds the row.
    pub(crate) fn block(self) -> u32 {
        self.0 / BLOCK_ROWS
    }

    /// The row's index within its block.
    pub(crate) fn offset(self) -> u16 {
        (self.0 % BLOCK_ROWS) as u16
    }

    /// The row at an offset of a block.
    pub(crate) fn of(block: u32, offset: u16) -> Row {
        Row(block * BLOCK_ROWS + u32::from(offset))
    }

    /// The row as an index of a column.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
