//! Columns whose codes ascend with their values, with zone maps: the minimum and maximum of each block.
//!
//! Signals arrive roughly by date, so most blocks lie inside or outside a range of dates as a whole:
//! their least and greatest codes tell. A few signals arrive late, years even, and make every block
//! a block at the edge; the order of a block's rows by code finds those few without reading the rest.
//! Of the block that a range of recent dates starts in, its stretches tell where.

use std::ops::{Range, RangeInclusive};

use bytemuck::{Pod, Zeroable};

use crate::encoding::block_permutation::BlockOrders;
use crate::encoding::column::{Column, NO_CODE};
use crate::kernels::block::BLOCK_ROWS;

/// Rows of a stretch, of which there are 32 in a block. Looking through them takes some 30
/// nanoseconds, and a stretch at the edge a quarter of a microsecond (`benches/queries`, country +
/// size + last days).
const STRETCH_ROWS: u32 = 2048;

/// A view of a column whose codes ascend with its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedColumn<'a> {
    /// The code of each row.
    pub(crate) column: Column<'a>,
    /// The least and greatest code of each block.
    pub(crate) blocks: &'a [BlockRange],
    /// The least and greatest code of each stretch, where they are kept.
    pub(crate) stretches: Option<&'a [BlockRange]>,
    /// The order of each block's rows, where it is kept.
    pub(crate) orders: Option<BlockOrders<'a>>,
}

impl<'a> OrderedColumn<'a> {
    /// The offsets of a block's rows with a code in the range, by ascending code, where the order
    /// is kept; as [`BlockOrders::offsets_in`].
    pub(crate) fn offsets_in(&self, block: u32, range: &RangeInclusive<u32>) -> Option<&'a [u16]> {
        let within = self.blocks[block as usize];
        Some(self.orders?.offsets_in(block, range, within, &self.column))
    }

    /// Where a block's rows with a code in one of the ranges are, as far as its stretches tell:
    /// offsets in whole words.
    pub(crate) fn span(&self, block: u32, ranges: &[RangeInclusive<u32>]) -> Range<u32> {
        let Some(stretches) = self.stretches_of(block) else {
            return 0..BLOCK_ROWS;
        };
        let has_some = |stretch: &BlockRange| stretch.judge(ranges) != Verdict::None;
        let first = stretches.iter().position(has_some).unwrap_or(0);
        let last = stretches.iter().rposition(has_some);
        let behind = last.map_or(first, |last| last + 1);
        first as u32 * STRETCH_ROWS..behind as u32 * STRETCH_ROWS
    }

    fn stretches_of(&self, block: u32) -> Option<&'a [BlockRange]> {
        const STRETCHES: usize = (BLOCK_ROWS / STRETCH_ROWS) as usize;
        let behind = self.stretches?.get(block as usize * STRETCHES..)?;
        Some(&behind[..behind.len().min(STRETCHES)])
    }
}

/// The least and greatest code of a block or a stretch, so that a range can skip it or take it whole. Rows
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
        if ranges.iter().any(overlaps) {
            Verdict::Some
        } else {
            Verdict::None
        }
    }
}

/// The ranges of a column's blocks.
pub(crate) fn block_ranges(codes: &[u32]) -> Vec<BlockRange> {
    ranges_of(codes.chunks(BLOCK_ROWS as usize))
}

/// The ranges of the stretches of a column's blocks.
pub(crate) fn stretch_ranges(codes: &[u32]) -> Vec<BlockRange> {
    ranges_of(codes.chunks(STRETCH_ROWS as usize))
}

fn ranges_of<'c>(parts: impl Iterator<Item = &'c [u32]>) -> Vec<BlockRange> {
    let range = |part: &[u32]| BlockRange {
        least: part.iter().copied().min().unwrap_or(NO_CODE),
        greatest: part.iter().copied().max().unwrap_or(NO_CODE),
    };
    parts.map(range).collect()
}

/// How many stretches the rows of a segment have.
pub(crate) fn stretch_count(rows: u32) -> u32 {
    rows.div_ceil(STRETCH_ROWS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_span_holds_the_rows_in_a_range(
            rows in 1_u32..150_000,
            bounds in (0_u32..300, 0_u32..300),
            seed in any::<u32>(),
        ) {
            let codes: Vec<u8> = (0..rows).map(|row| (row.wrapping_mul(seed | 1) >> 13) as u8).collect();
            let wide: Vec<u32> = codes.iter().map(|&code| u32::from(code)).collect();
            let (blocks, stretches) = (block_ranges(&wide), stretch_ranges(&wide));
            let column = Column::One(&codes);
            let ordered = OrderedColumn { column, blocks: &blocks, stretches: Some(&stretches), orders: None };
            let range = bounds.0.min(bounds.1)..=bounds.0.max(bounds.1);
            for (block, in_block) in (0..).zip(wide.chunks(BLOCK_ROWS as usize)) {
                let span = ordered.span(block, std::slice::from_ref(&range));
                let mut offsets = (0..).zip(in_block).filter(|(_, code)| range.contains(code));
                prop_assert!(offsets.all(|(offset, _)| span.contains(&offset)));
                // A stretch may have codes on both sides of a range and none in it, but not of one
                // that begins with the least code.
                let below = 0..=*range.end();
                let span = ordered.span(block, std::slice::from_ref(&below));
                let is_below = |row: u32| in_block.get(row as usize).is_some_and(|code| below.contains(code));
                let mut ends = [span.start..span.start + STRETCH_ROWS, span.end.saturating_sub(STRETCH_ROWS)..span.end].into_iter();
                prop_assert!(span.is_empty() || ends.all(|mut rows| rows.any(is_below)));
            }
        }
    }
}
