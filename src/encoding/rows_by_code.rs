//! The rows of a column by code, for columns of which most rows have no value: all rows with a value, in the order of
//! their values.
//!
//! A block's permutation orders the rows of one block; this one orders those of the segment, so that the first values
//! of all blocks are read without a merge.

use std::ops::RangeInclusive;

use crate::encoding::column::Column;
use crate::encoding::row::Row;
use crate::kernels::whole;
use crate::{Error, Result};

/// A view of the rows of each code from 1 on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsByCode<'a> {
    /// Where the rows of each value start, and the end of the last.
    starts: &'a [u32],
    /// The rows of each value, ascending.
    rows: &'a [u32],
}

impl<'a> RowsByCode<'a> {
    /// A view of numbers: the starts for this many values, then the rows.
    pub(crate) fn new(numbers: &'a [u32], values: usize) -> Result<RowsByCode<'a>> {
        let parts = numbers.split_at_checked(values + 1);
        let (starts, rows) =
            parts.ok_or_else(|| Error::corrupt("the rows by value have too few starts"))?;
        Ok(RowsByCode { starts, rows })
    }

    /// The number of rows with codes in a range, all of which exist.
    pub(crate) fn count(&self, codes: &RangeInclusive<u32>) -> u64 {
        let (first, last) = (*codes.start() as usize, *codes.end() as usize);
        u64::from(self.starts[last].saturating_sub(self.starts[first - 1]))
    }

    /// The rows with a code, ascending.
    pub(crate) fn rows_of(&self, code: u32) -> &'a [u32] {
        let end = code as usize;
        let span = self.starts[end - 1] as usize..self.starts[end] as usize;
        self.rows.get(span).unwrap_or_default()
    }

    /// The stored numbers.
    #[cfg(test)]
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &'a u32> {
        let RowsByCode { starts, rows } = *self;
        starts.iter().chain(rows)
    }

    /// Checks that every access is in bounds.
    ///
    /// Cost: one pass.
    pub(crate) fn validate_bounds(&self, row_count: u32) -> Result<()> {
        let spans_all = self.starts.is_sorted()
            && self.starts.first() == Some(&0)
            && self.starts.last().map(|&end| end as usize) == Some(self.rows.len());
        let exist = self.rows.is_empty() || whole::greatest(self.rows) < row_count;
        if spans_all && exist {
            Ok(())
        } else {
            Err(Error::corrupt("the rows by value are out of bounds"))
        }
    }

    /// Checks that each value has all of its rows, ascending.
    pub(crate) fn validate(&self, row_count: u32, column: &Column<'_>) -> Result<()> {
        let values = self.starts.len() as u32 - 1;
        let is_whole = |code: u32| {
            let rows = self.rows_of(code);
            rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|&row| column.get(Row(row)) == code)
        };
        let with_value = (0..row_count).filter(|&row| column.get(Row(row)) > 0);
        // Rows ascend and have the code, so none is there twice and equal numbers mean that none is missing.
        if (1..=values).all(is_whole) && with_value.count() == self.rows.len() {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the rows by value are not those of the column",
            ))
        }
    }
}

#[cfg(test)]
mod tests;
