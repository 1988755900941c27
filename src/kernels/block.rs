//! Blocks: the spans of rows that one `u16` addresses.

/// Rows of a block: the span that one `u16` addresses. The bitset of a block takes 8 KiB, so the working set
/// of a block stays in the L1 cache.
pub(crate) const BLOCK_ROWS: u32 = 1 << 16;

/// Words of a block's bitset.
pub(crate) const BLOCK_WORDS: usize = (BLOCK_ROWS / 64) as usize;

/// A block's rows as bits, the lowest row in the lowest bit of the first word.
pub(crate) type BlockBits = [u64; BLOCK_WORDS];

/// The number of blocks that hold `rows` rows.
pub(crate) fn block_count(rows: u32) -> u32 {
    rows.div_ceil(BLOCK_ROWS)
}

/// The number of rows of a block, of `rows` rows in all.
pub(crate) fn rows_in_block(rows: u32, block: u32) -> u32 {
    (rows - block * BLOCK_ROWS).min(BLOCK_ROWS)
}
