//! Facet columns: nibble columns, two codes a byte, where a facet has few values, as most have.
//!
//! They are a type of their own because nobody asks for ranges of a facet's codes: those of few rows
//! are read one by one, and where there are many rows, bitsets are counted instead. Then half the
//! bytes are half the cache lines.

use crate::encoding::column::{self, Column};
use crate::encoding::row::Row;
use crate::{Error, Result};

/// The most values whose codes take half a byte, none being a code too.
const NIBBLE_VALUES_MAX: usize = 15;

/// A view of the codes of a facet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FacetColumn<'a> {
    /// At most 15 values.
    Nibbles(NibbleColumn<'a>),
    /// More.
    Bytes(Column<'a>),
}

/// Codes of half a byte: that of an even row in the lower half, of the next row in the upper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NibbleColumn<'a>(&'a [u8]);

impl<'a> FacetColumn<'a> {
    /// A view of a column of `rows` rows, for a facet of `values` values.
    pub(crate) fn new(bytes: &'a [u8], rows: u32, values: usize) -> Result<FacetColumn<'a>> {
        if values > NIBBLE_VALUES_MAX {
            return Column::new(bytes, rows).map(FacetColumn::Bytes);
        }
        if bytes.len() == rows.div_ceil(2) as usize {
            Ok(FacetColumn::Nibbles(NibbleColumn(bytes)))
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
            FacetColumn::Nibbles(codes) => codes.get(row.index()) as u32,
            FacetColumn::Bytes(column) => column.get(row),
        }
    }

    /// Checks that no code exceeds the number of values.
    pub(crate) fn validate(&self, values: usize) -> Result<()> {
        let holds = match self {
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

    /// The codes from the first row of a block on.
    pub(crate) fn starting_at(self, block: u32) -> NibbleColumn<'a> {
        NibbleColumn(&self.0[Row::of(block, 0).index() / 2..])
    }

    /// The largest code, that after the last of an odd number of rows included.
    fn max(self) -> usize {
        let greatest = |max: u8, &codes: &u8| max.max(codes & 0xF).max(codes >> 4);
        self.0.iter().fold(0, greatest).into()
    }
}

/// The codes of a facet of `values` values, in the width that they need.
pub(crate) fn encode(codes: &[u32], values: usize) -> Vec<u8> {
    if values > NIBBLE_VALUES_MAX {
        return column::encode(codes, values);
    }
    let pairs = codes.chunks(2);
    pairs
        .map(|pair| pair[0] as u8 | (pair.get(1).map_or(0, |&code| code as u8) << 4))
        .collect()
}

#[cfg(test)]
mod tests;
