//! Per-block sorted permutations: each block's rows by code, and where each code starts.
//!
//! A block of recent signals has a few late ones, with dates years earlier. The permutation groups their rows, and
//! a table by code gives their range, because each of the sixteen steps of a binary search would be a cache miss.
//! A block whose codes already ascend, as in a corpus with ids in date order, stores no permutation.

use std::ops::RangeInclusive;

use bytemuck::{Pod, Zeroable};

use crate::encoding::column::Column;
use crate::encoding::row::Row;
use crate::encoding::zone_map::Zone;
use crate::kernels::block::{BLOCK_ROWS, rows_in_block};
use crate::kernels::whole;
use crate::{Error, Result};

/// Maximum number of codes of a block, used or not, for which there is a table: it takes two bytes per code, and
/// thus no more than the permutation itself. With more codes, the permutation is searched.
const TABLE_CODES_MAX: u32 = BLOCK_ROWS;

/// The permutation of a block whose codes ascend.
static ASCENDING: [u16; BLOCK_ROWS as usize] = {
    let mut offsets = [0; BLOCK_ROWS as usize];
    let mut offset = 0;
    // Invariant: all entries before `offset` are set.
    while offset < offsets.len() {
        offsets[offset] = offset as u16;
        offset += 1;
    }
    offsets
};

/// A view of the permutations of a column's blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPermutations<'a> {
    pub(crate) rows: u32,
    /// The offsets of the rows of each block whose codes do not ascend, sorted by code, then by offset.
    pub(crate) offsets: &'a [u16],
    pub(crate) ends: &'a [BlockEnds],
    /// By block and by code, from the block's minimum to its maximum: the number of rows with smaller codes.
    pub(crate) starts: &'a [u16],
}

/// The ends of a block's permutation and table. Part of the format.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BlockEnds {
    /// The end of its permutation in the offsets; equal to the end of the previous block if it has none.
    offsets: u32,
    /// The end of its table in the starts.
    table: u32,
}

impl<'a> BlockPermutations<'a> {
    /// The offsets of a block's rows with a code in the range, by ascending code. Cost: two reads of the block's
    /// table, or two binary searches if it has none.
    pub(crate) fn offsets_in(
        &self,
        block: u32,
        codes: &RangeInclusive<u32>,
        within: Zone,
        column: &Column<'_>,
    ) -> &'a [u16] {
        let order = self.of_block(block);
        let table = self.table(block);
        // A code below the minimum starts where the minimum does, at 0.
        let start_of = |code: u32| match table.get(code.saturating_sub(within.min) as usize) {
            _ if code > within.max => order.len(),
            Some(&start) => usize::from(start),
            None => order.partition_point(|&offset| column.get(Row::of(block, offset)) < code),
        };
        let (first, last) = (*codes.start(), *codes.end());
        // A range ends where the next code starts. The largest `u32` has no next code.
        let end = last.checked_add(1).map_or(order.len(), start_of);
        // Only the bounds of tables have been checked, so the start may exceed the end in a damaged
        // one.
        order.get(start_of(first).min(end)..end).unwrap_or_default()
    }

    /// Checks that permutations and tables are in bounds and offsets are valid, so that no access can fail.
    ///
    /// Cost: visits the ends of each block, and the offsets of the last block.
    pub(crate) fn validate_bounds(&self, rows: u32) -> Result<()> {
        let end = self.ends.last().copied().unwrap_or_default();
        let holds = self.rows == rows
            && self.ends.is_sorted_by_key(|ends| ends.table)
            && self.ends.is_sorted_by_key(|ends| ends.offsets)
            && end.table as usize == self.starts.len()
            && end.offsets as usize == self.offsets.len()
            && (0..self.ends.len() as u32)
                .all(|block| self.of_block(block).len() == self.rows_in(block))
            && self.last_block_lists_rows();
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the order of a block lists a row after the last",
            ))
        }
    }

    /// Checks the offsets of the last block; in all others, every offset has a row.
    fn last_block_lists_rows(&self) -> bool {
        let Some(last) = (self.ends.len() as u32).checked_sub(1) else {
            return true;
        };
        usize::from(whole::greatest(self.of_block(last))) < self.rows_in(last)
    }

    /// Checks that the permutation of each block contains every row once and is sorted, and that its table is correct.
    pub(crate) fn validate(&self, rows: u32, column: &Column<'_>, ranges: &[Zone]) -> Result<()> {
        self.validate_bounds(rows)?;
        let holds = self.ends.len() == ranges.len()
            && (0..)
                .zip(ranges)
                .all(|(block, range)| self.is_ordered(block, range, column));
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the rows of a block are not ordered by code",
            ))
        }
    }

    /// Whether codes ascend, and offsets within a code, which also excludes duplicates.
    fn is_ordered(&self, block: u32, range: &Zone, column: &Column<'_>) -> bool {
        let order = self.of_block(block);
        let rows = self.rows_in(block);
        let is_inside = |&offset: &u16| usize::from(offset) < rows;
        let code = |&offset: &u16| column.get(Row::of(block, offset));
        order.len() == rows
            && order.iter().all(is_inside)
            && order.is_sorted_by(|a, b| (code(a), a) < (code(b), b))
            && self.table(block).len() == table_length(range)
            && starts_at(order.iter().map(code), range).eq(self.table(block).iter().copied())
    }

    fn of_block(&self, block: u32) -> &'a [u16] {
        let (start, end) = (self.start(block).offsets, self.ends[block as usize].offsets);
        if start == end {
            return &ASCENDING[..self.rows_in(block)];
        }
        &self.offsets[start as usize..end as usize]
    }

    fn table(&self, block: u32) -> &'a [u16] {
        let (start, end) = (self.start(block).table, self.ends[block as usize].table);
        &self.starts[start as usize..end as usize]
    }

    /// The ends of the previous block.
    fn start(&self, block: u32) -> BlockEnds {
        let before = block.checked_sub(1);
        before.map_or_else(BlockEnds::default, |before| self.ends[before as usize])
    }

    fn rows_in(&self, block: u32) -> usize {
        rows_in_block(self.rows, block) as usize
    }
}

