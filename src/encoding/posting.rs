//! Postings: the rows with a value, in one of several representations.
//!
//! Most values are rare (half of all title terms occur once), a few are everywhere. So a posting
//! is one of three shapes: a **single row** inline in its entry; a **list** of `u32` rows; or
//! **blocks**, roaring's idea: a container for each block that has rows, listing `u16` offsets
//! where they are few and a bitset where they are many. Everything is viewed in place in the
//! file; roaring's own format is not used because it has to be decoded on opening and because its
//! limit between array and bitset saves memory at the cost of time (see `ARRAY_ROWS_MAX`).

mod bits;

pub(crate) use bits::PostingBits;

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::encoding::row::Row;
use crate::kernels::block::{BLOCK_ROWS, BLOCK_WORDS, BlockBits, block_count};
use crate::kernels::{bits as block_bits, gallop, search, whole};
use crate::{Error, Result};

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

/// The number of a posting in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PostingId(pub(crate) u32);

/// The entry of a posting. Eight bytes; part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PostingEntry {
    /// The row itself, if it is the only one. Otherwise the index of the first row or, with [`IN_BLOCKS`], of the first
    /// container.
    start: u32,
    /// The number of rows.
    cardinality: u32,
}

/// The bit of an entry's start that marks a posting in blocks.
const IN_BLOCKS: u32 = 1 << 31;

/// The rows of one block of a posting or, before the first container of a posting, the number of containers. Eight
/// bytes; part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Container {
    block: u16,
    cardinality_less_one: u16,
    /// The index of the first offset, in `u16`s, or, with [`IS_BITSET`], the number of the bitset. In a head, the number
    /// of containers.
    start: u32,
}

/// The bit of a container's start that marks a bitset.
const IS_BITSET: u32 = 1 << 31;

impl PostingEntry {
    /// Whether its rows, unless there is only one, are a list.
    fn is_list(&self) -> bool {
        self.start & IN_BLOCKS == 0
    }

    /// The index of the head before its containers, if it is in blocks.
    fn head(&self) -> usize {
        (self.start & !IN_BLOCKS) as usize
    }
}

impl Container {
    /// The head before the containers of a posting.
    fn head(containers: usize) -> Container {
        Container {
            block: 0,
            cardinality_less_one: 0,
            start: containers as u32,
        }
    }

    fn cardinality(&self) -> usize {
        usize::from(self.cardinality_less_one) + 1
    }

    fn is_array(&self) -> bool {
        self.start & IS_BITSET == 0
    }

    /// The number of its bitset, if it has one.
    fn bitset(&self) -> usize {
        (self.start & !IS_BITSET) as usize
    }
}

/// A view of all postings of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Postings<'a> {
    pub(crate) entries: &'a [PostingEntry],
    pub(crate) rows: &'a [u32],
    pub(crate) containers: &'a [Container],
    pub(crate) arrays: &'a [u16],
    pub(crate) bitsets: &'a [BlockBits],
}

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

/// The sections of postings' rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostingSection {
    /// Lists of rows.
    Rows,
    /// Containers.
    Containers,
    /// Arrays of offsets.
    Arrays,
    /// Bitsets.
    Bitsets,
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

impl<'a> Postings<'a> {
    /// The stored number of rows of a posting.
    pub(crate) fn cardinality(&self, id: PostingId) -> u32 {
        self.entries[id.0 as usize].cardinality
    }

