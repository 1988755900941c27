//! The numbers of a segment's signals and companies.

use bytemuck::{Pod, Zeroable};

use crate::kernels::block::BLOCK_ROWS;

/// The index of a signal in its segment. Rows ascend with ids; a row means nothing outside its
/// segment, and is never mixed with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Row(pub(crate) u32);

/// The index of a company in its segment. Companies are numbered by ascending slug; like a row, a number
/// means nothing outside its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CompanyNumber(pub(crate) u32);

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

    /// Rows as the numbers that postings and kernels work on. A set of rows and a set of companies have
    /// one encoding, so that only what reads from them knows which of the two it holds.
    pub(crate) fn numbers(rows: &[Row]) -> &[u32] {
        bytemuck::cast_slice(rows)
    }
}

impl CompanyNumber {
    /// The company that a code of the column of companies stands for: every row has one.
    pub(crate) fn of_code(code: u32) -> CompanyNumber {
        CompanyNumber(code - 1)
    }

    /// The code of the company in the column of companies.
    pub(crate) fn code(self) -> u32 {
        self.0 + 1
    }

    /// The number as an index of what is stored by company.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
