//! Views of postings: the rows of one, by block.

use std::ops::Range;

use super::Container;
use crate::encoding::row::Row;
use crate::kernels::block::{BLOCK_ROWS, BLOCK_WORDS, BlockBits, block_count};
use crate::kernels::{bits as block_bits, gallop, search};

/// A view of one posting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Posting<'a> {
    /// Rows, ascending.
    List(&'a [u32]),
    /// A container for each block that has rows, ascending.
    Blocks {
        containers: &'a [Container],
        arrays: &'a [u16],
        bitsets: &'a [BlockBits],
    },
    /// A bitset per block of the segment. Only in memory, for deleted rows.
    Dense(&'a [BlockBits]),
}

/// The rows of a posting in one block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BlockRows<'a> {
    /// Rows of the segment in the block, ascending; empty if the block has none.
    List(&'a [u32]),
    /// Offsets in the block, ascending.
    Array(&'a [u16]),
    /// Every offset as a bit.
    Bits(&'a BlockBits),
}

impl<'a> Posting<'a> {
    /// The posting's rows in a block. Cost: a binary search, or none if every block has rows.
    #[inline(always)]
    pub(crate) fn block(&self, block: u32) -> BlockRows<'a> {
        match *self {
            Posting::List(rows) => BlockRows::List(rows_of_block(rows, block)),
            Posting::Blocks {
                containers,
                arrays,
                bitsets,
            } => match find_container(containers, block) {
                Some(container) => container.view(arrays, bitsets),
                None => BlockRows::List(&[]),
            },
            Posting::Dense(bitsets) => match bitsets.get(block as usize) {
                Some(bits) => BlockRows::Bits(bits),
                None => BlockRows::List(&[]),
            },
        }
    }

    /// Whether its first block is a bitset.
    pub(crate) fn is_bits(&self) -> bool {
        match self {
            Posting::List(_) => false,
            Posting::Blocks { containers, .. } => containers
                .first()
                .is_some_and(|container| !container.is_array()),
            Posting::Dense(_) => true,
        }
    }

    /// The stored number of rows in a block.
    pub(crate) fn rows_in(&self, block: u32) -> usize {
        match *self {
            Posting::List(rows) => rows_of_block(rows, block).len(),
            Posting::Blocks { containers, .. } => {
                find_container(containers, block).map_or(0, Container::cardinality)
            }
            Posting::Dense(bitsets) => {
                let set = bitsets.get(block as usize);
                set.map_or(0, |set| block_bits::count(set) as usize)
            }
        }
    }

    /// Whether it contains a row.
    #[inline]
    pub(crate) fn contains(&self, row: Row) -> bool {
        match self {
            Posting::List(rows) => rows.binary_search(&row.0).is_ok(),
            Posting::Blocks { .. } | Posting::Dense(_) => {
                self.block(row.block()).contains(row.offset())
            }
        }
    }

    /// The first block at or after `block` that has rows.
    #[inline]
    pub(crate) fn next_block(&self, block: u32) -> Option<u32> {
        match *self {
            Posting::List(rows) => {
                let first = rows.partition_point(|&row| Row(row).block() < block);
                rows.get(first).map(|&row| Row(row).block())
            }
            Posting::Blocks { containers, .. } => {
                // A dense posting usually has a container for every block, so no search is needed.
                if has_container_in_place(containers, block) {
                    return Some(block);
                }
                let first = containers.partition_point(|entry| u32::from(entry.block) < block);
                containers
                    .get(first)
                    .map(|container| u32::from(container.block))
            }
            Posting::Dense(bitsets) => {
                (block..bitsets.len() as u32).find(|&block| has_rows(&bitsets[block as usize]))
            }
        }
    }

    /// The last block at or before `block` that has rows.
    #[inline]
    pub(crate) fn previous_block(&self, block: u32) -> Option<u32> {
        match *self {
            Posting::List(rows) => {
                let end = rows.partition_point(|&row| Row(row).block() <= block);
                end.checked_sub(1).map(|last| Row(rows[last]).block())
            }
            Posting::Blocks { containers, .. } => {
                if has_container_in_place(containers, block) {
                    return Some(block);
                }
                let end = containers.partition_point(|entry| u32::from(entry.block) <= block);
                end.checked_sub(1)
                    .map(|last| u32::from(containers[last].block))
            }
            Posting::Dense(bitsets) => {
                let end = bitsets.len().min(block as usize + 1);
                let last = bitsets[..end].iter().rposition(has_rows);
                last.map(|last| last as u32)
            }
        }
    }

    /// All rows, ascending.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row> + use<'a> {
        let (list, containers, dense): (&[u32], &[Container], &[BlockBits]) = match *self {
            Posting::List(rows) => (rows, &[], &[]),
            Posting::Blocks { containers, .. } => (&[], containers, &[]),
            Posting::Dense(dense) => (&[], &[], dense),
        };
        let (arrays, bitsets): (&[u16], &[BlockBits]) = match *self {
            Posting::Blocks {
                arrays, bitsets, ..
            } => (arrays, bitsets),
            Posting::List(_) | Posting::Dense(_) => (&[], &[]),
        };
        let of_dense = (0..).zip(dense).flat_map(|(block, set)| {
            block_bits::ones(0, set.as_slice()).map(move |offset| Row::of(block, offset))
        });
        let in_blocks = containers.iter().flat_map(move |container| {
            let block = u32::from(container.block);
            container
                .view(arrays, bitsets)
                .offsets()
                .map(move |offset| Row::of(block, offset))
        });
        // At most one of the three has rows.
        let listed = list.iter().map(|&row| Row(row));
        listed.chain(in_blocks).chain(of_dense)
    }
}

impl Container {
    fn view<'a>(&self, arrays: &'a [u16], bitsets: &'a [BlockBits]) -> BlockRows<'a> {
        let start = self.start as usize;
        if self.is_array() {
            BlockRows::Array(&arrays[start..start + self.cardinality()])
        } else {
            BlockRows::Bits(&bitsets[self.bitset()])
        }
    }
}

impl<'a> BlockRows<'a> {
    /// The number of rows if they are a list; bits would have to be counted.
    pub(crate) fn listed(&self) -> Option<usize> {
        match self {
            BlockRows::List(rows) => Some(rows.len()),
            BlockRows::Array(offsets) => Some(offsets.len()),
            BlockRows::Bits(_) => None,
        }
    }

    /// The bytes that they take.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match *self {
            BlockRows::List(rows) => size_of_val(rows),
            BlockRows::Array(offsets) => size_of_val(offsets),
            BlockRows::Bits(bits) => size_of_val(bits),
        };
        bytes as u64
    }

    /// Restricts lists to a range of offsets; bitsets are not cut.
    pub(crate) fn between(&self, offsets: &Range<u32>) -> BlockRows<'a> {
        match *self {
            BlockRows::List(rows) => {
                // All rows are in one block, that of the first.
                let first = rows.first().map_or(0, |&row| Row(row).block() * BLOCK_ROWS);
                let rows = gallop::between(rows, &(first + offsets.start..first + offsets.end));
                BlockRows::List(rows)
            }
            BlockRows::Array(array) => BlockRows::Array(gallop::between(array, offsets)),
            BlockRows::Bits(bits) => BlockRows::Bits(bits),
        }
    }

    /// Whether the row at an offset of the block is contained.
    #[inline(always)]
    pub(crate) fn contains(&self, offset: u16) -> bool {
        match self {
            BlockRows::List(rows) => rows
                .binary_search_by_key(&offset, |&row| Row(row).offset())
                .is_ok(),
            BlockRows::Array(offsets) => search::contains(offsets, offset),
            BlockRows::Bits(bits) => block_bits::test(bits, offset),
        }
    }

    /// Calls `visit` with each offset, ascending. Faster than [`offsets`](Self::offsets), which checks the
    /// representation at every step.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(u16)) {
        match self {
            BlockRows::List(rows) => rows.iter().for_each(|&row| visit(Row(row).offset())),
            BlockRows::Array(offsets) => offsets.iter().for_each(|&offset| visit(offset)),
            BlockRows::Bits(bits) => block_bits::ones(0, bits.as_slice()).for_each(visit),
        }
    }

    /// Overwrites a list with the offsets, ascending.
    pub(crate) fn list_into(&self, list: &mut Vec<u16>) {
        list.clear();
        match self {
            BlockRows::List(rows) => list.extend(rows.iter().map(|&row| Row(row).offset())),
            BlockRows::Array(offsets) => list.extend_from_slice(offsets),
            BlockRows::Bits(bits) => block_bits::list(0, bits.as_slice(), list),
        }
    }

    /// The offsets, ascending.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u16> + use<'a> {
        let (list, array, bits) = match *self {
            BlockRows::List(rows) => (rows, [].as_slice(), None),
            BlockRows::Array(offsets) => ([].as_slice(), offsets, None),
            BlockRows::Bits(bits) => ([].as_slice(), [].as_slice(), Some(bits)),
        };
        // At most one of the three has offsets.
        list.iter()
            .map(|&row| Row(row).offset())
            .chain(array.iter().copied())
            .chain(
                bits.into_iter()
                    .flat_map(|bits| block_bits::ones(0, bits.as_slice())),
            )
    }
}