    /// A view of a posting, which must be valid. Inlined, so that no view goes through memory.
    #[inline(always)]
    pub(crate) fn get(&self, id: PostingId) -> Posting<'a> {
        let entry = &self.entries[id.0 as usize];
        let (start, length) = (entry.start as usize, entry.cardinality as usize);
        match length {
            1 => Posting::List(std::slice::from_ref(&entry.start)),
            _ if entry.is_list() => Posting::List(&self.rows[start..start + length]),
            _ => {
                let head = entry.head();
                let first = head + 1;
                Posting::Blocks {
                    containers: &self.containers
                        [first..first + self.containers[head].start as usize],
                    arrays: self.arrays,
                    bitsets: self.bitsets,
                }
            }
        }
    }

    /// The largest stored number of rows of a posting.
    pub(crate) fn max_cardinality(&self) -> u32 {
        let cardinalities = self.entries.iter().map(|entry| entry.cardinality);
        cardinalities.max().unwrap_or(0)
    }

    /// Visits the byte ranges of a posting's rows, by section. Ranges may exceed their section. Containers are read
    /// only after their range has been visited.
    pub(crate) fn visit_bytes(
        &self,
        number: usize,
        mut visit: impl FnMut(PostingSection, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let entry = &self.entries[number];
        let (start, length) = (entry.start as usize, entry.cardinality as usize);
        if length == 1 {
            return Ok(());
        }
        if entry.is_list() {
            return visit(PostingSection::Rows, bytes_of::<u32>(start, length));
        }
        let head = entry.head();
        visit(PostingSection::Containers, bytes_of::<Container>(head, 1))?;
        let count = self.containers.get(head).map_or(0, |head| head.start);
        let bytes = bytes_of::<Container>(head + 1, count as usize);
        visit(PostingSection::Containers, bytes)?;
        let containers = self.containers_from(head).unwrap_or_default();
        containers.iter().try_for_each(|container| {
            if container.is_array() {
                let bytes = bytes_of::<u16>(container.start as usize, container.cardinality());
                visit(PostingSection::Arrays, bytes)
            } else {
                let bytes = bytes_of::<BlockBits>(container.bitset(), 1);
                visit(PostingSection::Bitsets, bytes)
            }
        })
    }

    /// Checks the bounds, order and cardinalities of existing entries.
    ///
    /// Cost: one pass over their postings.
    pub(crate) fn validate(&self, entries: Range<usize>, row_count: u32) -> Result<()> {
        for (number, entry) in entries.clone().zip(&self.entries[entries]) {
            self.validate_entry(entry, row_count)
                .map_err(|rule| Error::corrupt(format!("posting {number}: {rule}")))?;
        }
        Ok(())
    }

    fn validate_entry(&self, entry: &PostingEntry, row_count: u32) -> Result<(), &'static str> {
        let (start, length) = (entry.start as usize, entry.cardinality as usize);
        match length {
            1 => validate_rows(&[entry.start], row_count),
            _ if entry.is_list() => {
                let rows = self.rows.get(start..start + length);
                validate_rows(rows.ok_or("its rows lie outside the section")?, row_count)
            }
            _ => {
                let containers = self.containers_from(entry.head());
                let containers = containers.ok_or("its containers lie outside the section")?;
                self.validate_containers(containers, entry.cardinality, row_count)
            }
        }
    }

    /// The containers after a head, if both are in bounds.
    fn containers_from(&self, head: usize) -> Option<&'a [Container]> {
        let count = self.containers.get(head)?;
        let containers = self.containers[head + 1..].get(..count.start as usize)?;
        (*count == Container::head(containers.len())).then_some(containers)
    }

    fn validate_containers(
        &self,
        containers: &[Container],
        cardinality: u32,
        row_count: u32,
    ) -> Result<(), &'static str> {
        if !containers.is_sorted_by(|a, b| a.block < b.block) {
            return Err("its containers are out of order");
        }
        let mut total = 0;
        for container in containers {
            total += container.cardinality();
            self.validate_container(container, row_count)?;
        }
        if total != cardinality as usize {
            return Err("its containers do not add up to its cardinality");
        }
        Ok(())
    }

    fn validate_container(&self, container: &Container, rows: u32) -> Result<(), &'static str> {
        let block = u32::from(container.block);
        if block >= block_count(rows) {
            return Err("a container lies after the last row");
        }
        let rows_in_block = (rows - block * BLOCK_ROWS).min(BLOCK_ROWS);
        let start = container.start as usize;
        if container.is_array() {
            let offsets = self.arrays.get(start..start + container.cardinality());
            let offsets = offsets.ok_or("an array lies outside the section")?;
            let ascending = whole::ascend(offsets);
            let last = offsets.last().copied().unwrap_or(0);
            return if ascending && u32::from(last) < rows_in_block {
                Ok(())
            } else {
                Err("an array is out of order or lists a row after the last")
            };
        }
        let bits = self
            .bitsets
            .get(container.bitset())
            .ok_or("a bitset lies outside the section")?;
        if block_bits::count(bits) as usize != container.cardinality() {
            return Err("a bitset does not match its cardinality");
        }
        if highest_bit(bits) < rows_in_block {
            Ok(())
        } else {
            Err("a bitset has a row after the last")
        }
    }
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

    /// Restricts lists to a range of offsets; bitsets are not cut.
    pub(crate) fn between(&self, offsets: &Range<u32>) -> BlockRows<'a> {
        match *self {
            BlockRows::List(rows) => {
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
        list.iter()
            .map(|&row| Row(row).offset())
            .chain(array.iter().copied())
            .chain(
                bits.into_iter()
                    .flat_map(|bits| block_bits::ones(0, bits.as_slice())),
            )
    }
}

/// The byte range of elements of a section. 32-bit numbers cannot overflow.
fn bytes_of<T>(start: usize, length: usize) -> Range<usize> {
    start * size_of::<T>()..(start + length) * size_of::<T>()
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

fn validate_rows(rows: &[u32], row_count: u32) -> Result<(), &'static str> {
    if !whole::ascend(rows) {
        return Err("its rows are out of order");
    }
    match rows.last() {
        Some(&last) if last >= row_count => Err("it lists a row after the last"),
        _ => Ok(()),
    }
}

fn has_rows(bits: &BlockBits) -> bool {
    bits.iter().any(|&word| word != 0)
}

fn highest_bit(bits: &BlockBits) -> u32 {
    let word = bits.iter().rposition(|&word| word != 0).unwrap_or(0);
    word as u32 * 64 + (63 - bits[word].leading_zeros().min(63))
}

/// The bitsets of a dense posting, in a segment of `row_count` rows.
pub(crate) fn dense_bits(rows: impl Iterator<Item = Row>, row_count: u32) -> Vec<BlockBits> {
    let mut bitsets = vec![[0; BLOCK_WORDS]; block_count(row_count) as usize];
    rows.for_each(|row| block_bits::set(&mut bitsets[row.block() as usize], row.offset()));
    bitsets
}

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

#[cfg(test)]
mod tests;
