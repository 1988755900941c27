//! Columns: a code per row, for the edges of ranges and for counting facet values. Facets with few values have
//! shorter ones ([`nibbles`](super::nibbles)).
//!
//! A column stores codes, not values: 0 means no value, `n` means the value at index `n - 1` of the field's
//! sorted values. So codes compare like their values, and take one, two or four bytes, depending on the
//! number of distinct values.

use std::ops::RangeInclusive;

use crate::encoding::row::Row;
use crate::kernels::{ranges, whole};
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
    /// A view of a column with `rows` rows; the width follows from the number of bytes.
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

    /// Clears the bits of rows, counted from a first row, whose codes are in none of the ranges.
    ///
    /// Cost: about <!--figure:kernels.codes-->6<!--end--> microseconds for a block of two-byte codes, regardless of the
    /// number of set rows.
    pub(crate) fn keep_in_ranges(
        &self,
        first: Row,
        code_ranges: &[RangeInclusive<u32>],
        words: &mut [u64],
    ) {
        match self {
            Column::One(codes) => {
                ranges::keep_bytes(codes_of(codes, first, words), code_ranges, words)
            }
            Column::Two(codes) => {
                ranges::keep_shorts(codes_of(codes, first, words), code_ranges, words)
            }
            Column::Four(codes) => {
                ranges::keep_words(codes_of(codes, first, words), code_ranges, words)
            }
        }
    }

    /// Keeps the offsets of a block whose codes are in one of the ranges.
    ///
    /// Cost: about a nanosecond per offset.
    pub(crate) fn retain_in_ranges(
        &self,
        block: u32,
        code_ranges: &[RangeInclusive<u32>],
        offsets: &mut Vec<u16>,
    ) {
        let first = Row::of(block, 0).index();
        match self {
            Column::One(codes) => ranges::retain(&codes[first..], code_ranges, offsets),
            Column::Two(codes) => ranges::retain(&codes[first..], code_ranges, offsets),
            Column::Four(codes) => ranges::retain(&codes[first..], code_ranges, offsets),
        }
    }

    /// Checks that no code exceeds the number of values.
    pub(crate) fn validate(&self, values: usize) -> Result<()> {
        let (max, width_max) = match self {
            // The width of a column without rows is that of no code.
            Column::One([]) => return Ok(()),
            Column::One(codes) => (whole::greatest(codes).into(), u32::from(u8::MAX)),
            Column::Two(codes) => (whole::greatest(codes).into(), u32::from(u16::MAX)),
            Column::Four(codes) => (whole::greatest(codes), u32::MAX),
        };
        if max as usize > values {
            return Err(Error::corrupt("a column has a code without a value"));
        }
        // Counters of narrow codes have no place for more values than the width can tell apart.
        if values > width_max as usize {
            return Err(Error::corrupt(
                "a column is too narrow for the number of its values",
            ));
        }
        Ok(())
    }

    /// Whether any row has no value.
    pub(crate) fn has_rows_without_value(&self) -> bool {
        match self {
            Column::One(codes) => whole::contains(codes, NO_CODE as u8),
            Column::Two(codes) => whole::contains(codes, NO_CODE as u16),
            Column::Four(codes) => whole::contains(codes, NO_CODE),
        }
    }
}

/// Encodes the codes of a column in the width for `values` distinct values.
pub(crate) fn encode(codes: &[u32], values: usize) -> Vec<u8> {
    // Codes are at most `values`, so the casts do not truncate.
    match values {
        0..=0xFF => codes.iter().map(|&code| code as u8).collect(),
        0x100..=0xFFFF => codes
            .iter()
            .flat_map(|&code| (code as u16).to_le_bytes())
            .collect(),
        _ => codes.iter().flat_map(|&code| code.to_le_bytes()).collect(),
    }
}

/// The codes of the rows of these words, up to the last row.
fn codes_of<'a, T>(codes: &'a [T], first: Row, words: &[u64]) -> &'a [T] {
    // The words of the last block may go beyond the last row.
    let start = first.index().min(codes.len());
    &codes[start..codes.len().min(start + 64 * words.len())]
}

#[cfg(test)]
mod tests;
