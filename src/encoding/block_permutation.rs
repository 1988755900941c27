//! Per-block sorted permutations: each block's rows by code, and where each code starts.
//!
//! A block of recent signals has a few late ones, whose dates are years before. Their rows are next to
//! each other in the block's order; a table by code tells where, since a binary search would look at
//! a code far away for each of its sixteen steps.

use std::ops::RangeInclusive;

use crate::encoding::column::Column;
use crate::encoding::row::Row;
use crate::encoding::zone_map::Zone;
use crate::kernels::block::BLOCK_ROWS;
use crate::kernels::whole;
use crate::{Error, Result};

/// The most codes of a block, used or not, for which there is a table: it takes two bytes a code, and
/// thus no more than the order itself. With more, the order is searched.
const TABLE_CODES_MAX: u32 = BLOCK_ROWS;

/// A view of the orders of a column's blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPermutations<'a> {
    /// The offsets of each block's rows, by ascending code; those of one code ascend.
    pub(crate) offsets: &'a [u16],
    /// Where the table of each block ends among the starts.
    pub(crate) table_ends: &'a [u32],
    /// By block and by code, from the block's minimum to its maximum: how many of its rows come before.
    pub(crate) starts: &'a [u16],
}

impl<'a> BlockPermutations<'a> {
    /// The offsets of a block's rows with a code in the range, by ascending code. Cost: two looks at
    /// the block's table, or two binary searches where it has none.
    pub(crate) fn offsets_in(
        &self,
        block: u32,
        codes: &RangeInclusive<u32>,
        within: Zone,
        column: &Column<'_>,
    ) -> &'a [u16] {
        let order = self.of_block(block);
        let table = self.table(block);
        let start_of = |code: u32| match table.get(code.saturating_sub(within.min) as usize) {
            _ if code > within.max => order.len(),
            Some(&start) => usize::from(start),
            None => order.partition_point(|&offset| column.get(Row::of(block, offset)) < code),
        };
        let (first, last) = (*codes.start(), *codes.end());
        let end = last.checked_add(1).map_or(order.len(), start_of);
        order.get(start_of(first).min(end)..end).unwrap_or_default()
    }

    /// Checks that tables have bounds and offsets are of rows, so that no view can fail.
    ///
    /// Cost: looks at each block's end, and at the offsets of the last block.
    pub(crate) fn validate_bounds(&self, rows: u32) -> Result<()> {
        let last_block = rows.checked_sub(1).map_or(0, |last| Row(last).block());
        let last = self.of_block(last_block);
        let holds = self.table_ends.is_sorted()
            && self.table_ends.last().map_or(0, |&end| end as usize) == self.starts.len()
            && usize::from(whole::greatest(last)) < last.len().max(1);
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the order of a block lists a row after the last",
            ))
        }
    }

    /// Checks that the order of each block has every row once and ascends, and that its table says
    /// where codes start.
    pub(crate) fn validate(&self, rows: u32, column: &Column<'_>, ranges: &[Zone]) -> Result<()> {
        self.validate_bounds(rows)?;
        let holds = self.offsets.len() == rows as usize
            && self.table_ends.len() == ranges.len()
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

    /// Codes ascend, and offsets of one code do: then no offset is there twice.
    fn is_ordered(&self, block: u32, range: &Zone, column: &Column<'_>) -> bool {
        let order = self.of_block(block);
        let is_inside = |&offset: &u16| usize::from(offset) < order.len();
        let code = |&offset: &u16| column.get(Row::of(block, offset));
        order.iter().all(is_inside)
            && order.is_sorted_by(|a, b| (code(a), a) < (code(b), b))
            && self.table(block).len() == table_length(range)
            && starts_at(order.iter().map(code), range).eq(self.table(block).iter().copied())
    }

    fn of_block(&self, block: u32) -> &'a [u16] {
        let tail = &self.offsets[Row::of(block, 0).index()..];
        &tail[..tail.len().min(BLOCK_ROWS as usize)]
    }

    fn table(&self, block: u32) -> &'a [u16] {
        let block = block as usize;
        let start = block
            .checked_sub(1)
            .map_or(0, |before| self.table_ends[before]);
        &self.starts[start as usize..self.table_ends[block] as usize]
    }
}

/// How many codes a block's table has.
fn table_length(range: &Zone) -> usize {
    let codes = range.max.saturating_sub(range.min);
    if codes < TABLE_CODES_MAX {
        codes as usize + 1
    } else {
        0
    }
}

/// How many of some ascending codes come before each code of a block's table.
fn starts_at(codes: impl Iterator<Item = u32> + Clone, range: &Zone) -> impl Iterator<Item = u16> {
    let min = range.min;
    let mut codes = codes.peekable();
    let mut before = 0_u32;
    (0..table_length(range) as u32).map(move |index| {
        while codes.next_if(|&code| code < min + index).is_some() {
            before += 1;
        }
        before as u16
    })
}

/// The sections of orders.
#[derive(Debug, Default)]
pub(crate) struct PermutationSections {
    pub(crate) offsets: Vec<u16>,
    pub(crate) table_ends: Vec<u32>,
    pub(crate) starts: Vec<u16>,
}

impl PermutationSections {
    /// Orders the rows of each block, whose codes are in these ranges.
    pub(crate) fn of(codes: &[u32], ranges: &[Zone]) -> PermutationSections {
        let mut sections = PermutationSections::default();
        for (block, range) in codes.chunks(BLOCK_ROWS as usize).zip(ranges) {
            let first = sections.offsets.len();
            sections
                .offsets
                .extend((0..block.len()).map(|offset| offset as u16));
            let order = &mut sections.offsets[first..];
            order.sort_by_key(|&offset| block[usize::from(offset)]);
            let ascending = order.iter().map(|&offset| block[usize::from(offset)]);
            sections.starts.extend(starts_at(ascending, range));
            sections.table_ends.push(sections.starts.len() as u32);
        }
        sections
    }
}

#[cfg(test)]
mod tests;