fn rows_of_block(rows: &[u32], block: u32) -> &[u32] {
    let first = rows.partition_point(|&row| Row(row).block() < block);
    let length = rows[first..].partition_point(|&row| Row(row).block() == block);
    &rows[first..first + length]
}

/// Whether the block's number is the index of its container: it and all blocks before it have containers.
fn has_container_in_place(containers: &[Container], block: u32) -> bool {
    let in_place = containers.get(block as usize);
    in_place.is_some_and(|container| u32::from(container.block) == block)
}

fn find_container(containers: &[Container], block: u32) -> Option<&Container> {
    if has_container_in_place(containers, block) {
        return containers.get(block as usize);
    }
    let found = containers.binary_search_by_key(&block, |container| u32::from(container.block));
    found.ok().map(|index| &containers[index])
}

fn has_rows(bits: &BlockBits) -> bool {
    bits.iter().any(|&word| word != 0)
}

/// The bitsets of a dense posting, in a segment of `row_count` rows.
pub(crate) fn dense_bits(rows: impl Iterator<Item = Row>, row_count: u32) -> Vec<BlockBits> {
    let mut bitsets = vec![[0; BLOCK_WORDS]; block_count(row_count) as usize];
    rows.for_each(|row| block_bits::set(&mut bitsets[row.block() as usize], row.offset()));
    bitsets
}
