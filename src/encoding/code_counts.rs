//! Counts the values of a facet among the rows of a block: by their codes, or by intersecting them with the rows of each
//! value.

use crate::Result;
use crate::encoding::column::Column;
use crate::encoding::nibbles::{FacetColumn, NIBBLE_CODES, NibbleColumn};
use crate::encoding::posting::BlockRows;
use crate::encoding::row::Row;
use crate::kernels::block::BlockBits;
use crate::kernels::{bits, popcount, probe};

/// Cost of intersecting a bitset, in units of reading the code of a candidate from the column, about a
/// nanosecond.
const BITSET_COST: u32 = 64;

/// With fewer candidates in a block, columns are read without estimating the alternative: looking up the
/// postings of all values would take as long.
const WEIGHED_CANDIDATES_MIN: u32 = 512;

/// With at least this many candidates, one-byte codes are counted in four tables, which must be cleared and
/// added up.
const SPLIT_OFFSETS_MIN: usize = 2048;

/// From this many rows on, codes of half a byte are counted in four tables, as those of a byte.
const SPLIT_ROWS_MIN: usize = 64;

/// Whether intersecting a block's candidates with the rows of each value is cheaper than reading their codes from the
/// column. A row of a list takes three quarters of the time of a candidate.
///
/// # Errors
/// The rows of a value are damaged.
pub(crate) fn are_sets_cheaper<'a>(
    candidates: u32,
    values: impl Iterator<Item = Result<BlockRows<'a>>>,
) -> Result<bool> {
    if candidates < WEIGHED_CANDIDATES_MIN {
        return Ok(false);
    }
    let cost_max = candidates + candidates / 2;
    let mut cost = 0;
    // Looking up the values is expensive, too, so stop when their cost exceeds the limit.
    for rows in values {
        cost += match rows?.listed() {
            None => BITSET_COST,
            Some(rows) => rows as u32 * 3 / 4,
        };
        if cost >= cost_max {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Adds the rows of each value in a set to the counts of the values.
///
/// # Errors
/// The rows of a value are damaged.
pub(crate) fn count_in_sets<'a>(
    set: &BlockBits,
    values: impl Iterator<Item = Result<BlockRows<'a>>>,
    counts: &mut [u64],
) -> Result<()> {
    for (count, rows) in counts.iter_mut().zip(values) {
        *count += match rows? {
            BlockRows::Bits(other) => u64::from(popcount::count_both(set, other)),
            rows => u64::from(count_set(set, rows)),
        };
    }
    Ok(())
}

/// The number of listed offsets that are set.
pub(crate) fn count_set(set: &BlockBits, offsets: BlockRows<'_>) -> u32 {
    if let BlockRows::Array(offsets) = offsets {
        return probe::count(offsets, set);
    }
    let mut count = 0;
    offsets.for_each(|offset| count += u32::from(bits::test(set, offset)));
    count
}

/// Adds some rows of a block to the counts of their codes, 0 included.
pub(crate) fn count_in_block(
    column: &FacetColumn<'_>,
    block: u32,
    offsets: &[u16],
    counts: &mut [u64],
) {
    let column = match column {
        FacetColumn::Empty => return,
        FacetColumn::Bytes(column) => column,
        FacetColumn::Nibbles(codes) => {
            let codes = codes.starting_at(block);
            let of_block = count_nibbles(codes, offsets, |&offset| offset.into());
            counts
                .iter_mut()
                .zip(of_block)
                .for_each(|(count, n)| *count += n);
            return;
        }
    };
    match column {
        Column::One(codes) if offsets.len() >= SPLIT_OFFSETS_MIN => {
            count_bytes(&codes[Row::of(block, 0).index()..], offsets, counts);
        }
        Column::One(codes) => count_codes(&codes[Row::of(block, 0).index()..], offsets, counts),
        Column::Two(codes) => count_codes(&codes[Row::of(block, 0).index()..], offsets, counts),
        Column::Four(codes) => count_codes(&codes[Row::of(block, 0).index()..], offsets, counts),
    }
}

/// How many of some rows have each code, 0 included.
#[inline]
pub(crate) fn count_nibbles<T>(
    codes: NibbleColumn<'_>,
    rows: &[T],
    index: impl Fn(&T) -> usize,
) -> [u64; NIBBLE_CODES] {
    if rows.len() < SPLIT_ROWS_MIN {
        let mut counts = [0; NIBBLE_CODES];
        for row in rows {
            counts[codes.get(index(row))] += 1;
        }
        return counts;
    }
    // A segment has fewer than 2³² rows, so no counter overflows.
    let mut tables = [[0_u32; NIBBLE_CODES]; 4];
    let (fours, rest) = rows.as_chunks::<4>();
    // Neighbours go to different tables, so equal codes do not wait for each other's store.
    for four in fours {
        for (table, row) in tables.iter_mut().zip(four) {
            table[codes.get(index(row))] += 1;
        }
    }
    for row in rest {
        tables[0][codes.get(index(row))] += 1;
    }
    std::array::from_fn(|code| tables.iter().map(|table| u64::from(table[code])).sum())
}

/// Counts in four tables in turn: neighbours often have the same code, and incrementing a counter that has just
/// been written has to wait for the store.
fn count_bytes(codes: &[u8], offsets: &[u16], counts: &mut [u64]) {
    let mut tables = [[0_u32; 256]; 4];
    let (fours, rest) = offsets.as_chunks::<4>();
    for four in fours {
        for (table, &offset) in tables.iter_mut().zip(four) {
            table[usize::from(codes[usize::from(offset)])] += 1;
        }
    }
    for (code, count) in counts.iter_mut().enumerate() {
        *count += tables
            .iter()
            .map(|table| u64::from(table[code]))
            .sum::<u64>();
    }
    count_codes(codes, rest, counts);
}

fn count_codes<T: Copy + Into<u32>>(codes: &[T], offsets: &[u16], counts: &mut [u64]) {
    for &offset in offsets {
        let code: u32 = codes[usize::from(offset)].into();
        counts[code as usize] += 1;
    }
}
