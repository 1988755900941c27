//! Encoding postings: which shape each takes, and the sections that hold them.

use hashbrown::HashMap;

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
#[derive(Clone, Debug, Default)]
pub(crate) struct PostingSections {
    pub(crate) entries: Vec<PostingEntry>,
    pub(crate) rows: Vec<u32>,
    pub(crate) containers: Vec<Container>,
    pub(crate) arrays: Vec<u16>,
    pub(crate) bitsets: Vec<BlockBits>,
    /// Where the first set of each outline is stored, so that equal sets are stored once.
    stored: HashMap<Outline, u32>,
}

/// Distinguishes most sets of rows without reading all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Outline {
    shape: Shape,
    len: u32,
    /// The first, middle and last row of a list, or offset in a container.
    samples: [u32; 3],
}

/// The section that a set is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    List,
    Array,
    Bitset,
}

impl Outline {
    fn of(shape: Shape, rows: &[u32]) -> Outline {
        let sample = |index: usize| match shape {
            Shape::List => rows[index],
            Shape::Array | Shape::Bitset => Row(rows[index]).offset().into(),
        };
        Outline {
            shape,
            len: rows.len() as u32,
            samples: [0, rows.len() / 2, rows.len() - 1].map(sample),
        }
    }
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
            // Refers to no rows, but its start must be in bounds.
            [] => self.rows.len() as u32,
            _ if is_long => self.push_containers(rows, optimize),
            _ => self.push_list(rows),
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
        // The number of containers is known only now.
        self.containers[head] = Container::head(self.containers.len() - head - 1);
        // `fit` checks that no index reaches this bit.
        head as u32 | IN_BLOCKS
    }

    /// Where the first set with the outline of these rows is stored: at `next`, if there is none yet.
    fn first_stored(&mut self, shape: Shape, rows: &[u32], next: u32) -> u32 {
        let outline = Outline::of(shape, rows);
        *self.stored.entry(outline).or_insert(next)
    }

    /// Adds a list of rows, unless it is stored. Returns its start.
    fn push_list(&mut self, rows: &[u32]) -> u32 {
        let next = self.rows.len() as u32;
        let start = self.first_stored(Shape::List, rows, next);
        // Sets with one outline may still differ, so the rows are compared.
        if self.rows[start as usize..].starts_with(rows) {
            return start;
        }
        self.rows.extend_from_slice(rows);
        next
    }

    fn push_container(&mut self, rows: &[u32], array_rows_max: usize) {
        let start = if rows.len() <= array_rows_max {
            self.push_array(rows)
        } else {
            self.push_bitset(rows) | IS_BITSET
        };
        self.containers.push(Container {
            // A segment has at most 65,535 blocks, so the number fits.
            block: Row(rows[0]).block() as u16,
            // `chunk_by` yields no empty chunks, and a block has at most 65,536 rows.
            cardinality_less_one: (rows.len() - 1) as u16,
            start,
        });
    }

    /// Adds the offsets of rows, unless they are stored. Returns their start.
    fn push_array(&mut self, rows: &[u32]) -> u32 {
        let offsets = rows.iter().map(|&row| Row(row).offset());
        let next = self.arrays.len() as u32;
        let start = self.first_stored(Shape::Array, rows, next);
        let stored = self.arrays[start as usize..].iter().take(rows.len());
        if stored.copied().eq(offsets.clone()) {
            return start;
        }
        self.arrays.extend(offsets);
        next
    }

    /// Adds the bitset of rows, unless it is stored. Returns its number.
    fn push_bitset(&mut self, rows: &[u32]) -> u32 {
        let offsets = rows.iter().map(|&row| Row(row).offset());
        let next = self.bitsets.len() as u32;
        let number = self.first_stored(Shape::Bitset, rows, next);
        // Bitsets of one outline have as many bits.
        if let Some(bits) = self.bitsets.get(number as usize)
            && offsets.clone().all(|offset| block_bits::test(bits, offset))
        {
            return number;
        }
        let mut bits = [0; BLOCK_WORDS];
        offsets.for_each(|offset| block_bits::set(&mut bits, offset));
        self.bitsets.push(bits);
        next
    }
}
