//! Columns whose codes ascend with their values, and what helps to find ranges of them.
//!
//! Signals arrive roughly by date, so most blocks lie inside or outside a range of dates as a whole:
//! their least and greatest codes tell. A few signals arrive late, years even, and make every block
//! a block at the edge; the order of a block's rows by code finds those few without reading the rest.
//! Of the block that a range of recent dates starts in, its stretches tell where.

use std::ops::{Range, RangeInclusive};

use bytemuck::{Pod, Zeroable};

use super::column::{Column, NO_CODE};
use super::row::{BLOCK_ROWS, Row};
use crate::{Error, Result};

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
    pub(super) stretches: Option<&'a [BlockRange]>,
    /// The offsets of each block's rows, by ascending code, where they are kept.
    pub(super) order: Option<&'a [u16]>,
}

impl<'a> OrderedColumn<'a> {
    /// The offsets of a block's rows with a code in the range, by ascending code, where the order
    /// is kept. Cost: two binary searches.
    pub(crate) fn offsets_in(&self, block: u32, range: &RangeInclusive<u32>) -> Option<&'a [u16]> {
        let order = self.order_of(block)?;
        let code = |offset: u16| self.column.get(Row::of(block, offset));
        let start = order.partition_point(|&offset| code(offset) < *range.start());
        let behind = &order[start..];
        Some(&behind[..behind.partition_point(|&offset| code(offset) <= *range.end())])
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

    fn order_of(&self, block: u32) -> Option<&'a [u16]> {
        let first = Row::of(block, 0).index();
        let behind = self.order?.get(first..)?;
        Some(&behind[..behind.len().min(BLOCK_ROWS as usize)])
    }

    /// Checks that the order of each block has every row once, and ascends.
    pub(super) fn validate_order(&self, rows: u32) -> Result<()> {
        let length = self.order.map_or(rows as usize, <[u16]>::len);
        let holds = length == rows as usize
            && (0..self.blocks.len() as u32).all(|block| self.is_ordered(block));
        match holds {
            true => Ok(()),
            false => Err(Error::corrupt(
                "the rows of a block are not ordered by code",
            )),
        }
    }

    /// Codes ascend, and offsets of one code do: then no offset is there twice.
    fn is_ordered(&self, block: u32) -> bool {
        let Some(order) = self.order_of(block) else {
            return true;
        };
        let is_inside = |&offset: &u16| usize::from(offset) < order.len();
        let key = |&offset: &u16| (self.column.get(Row::of(block, offset)), offset);
        order.iter().all(is_inside) && order.is_sorted_by(|a, b| key(a) < key(b))
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
        match ranges.iter().any(overlaps) {
            true => Verdict::Some,
            false => Verdict::None,
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

/// The offsets of each block's rows, by ascending code; those of one code ascend.
pub(crate) fn block_order(codes: &[u32]) -> Vec<u16> {
    let mut order = Vec::with_capacity(codes.len());
    for block in codes.chunks(BLOCK_ROWS as usize) {
        let start = order.len();
        order.extend((0..block.len()).map(|offset| offset as u16));
        order[start..].sort_by_key(|&offset| block[usize::from(offset)]);
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn a_block_finds_the_rows_in_a_range(
            rows in 1_u32..150_000,
            bounds in (0_u32..300, 0_u32..300),
            seed in any::<u32>(),
        ) {
            let codes: Vec<u8> = (0..rows).map(|row| (row.wrapping_mul(seed | 1) >> 13) as u8).collect();
            let wide: Vec<u32> = codes.iter().map(|&code| u32::from(code)).collect();
            let (blocks, stretches, mut order) = (block_ranges(&wide), stretch_ranges(&wide), block_order(&wide));
            fn view<'v>(codes: &'v [u8], [blocks, stretches]: [&'v [BlockRange]; 2], order: &'v [u16]) -> OrderedColumn<'v> {
                OrderedColumn { column: Column::One(codes), blocks, stretches: Some(stretches), order: Some(order) }
            }
            let ordered = view(&codes, [&blocks, &stretches], &order);
            ordered.validate_order(rows).unwrap();
            let range = bounds.0.min(bounds.1)..=bounds.0.max(bounds.1);
            for block in 0..blocks.len() as u32 {
                let mut found = ordered.offsets_in(block, &range).unwrap().to_vec();
                found.sort_unstable();
                let in_block = &wide[Row::of(block, 0).index()..];
                let expected: Vec<u16> = in_block.iter().take(BLOCK_ROWS as usize).enumerate()
                    .filter(|(_, code)| range.contains(code)).map(|(offset, _)| offset as u16).collect();
                let span = ordered.span(block, std::slice::from_ref(&range));
                prop_assert!(expected.iter().all(|&offset| span.contains(&offset.into())));
                prop_assert_eq!(found, expected);
                // A stretch may have codes on both sides of a range and none in it, but not of one
                // that begins with the least code.
                let below = 0..=*range.end();
                let span = ordered.span(block, std::slice::from_ref(&below));
                let is_below = |row: u32| in_block.get(row as usize).is_some_and(|code| below.contains(code));
                let mut ends = [span.start..span.start + STRETCH_ROWS, span.end.saturating_sub(STRETCH_ROWS)..span.end].into_iter();
                prop_assert!(span.is_empty() || ends.all(|mut rows| rows.any(is_below)));
            }
            if rows > 1 {
                order.swap(0, 1);
                prop_assert!(view(&codes, [&blocks, &stretches], &order).validate_order(rows).is_err());
            }
        }
    }
}
