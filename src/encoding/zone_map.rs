//! Ordered columns with zone maps: the minimum and maximum code of each block.
//!
//! Signals arrive roughly in date order, so zone maps show that most blocks are entirely inside or outside a range
//! of dates. A few signals arrive late, even by years, and put every block at the edge; a sorted permutation of
//! the block finds those few without reading the rest. Within the block where a range of recent dates starts,
//! fine zones locate the boundary.

use std::ops::{Range, RangeInclusive};

use bytemuck::{Pod, Zeroable};

use crate::encoding::block_permutation::BlockPermutations;
use crate::encoding::column::{Column, NO_CODE};
use crate::kernels::block::BLOCK_ROWS;

/// Rows of a fine zone, so a block has 32. Checking them takes about 30 nanoseconds, and scanning a fine zone at
/// the edge a quarter of a microsecond (`benches/queries`, country + size + last days).
const FINE_ZONE_ROWS: u32 = 2048;

/// A view of a column whose codes ascend with its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedColumn<'a> {
    /// The code of each row.
    pub(crate) column: Column<'a>,
    /// The minimum and maximum code of each block.
    pub(crate) blocks: &'a [Zone],
    /// The minimum and maximum code of each fine zone, if stored.
    pub(crate) fine_zones: Option<&'a [Zone]>,
    /// The sorted permutation of each block's rows, if stored.
    pub(crate) orders: Option<BlockPermutations<'a>>,
}

impl<'a> OrderedColumn<'a> {
    /// The offsets of a block's rows with a code in the range, by ascending code, if permutations are stored; as
    /// [`BlockPermutations::offsets_in`].
    pub(crate) fn offsets_in(&self, block: u32, range: &RangeInclusive<u32>) -> Option<&'a [u16]> {
        let within = self.blocks[block as usize];
        Some(self.orders?.offsets_in(block, range, within, &self.column))
    }

    /// A span of offsets, in whole words, that contains the block's rows in the ranges, according to its fine zones.
    pub(crate) fn span(&self, block: u32, ranges: &[RangeInclusive<u32>]) -> Range<u32> {
        let Some(fine_zones) = self.fine_zones_of(block) else {
            return 0..BLOCK_ROWS;
        };
        let has_some = |zone: &Zone| zone.classify(ranges) != Overlap::None;
        let first = fine_zones.iter().position(has_some).unwrap_or(0);
        let last = fine_zones.iter().rposition(has_some);
        // If no zone overlaps, the span is empty.
        let end = last.map_or(first, |last| last + 1);
        first as u32 * FINE_ZONE_ROWS..end as u32 * FINE_ZONE_ROWS
    }

    fn fine_zones_of(&self, block: u32) -> Option<&'a [Zone]> {
        const FINE_ZONES: usize = (BLOCK_ROWS / FINE_ZONE_ROWS) as usize;
        let tail = self.fine_zones?.get(block as usize * FINE_ZONES..)?;
        // The last block may have fewer zones.
        Some(&tail[..tail.len().min(FINE_ZONES)])
    }
}

/// The minimum and maximum code of a block or a fine zone, so that a range can skip or include all of it. Rows
/// without a value have code 0. Part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Zone {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// How a zone overlaps ranges of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    /// No code is in a range.
    None,
    /// Some codes may be in a range.
    Some,
    /// Every code is in a range.
    All,
}

impl Zone {
    /// Classifies the overlap of the zone with these ranges.
    pub(crate) fn classify(&self, ranges: &[RangeInclusive<u32>]) -> Overlap {
        let holds_all =
            |range: &RangeInclusive<u32>| range.contains(&self.min) && range.contains(&self.max);
        let overlaps =
            |range: &RangeInclusive<u32>| *range.start() <= self.max && self.min <= *range.end();
        // All codes are between the minimum and the maximum, so a range with both has all of them.
        if ranges.iter().any(holds_all) {
            return Overlap::All;
        }
        if ranges.iter().any(overlaps) {
            Overlap::Some
        } else {
            Overlap::None
        }
    }
}

/// The zones of a column's blocks.
pub(crate) fn block_zones(codes: &[u32]) -> Vec<Zone> {
    ranges_of(codes.chunks(BLOCK_ROWS as usize))
}

/// The fine zones of a column.
pub(crate) fn fine_zones(codes: &[u32]) -> Vec<Zone> {
    ranges_of(codes.chunks(FINE_ZONE_ROWS as usize))
}

fn ranges_of<'c>(parts: impl Iterator<Item = &'c [u32]>) -> Vec<Zone> {
    let range = |part: &[u32]| Zone {
        min: part.iter().copied().min().unwrap_or(NO_CODE),
        max: part.iter().copied().max().unwrap_or(NO_CODE),
    };
    parts.map(range).collect()
}

/// The number of fine zones of a segment.
pub(crate) fn fine_zone_count(rows: u32) -> u32 {
    rows.div_ceil(FINE_ZONE_ROWS)
}

#[cfg(test)]
mod tests;
