//! Sorts the rows of several lists.

use crate::kernels::bits::ones;
use crate::kernels::block::{BLOCK_ROWS, BLOCK_WORDS};

/// From one row in this many on, rows are sorted by setting their bits: reading all bits takes a nanosecond per two
/// words, and sorting takes ten per row.
const ROWS_PER_BIT_MAX: usize = 512;

/// Sorts rows, all of which are below `row_count`, and drops repeated ones.
pub(crate) fn sort_distinct(rows: &mut Vec<u32>, row_count: usize) {
    if rows.len() < 2 {
        return;
    }
    if rows.len() < row_count / ROWS_PER_BIT_MAX {
        rows.sort_unstable();
        rows.dedup();
        return;
    }
    let mut bits = vec![0_u64; row_count.div_ceil(64)];
    for &row in rows.iter() {
        bits[row as usize / 64] |= 1 << (row % 64);
    }
    rows.clear();
    for (first, words) in (0..)
        .step_by(BLOCK_ROWS as usize)
        .zip(bits.chunks(BLOCK_WORDS))
    {
        rows.extend(ones(0, words).map(|offset| first + u32::from(offset)));
    }
}

#[cfg(test)]
mod tests;
