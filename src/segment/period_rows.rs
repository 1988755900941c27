//! The rows of each period of a unit of time in each block, so that the matches of periods are counted set by set.
//!
//! Signals arrive roughly in the order of their dates, so most rows of a block are in few periods, which become bitsets.
//! The rows of the others are slices of the block's permutation.

use std::ops::RangeInclusive;

use super::calendar::CodedPeriod;
use crate::encoding::column::NO_CODE;
use crate::encoding::zone_map::OrderedColumn;
use crate::kernels::block::{BLOCK_ROWS, BLOCK_WORDS, BlockBits};
use crate::kernels::{bits, popcount, probe};

/// Rows of a period in a block from which they are a bitset: counting one takes as long as probing half as many rows.
const BITSET_MIN: usize = 1024;

/// No block has more periods with that many rows, unless its permutation is damaged.
const BITSETS_MAX: usize = BLOCK_ROWS as usize / BITSET_MIN;

/// Rows that are probed in the time of intersecting two bitsets.
const ROWS_PER_BITSET: usize = 256;

/// By block, the periods that have rows.
#[derive(Debug)]
pub(crate) struct PeriodRows {
    blocks: Vec<BlockPeriods>,
}

#[derive(Debug)]
struct BlockPeriods {
    periods: Vec<BlockPeriod>,
    /// The number of bitsets.
    bitsets: usize,
    /// About how many rows are probed in the time of counting the matches of all periods.
    cost: usize,
}

/// A period in a block.
#[derive(Debug)]
struct BlockPeriod {
    /// The index of the period plus one; 0 for rows without a date.
    group: u32,
    codes: RangeInclusive<u32>,
    /// The rows, if they are many.
    bits: Option<Box<BlockBits>>,
}

impl PeriodRows {
    /// The rows of periods, ascending; `None` without permutations. Cost: a nanosecond per row, and 8 KiB for each period
    /// that has many rows of a block.
    pub(super) fn of(column: &OrderedColumn<'_>, periods: &[CodedPeriod]) -> Option<PeriodRows> {
        column.orders?;
        let blocks = 0..column.blocks.len() as u32;
        Some(PeriodRows {
            blocks: blocks
                .map(|block| BlockPeriods::of(column, block, periods))
                .collect(),
        })
    }

    /// Whether counting the periods of a block takes less time than reading the period of each of `matches` rows.
    pub(crate) fn pays_off(&self, block: u32, matches: usize) -> bool {
        // Reading takes as long as two probes.
        self.blocks[block as usize].cost < 2 * matches
    }

    /// Calls `add` with each period that has rows in a block and the number of these that are set.
    pub(crate) fn count(
        &self,
        column: &OrderedColumn<'_>,
        (block, set): (u32, &BlockBits),
        mut add: impl FnMut(u32, u32),
    ) {
        for period in &self.blocks[block as usize].periods {
            let count = match &period.bits {
                Some(rows) => popcount::count_both(&**rows, set),
                None => {
                    let rows = column.offsets_in(block, &period.codes);
                    probe::count(rows.unwrap_or_default(), set)
                }
            };
            add(period.group, count);
        }
    }
}

impl BlockPeriods {
    fn of(column: &OrderedColumn<'_>, block: u32, periods: &[CodedPeriod]) -> BlockPeriods {
        let zone = column.blocks[block as usize];
        let starts = periods.iter().map(|period| period.first_code);
        let ends = starts
            .clone()
            .skip(1)
            .map(|next| next - 1)
            .chain([zone.max]);
        let dated = (1..).zip(starts.zip(ends).map(|(start, end)| start..=end));
        // Rows without a date are a group of their own.
        let undated = (NO_CODE, NO_CODE..=NO_CODE);
        let mut found = BlockPeriods {
            periods: Vec::new(),
            bitsets: 0,
            cost: 0,
        };
        for (group, codes) in [undated].into_iter().chain(dated) {
            let rows = column.offsets_in(block, &codes).unwrap_or_default();
            if !rows.is_empty() {
                found.add(group, codes, rows);
            }
        }
        found
    }

    fn add(&mut self, group: u32, codes: RangeInclusive<u32>, rows: &[u16]) {
        let are_many = rows.len() >= BITSET_MIN && self.bitsets < BITSETS_MAX;
        self.bitsets += usize::from(are_many);
        self.cost += if are_many {
            ROWS_PER_BITSET
        } else {
            rows.len()
        };
        let bits = are_many.then(|| {
            let mut set = Box::new([0; BLOCK_WORDS]);
            rows.iter().for_each(|&row| bits::set(&mut set, row));
            set
        });
        self.periods.push(BlockPeriod { group, codes, bits });
    }
}
