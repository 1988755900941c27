//! Encoding postings: which shape each takes, and the sections that hold them.

use super::{Container, IN_BLOCKS, IS_BITSET, PostingEntry, PostingId, Postings};
use crate::encoding::row::Row;
use crate::kernels::bits as block_bits;
use crate::kernels::block::{BLOCK_WORDS, BlockBits, block_count};

/// Maximum rows of an array container if time matters: one row in 64. Roaring uses up to 4,096; combining bitsets is
/// 4 to 10 times faster from about one row in 128 on, and below one in 64 a bitset would take more than four times
/// the memory of an array.
pub(crate) const ARRAY_ROWS_MAX: usize = 1024;

/// Maximum rows of an array container if space matters: more rows take more bytes than a bitset.
const SMALL_ARRAY_ROWS_MAX: usize = 4096;

/// The criterion for choosing containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Optimize {
    /// The time to combine them with others.
    Time,
    /// Their size, for postings that are rarely combined.
    Space,
}

/// A posting is divided into blocks if it has this many rows per block on average. Below that, the eight bytes of
/// a container outweigh the savings of 16-bit offsets.
const BLOCK_ROWS_MIN: usize = 8;

/// The sections of postings.
#[derive(Debug, Default)]
pub(crate) struct PostingSections {
    pub(crate) entries: Vec<PostingEntry>,
    pub(crate) rows: Vec<u32>,
    pub(crate) containers: Vec<Container>,
    pub(crate) arrays: Vec<u16>,
    pub(crate) bitsets: Vec<BlockBits>,
}

impl PostingSections {
    /// A view of the added postings.
    pub(crate) fn view(&self) -> Postings<'_> {
        Postings {
            entries: &self.entries,
            rows: &self.rows,
            containers: &self.containers,
            arrays: &self.arrays,
            bitsets: &self.bitsets,
        }
    }

    /// Adds a posting of ascending rows, in a segment of `row_count` rows.
    pub(crate) fn push(&mut self, rows: &[u32], row_count: u32, optimize: Optimize) {
        let is_long = rows.len() >= BLOCK_ROWS_MIN * block_count(row_count) as usize;
        let start = match rows {
            &[row] => row,
            [_, ..] if is_long => self.push_containers(rows, optimize),
            _ => {
                let start = self.rows.len() as u32;
                self.rows.extend_from_slice(rows);
                start
            }
        };
        self.entries.push(PostingEntry {
            start,
            cardinality: rows.len() as u32,
        });
    }

    /// Adds a posting of a subset of an earlier posting's rows. If it has all of them, both share the stored rows.
    pub(crate) fn push_part_of(
        &mut self,
        whole: PostingId,
        rows: &[u32],
        row_count: u32,
        optimize: Optimize,
    ) {
        let whole = self.entries[whole.0 as usize];
        if whole.cardinality as usize == rows.len() {
            self.entries.push(whole);
        } else {
            self.push(rows, row_count, optimize);
        }
    }

    /// Whether the numbers of rows, containers and offsets fit into entries and containers.
    pub(crate) fn fit(&self) -> bool {
        let starts = [self.rows.len(), self.containers.len(), self.arrays.len()];
        starts.iter().all(|&starts| starts <= IN_BLOCKS as usize)
    }

    /// Adds the containers of these rows. Returns the start for the posting's entry.
    fn push_containers(&mut self, rows: &[u32], optimize: Optimize) -> u32 {
        let head = self.containers.len();
        self.containers.push(Container::head(0));
        let in_blocks = rows.chunk_by(|&a, &b| Row(a).block() == Row(b).block());
        let array_rows_max = match optimize {
            Optimize::Time => ARRAY_ROWS_MAX,
            Optimize::Space => SMALL_ARRAY_ROWS_MAX,
        };
        in_blocks.for_each(|rows| self.push_container(rows, array_rows_max));
        self.containers[head] = Container::head(self.containers.len() - head - 1);
        head as u32 | IN_BLOCKS
    }

    fn push_container(&mut self, rows: &[u32], array_rows_max: usize) {
        let offsets = rows.iter().map(|&row| Row(row).offset());
        let start = if rows.len() <= array_rows_max {
            let start = self.arrays.len() as u32;
            self.arrays.extend(offsets);
            start
        } else {
            let mut bits = [0; BLOCK_WORDS];
            offsets.for_each(|offset| block_bits::set(&mut bits, offset));
            self.bitsets.push(bits);
            (self.bitsets.len() - 1) as u32 | IS_BITSET
        };
        self.containers.push(Container {
            block: Row(rows[0]).block() as u16,
            cardinality_less_one: (rows.len() - 1) as u16,
            start,
        });
    }
}
