//! Columns: one small code a row, for range edges and for counting facet values.
//!
//! A column stores codes, not values: 0 means none, `n` means the value at place `n - 1` of the
//! field's sorted values. Codes therefore compare as their values do, and take one, two or four
//! bytes, whichever the number of distinct values allows.

use std::ops::RangeInclusive;

use bytemuck::{Pod, Zeroable};

use super::row::{BLOCK_ROWS, Row};
use crate::{Error, Result};

/// The code of a row without a value.
pub(crate) const NO_CODE: u32 = 0;

/// A view of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column<'a> {
    /// At most 255 values.
    One(&'a [u8]),
    /// At most 65,535 values.
    Two(&'a [u16]),
    /// More.
    Four(&'a [u32]),
}

impl<'a> Column<'a> {
    /// A view of a column of `rows` rows; its width follows from the number of bytes.
    pub(crate) fn new(bytes: &'a [u8], rows: u32) -> Result<Column<'a>> {
        let rows = rows as usize;
        let view = match bytes.len() {
            length if length == rows => Some(Column::One(bytes)),
            length if length == 2 * rows => bytemuck::try_cast_slice(bytes).ok().map(Column::Two),
            length if length == 4 * rows => bytemuck::try_cast_slice(bytes).ok().map(Column::Four),
            _ => None,
        };
        view.ok_or_else(|| Error::corrupt("the length of a column does not match the rows"))
    }

    /// The code of a row.
    pub(crate) fn get(&self, row: Row) -> u32 {
        match self {
            Column::One(codes) => u32::from(codes[row.index()]),
            Column::Two(codes) => u32::from(codes[row.index()]),
            Column::Four(codes) => codes[row.index()],
        }
    }

    /// Checks that no code exceeds the number of values.
    pub(crate) fn validate(&self, values: usize) -> Result<()> {
        let greatest = match self {
            Column::One(codes) => codes.iter().max().map(|&code| u32::from(code)),
            Column::Two(codes) => codes.iter().max().map(|&code| u32::from(code)),
            Column::Four(codes) => codes.iter().max().copied(),
        };
        match greatest.unwrap_or(NO_CODE) as usize <= values {
            true => Ok(()),
            false => Err(Error::corrupt("a column has a code without a value")),
        }
    }
}

/// The codes of a column, as bytes in the width that `values` distinct values need.
pub(crate) fn encode(codes: &[u32], values: usize) -> Vec<u8> {
    match values {
        0..=0xFF => codes.iter().map(|&code| code as u8).collect(),
        0x100..=0xFFFF => codes
            .iter()
            .flat_map(|&code| (code as u16).to_le_bytes())
            .collect(),
        _ => codes.iter().flat_map(|&code| code.to_le_bytes()).collect(),
    }
}

/// The least and greatest code of a block, so that a range can skip it or take it whole. Rows
/// without a value count as code 0. Part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BlockRange {
    pub(crate) least: u32,
    pub(crate) greatest: u32,
}

/// What a block's least and greatest codes say about ranges of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// No row's code is in a range.
    None,
    /// Some rows' codes may be.
    Some,
    /// Every row's code is.
    All,
}

impl BlockRange {
    /// Whether the block's rows have codes in one of these ranges, as far as the block tells.
    pub(crate) fn judge(&self, ranges: &[RangeInclusive<u32>]) -> Verdict {
        let holds_all = |range: &RangeInclusive<u32>| {
            range.contains(&self.least) && range.contains(&self.greatest)
        };
        let overlaps = |range: &RangeInclusive<u32>| {
            *range.start() <= self.greatest && self.least <= *range.end()
        };
        if ranges.iter().any(holds_all) {
            return Verdict::All;
        }
        match ranges.iter().any(overlaps) {
            true => Verdict::Some,
            false => Verdict::None,
        }
    }
}

/// The ranges of a column's blocks.
pub(crate) fn block_ranges(codes: &[u32]) -> Vec<BlockRange> {
    codes
        .chunks(BLOCK_ROWS as usize)
        .map(|block| BlockRange {
            least: block.iter().copied().min().unwrap_or(NO_CODE),
            greatest: block.iter().copied().max().unwrap_or(NO_CODE),
        })
        .collect()
}
