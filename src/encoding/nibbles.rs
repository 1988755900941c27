//! Facet columns: nibble columns with two codes per byte for facets with few values, as most have.
//!
//! They are a separate type because facets have no range queries: codes are read one by one for few rows, and
//! bitsets are counted instead for many rows. Half the bytes then mean half the cache lines.

use crate::encoding::column::{self, Column};
use crate::encoding::row::Row;
use crate::{Error, Result};

/// Number of codes that fit into a nibble.
pub(crate) const NIBBLE_CODES: usize = 16;

/// Maximum number of values whose codes, including that for no value, fit into a nibble.
const NIBBLE_VALUES_MAX: usize = NIBBLE_CODES - 1;

/// A view of the codes of a facet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FacetColumn<'a> {
    /// No values, so no row has one, and no code is stored.
    Empty,
    /// At most 15 values.
    Nibbles(NibbleColumn<'a>),
    /// More.
    Bytes(Column<'a>),
}

/// Codes of four bits: that of an even row in the lower half of a byte, of the next row in the upper half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NibbleColumn<'a>(&'a [u8]);

impl<'a> FacetColumn<'a> {
    /// A view of a column with `rows` rows, for a facet with `values` values.
    pub(crate) fn new(bytes: &'a [u8], rows: u32, values: usize) -> Result<FacetColumn<'a>> {
        let (column, expected) = match values {
            0 => (FacetColumn::Empty, 0),
            1..=NIBBLE_VALUES_MAX => {
                let column = FacetColumn::Nibbles(NibbleColumn(bytes));
                (column, rows.div_ceil(2) as usize)
            }
            _ => return Column::new(bytes, rows).map(FacetColumn::Bytes),
        };
        if bytes.len() == expected {
            Ok(column)
        } else {
            Err(Error::corrupt(
                "the length of a column does not match the rows",
            ))
        }
    }

    /// The code of a row.
    #[inline]
    pub(crate) fn get(&self, row: Row) -> u32 {
        match self {
            FacetColumn::Empty => column::NO_CODE,
            FacetColumn::Nibbles(codes) => codes.get(row.index()) as u32,
            FacetColumn::Bytes(column) => column.get(row),
        }
    }

    /// Checks that no code exceeds the number of values.
    pub(crate) fn validate(&self, values: usize) -> Result<()> {
        let holds = match self {
            FacetColumn::Empty => true,
            FacetColumn::Nibbles(codes) => codes.max() <= values,
            FacetColumn::Bytes(column) => return column.validate(values),
        };
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt("a column has a code without a value"))
        }
    }
}

impl<'a> NibbleColumn<'a> {
    /// The code at an index.
    #[inline]
    pub(crate) fn get(self, index: usize) -> usize {
        usize::from(self.0[index / 2] >> (index % 2 * 4) & 0xF)
    }

    /// The codes starting at the first row of a block.
    pub(crate) fn starting_at(self, block: u32) -> NibbleColumn<'a> {
        // A block has an even number of rows, so each starts at a whole byte.
        NibbleColumn(&self.0[Row::of(block, 0).index() / 2..])
    }

    /// The largest code, including the padding after an odd number of rows.
    fn max(self) -> usize {
        let greatest = |max: u8, &codes: &u8| max.max(codes & 0xF).max(codes >> 4);
        self.0.iter().fold(0, greatest).into()
    }
}

/// Encodes the codes of a facet with `values` values in the smallest width.
pub(crate) fn encode(codes: &[u32], values: usize) -> Vec<u8> {
    // Only for at most 15 values, so each code fits into four bits.
    let nibbles = |pair: &[u32]| pair[0] as u8 | (pair.get(1).map_or(0, |&code| code as u8) << 4);
    match values {
        0 => Vec::new(),
        1..=NIBBLE_VALUES_MAX => codes.chunks(2).map(nibbles).collect(),
        _ => column::encode(codes, values),
    }
}

#[cfg(test)]
mod tests;
