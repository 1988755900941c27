//! A set of rows of a segment as one bitset per block, for sets that are made block by block.

use super::posting::dense_bits;
use super::row::Row;
use crate::kernels::bits;
use crate::kernels::block::{BLOCK_ROWS, BLOCK_WORDS, BlockBits, rows_in_block};

/// Rows of a segment, each of which is before its last row.
#[derive(Clone, Debug)]
pub(crate) struct RowBits {
    blocks: Vec<BlockBits>,
    row_count: u32,
}

impl RowBits {
    /// No row of a segment with `row_count` rows.
    pub(crate) fn none(row_count: u32) -> RowBits {
        RowBits::of(std::iter::empty(), row_count)
    }

    /// These rows of a segment with `row_count` rows.
    pub(crate) fn of(rows: impl Iterator<Item = Row>, row_count: u32) -> RowBits {
        RowBits {
            blocks: dense_bits(rows, row_count),
            row_count,
        }
    }

    /// The rows of a bitset for each block of a segment with `row_count` rows.
    pub(crate) fn of_blocks(blocks: Vec<BlockBits>, row_count: u32) -> RowBits {
        RowBits { blocks, row_count }
    }

    pub(crate) fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Adds rows of a block.
    pub(crate) fn insert(&mut self, block: u32, offsets: &[u16]) {
        let set = &mut self.blocks[block as usize];
        offsets.iter().for_each(|&offset| bits::set(set, offset));
    }

    /// Adds the rows of some words of a block's bitset, given the index of the first.
    pub(crate) fn insert_words(&mut self, block: u32, first_word: usize, words: &[u64]) {
        let set = &mut self.blocks[block as usize];
        bits::unite(&mut set[first_word..first_word + words.len()], words);
    }

    /// Removes the rows of another set of the same segment.
    pub(crate) fn subtract(&mut self, other: &RowBits) {
        for (set, other) in self.blocks.iter_mut().zip(&other.blocks) {
            bits::subtract(set, other);
        }
    }

    /// Replaces the set by the other rows of the segment.
    pub(crate) fn invert(&mut self) {
        for (block, set) in (0..).zip(&mut self.blocks) {
            set.iter_mut().for_each(|word| *word = !*word);
            let rows = rows_in_block(self.row_count, block);
            if rows < BLOCK_ROWS {
                let last = (rows / 64) as usize;
                set[last] &= (1 << (rows % 64)) - 1;
                set[last + 1..BLOCK_WORDS].fill(0);
            }
        }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> u64 {
        let count = |set: &BlockBits| u64::from(bits::count(set));
        self.blocks.iter().map(count).sum()
    }

    /// Calls `visit` with each block and the offsets of its rows, ascending.
    pub(crate) fn for_each_block(&self, mut visit: impl FnMut(u32, &[u16])) {
        let mut offsets = Vec::new();
        for (block, set) in (0..).zip(&self.blocks) {
            offsets.clear();
            bits::list(0, set, &mut offsets);
            visit(block, &offsets);
        }
    }

    /// The bitsets, by block.
    pub(crate) fn blocks(&self) -> &[BlockBits] {
        &self.blocks
    }

    pub(crate) fn into_blocks(self) -> Vec<BlockBits> {
        self.blocks
    }
}

#[cfg(test)]
mod tests;
