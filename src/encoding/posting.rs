//! Postings: the rows with a value, in one of several representations.
//!
//! Most values are rare (half of all title terms occur once), a few are everywhere. So a posting
//! is one of three shapes: a **single row** inline in its entry; a **list** of `u32` rows; or
//! **blocks**, roaring's idea: a container for each block that has rows, listing `u16` offsets
//! where they are few and a bitset where they are many. Everything is viewed in place in the
//! file; roaring's own format is not used because it has to be decoded on opening and because its
//! limit between array and bitset saves memory at the cost of time (see `ARRAY_ROWS_MAX`).

mod sections;
mod view;

pub(crate) use sections::{ARRAY_ROWS_MAX, Optimize, PostingSections};
pub(crate) use view::{BlockRows, Posting, dense_bits};

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::kernels::block::{BlockBits, block_count, rows_in_block};
use crate::kernels::{bits as block_bits, whole};
use crate::{Error, Result};

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
        // The head exists, so `head + 1` is at most the length.
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
        let rows_in_block = rows_in_block(rows, block);
        let start = container.start as usize;
        if container.is_array() {
            let offsets = self.arrays.get(start..start + container.cardinality());
            let offsets = offsets.ok_or("an array lies outside the section")?;
            let ascending = whole::ascend(offsets);
            // Ascending offsets are at most the last one.
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

/// The byte range of elements of a section. 32-bit numbers cannot overflow.
fn bytes_of<T>(start: usize, length: usize) -> Range<usize> {
    start * size_of::<T>()..(start + length) * size_of::<T>()
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

fn highest_bit(bits: &BlockBits) -> u32 {
    let word = bits.iter().rposition(|&word| word != 0).unwrap_or(0);
    // An empty word has 64 leading zeros.
    word as u32 * 64 + (63 - bits[word].leading_zeros().min(63))
}

#[cfg(test)]
mod tests;
