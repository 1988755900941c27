//! Row numbers and company numbers of a segment.

use bytemuck::{Pod, Zeroable};

use crate::kernels::block::BLOCK_ROWS;

/// The index of a signal in its segment. Rows are in the order of ids; a row is meaningless outside its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Row(pub(crate) u32);

/// The index of a company in its segment, in the order of slugs; meaningless outside its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CompanyNumber(pub(crate) u32);

/// Maximum number of rows of a segment, so that every row and the row count fit into a `u32`.
pub(crate) const SEGMENT_ROWS_MAX: u32 = u32::MAX - BLOCK_ROWS;

impl Row {
    /// The block of the row.
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

    /// The row as an index into a column.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Rows as plain numbers for postings and kernels. Sets of rows and sets of companies have the same encoding, so
    /// only their users distinguish the two.
    pub(crate) fn numbers(rows: &[Row]) -> &[u32] {
        bytemuck::cast_slice(rows)
    }
}

impl CompanyNumber {
    /// The company of a code in the company column. Every row has a company.
    pub(crate) fn of_code(code: u32) -> CompanyNumber {
        CompanyNumber(code - 1)
    }

    /// The code of the company in the company column.
    pub(crate) fn code(self) -> u32 {
        self.0 + 1
    }

    /// The number as an index.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