/// The number of codes in a block's table.
fn table_length(range: &Zone) -> usize {
    let codes = range.max.saturating_sub(range.min);
    if codes < TABLE_CODES_MAX {
        codes as usize + 1
    } else {
        0
    }
}

/// For each code of a block's table, the number of smaller codes.
fn starts_at(codes: impl Iterator<Item = u32> + Clone, range: &Zone) -> impl Iterator<Item = u16> {
    let min = range.min;
    let mut codes = codes.peekable();
    let mut before = 0_u32;
    (0..table_length(range) as u32).map(move |index| {
        // Invariant: `before` is the number of codes taken, all of which are smaller than this one.
        while codes.next_if(|&code| code < min + index).is_some() {
            before += 1;
        }
        // A row has the maximum code, so fewer than 65,536 rows have a smaller one.
        before as u16
    })
}

/// The sections of permutations.
#[derive(Debug, Default)]
pub(crate) struct PermutationSections {
    pub(crate) offsets: Vec<u16>,
    pub(crate) ends: Vec<BlockEnds>,
    pub(crate) starts: Vec<u16>,
}

impl PermutationSections {
    /// Sorts the rows of each block, whose codes are in these ranges.
    pub(crate) fn of(codes: &[u32], ranges: &[Zone]) -> PermutationSections {
        let mut sections = PermutationSections::default();
        for (block, range) in codes.chunks(BLOCK_ROWS as usize).zip(ranges) {
            if block.is_sorted() {
                let starts = starts_at(block.iter().copied(), range);
                sections.starts.extend(starts);
            } else {
                let mut order = ASCENDING[..block.len()].to_vec();
                // Stable, so offsets ascend within a code.
                order.sort_by_key(|&offset| block[usize::from(offset)]);
                let ascending = order.iter().map(|&offset| block[usize::from(offset)]);
                sections.starts.extend(starts_at(ascending, range));
                sections.offsets.extend(order);
            }
            // Each block adds at most 65,536 offsets and starts, so both ends fit.
            sections.ends.push(BlockEnds {
                offsets: sections.offsets.len() as u32,
                table: sections.starts.len() as u32,
            });
        }
        sections
    }
}

#[cfg(test)]
mod tests;
