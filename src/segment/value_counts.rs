//! How many rows of a frequent posting have each value of each facet: an optional section, so that facets under one
//! frequent word or value need no rows.
//!
//! ```text
//! width   what
//! 4       n, the number of postings
//! 4       CRC-32C of n and the entries
//! 12·n    entries by ascending posting: posting, end of its counts, CRC-32C of its counts
//!         counts, posting by posting: a byte per facet, the width of its numbers, which is 0, 1, 2 or 4; then the
//!         numbers, facet by facet and value by value
//! ```
//!
//! The entries are checked before the first use of any, counts before the first use of those of their posting, as
//! records are: a question reads a few hundred bytes of up to megabytes.

use bytemuck::{Pod, Zeroable};

use super::ensure::ensure;
use super::format::{KindNumber, OPTIONAL_KINDS};
use crate::encoding::code_counts::{are_sets_cheaper, count_in_block, count_in_sets};
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::posting::{BlockRows, PostingId, Postings};
use crate::query::Facet;
use crate::{Error, Result};

/// The kind of the section.
pub(super) const VALUE_COUNTS: KindNumber = OPTIONAL_KINDS;

/// A posting needs one row in this many: counting fewer takes as little as a page.
const ROWS_SHARE: u32 = 1024;

/// A posting needs this many rows per value of all facets: counting fewer takes some microseconds. In tests, whose
/// segments are small, every posting may have counts.
const ROWS_PER_VALUE: usize = if cfg!(test) { 0 } else { 16 };

/// The section takes at most one byte in this many of the file, 3 %.
const FILE_SHARE: u64 = if cfg!(test) { 1 } else { 33 };

/// Postings that are counted together, block by block: the codes of a block, half a megabyte, are read from memory once for
/// all of them. One after the other, each reads the codes of the whole segment, which no cache holds.
const COUNTED_TOGETHER: usize = if cfg!(test) { 2 } else { 64 };

/// Bytes before the entries.
const HEAD_BYTES: usize = 8;

const FACETS: usize = Facet::ALL.len();

/// The counts of one posting. Twelve bytes; part of the format.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct CountsEntry {
    posting: u32,
    end: u32,
    checksum: u32,
}

/// A view of the section.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueCounts<'a> {
    /// What the checksum of entries covers, and that checksum.
    head: (u32, u32),
    entries: &'a [CountsEntry],
    bytes: &'a [u8],
}

/// The stored counts of a posting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostingCounts<'a> {
    /// The numbers of each facet, and their width in bytes.
    numbers: [(&'a [u8], u8); FACETS],
}

impl<'a> ValueCounts<'a> {
    /// The view where nothing is stored.
    pub(super) fn none() -> ValueCounts<'a> {
        ValueCounts {
            head: (0, head_checksum(0, &[])),
            entries: &[],
            bytes: &[],
        }
    }

    /// # Errors
    /// The section is too short for its entries.
    pub(super) fn new(bytes: &'a [u8]) -> Result<ValueCounts<'a>> {
        let short = || Error::corrupt("the section of value counts ends in the middle");
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or_else(short)?;
        let [a, b, c, d, checksum @ ..] = *head;
        let (n, checksum) = (
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes(checksum),
        );
        let entries = n as usize * size_of::<CountsEntry>();
        let (entries, bytes) = rest.split_at_checked(entries).ok_or_else(short)?;
        Ok(ValueCounts {
            head: (n, checksum),
            // Sections are aligned, and so are numbers after the first two.
            entries: bytemuck::try_cast_slice(entries).map_err(|_| short())?,
            bytes,
        })
    }

    /// The number of postings.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The postings, ascending.
    pub(super) fn postings(&self) -> impl ExactSizeIterator<Item = PostingId> + use<'a> {
        self.entries.iter().map(|entry| PostingId(entry.posting))
    }

    /// The index of a posting's entry.
    pub(super) fn find(&self, posting: PostingId) -> Option<usize> {
        let found = self
            .entries
            .binary_search_by_key(&posting.0, |entry| entry.posting);
        found.ok()
    }

    /// Checks the entries. `postings` is the number of postings of rows.
    pub(super) fn validate(&self, postings: u32) -> Result<()> {
        let (n, checksum) = self.head;
        ensure(
            head_checksum(n, self.entries) == checksum,
            "the entries of value counts do not match their checksum",
        )?;
        let ascend = self
            .entries
            .is_sorted_by(|a, b| a.posting < b.posting && a.end <= b.end);
        let last = self.entries.last();
        ensure(
            ascend && last.is_none_or(|last| last.posting < postings),
            "the entries of value counts are out of order",
        )?;
        ensure(
            last.map_or(0, |last| last.end as usize) == self.bytes.len(),
            "the value counts do not end with the section",
        )
    }

    /// Checks the counts of an entry, given the number of values of each facet.
    pub(super) fn validate_counts(&self, index: usize, values: [usize; FACETS]) -> Result<()> {
        let bytes = self.bytes_of(index);
        ensure(
            crc32c::crc32c(bytes) == self.entries[index].checksum,
            "value counts do not match their checksum",
        )?;
        let lengths = bytes
            .iter()
            .zip(values)
            .map(|(&width, values)| match width {
                0 | 1 | 2 | 4 => Some(usize::from(width) * values),
                _ => None,
            });
        // A stream of fewer widths than facets is too short for these.
        let length = lengths.sum::<Option<usize>>().map(|length| length + FACETS);
        ensure(
            length == Some(bytes.len()),
            "value counts have another length than their widths",
        )
    }

    /// The counts of an entry, which have been checked.
    pub(super) fn get(&self, index: usize, values: [usize; FACETS]) -> PostingCounts<'a> {
        let (widths, mut rest) = self.bytes_of(index).split_at(FACETS);
        let numbers = std::array::from_fn(|facet| {
            let (numbers, after) = rest.split_at(usize::from(widths[facet]) * values[facet]);
            rest = after;
            (numbers, widths[facet])
        });
        PostingCounts { numbers }
    }

    /// The bytes of an entry, whose order has been checked.
    pub(super) fn bytes_of(&self, index: usize) -> &'a [u8] {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.entries[before].end);
        &self.bytes[start as usize..self.entries[index].end as usize]
    }
}

impl PostingCounts<'_> {
    /// Adds the numbers of rows with each value of a facet.
    pub(crate) fn add_to(&self, facet: Facet, counts: &mut [u64]) {
        let (numbers, width) = self.numbers[facet as usize];
        let counts = counts.iter_mut();
        match width {
            0 => {}
            1 => counts
                .zip(numbers)
                .for_each(|(count, &n)| *count += u64::from(n)),
            2 => counts
                .zip(numbers.as_chunks().0)
                .for_each(|(count, &n)| *count += u64::from(u16::from_le_bytes(n))),
            _ => counts
                .zip(numbers.as_chunks().0)
                .for_each(|(count, &n)| *count += u64::from(u32::from_le_bytes(n))),
        }
    }
}

/// A facet whose values are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedFacet<'a> {
    /// The number of its values.
    pub(super) values: usize,
    pub(super) first_posting: u32,
    pub(super) column: FacetColumn<'a>,
}

impl CountedFacet<'_> {
    /// The value that a posting is of.
    fn value(&self, posting: PostingId) -> Option<usize> {
        let value = posting.0.checked_sub(self.first_posting)? as usize;
        (value < self.values).then_some(value)
    }

    /// The rows of each value in a block.
    fn rows<'p>(
        &self,
        postings: &Postings<'p>,
        block: u32,
    ) -> impl Iterator<Item = Result<BlockRows<'p>>> {
        let ids = (self.first_posting..).take(self.values).map(PostingId);
        ids.map(move |id| Ok(postings.get(id).block(block)))
    }
}

/// Writes the section for the frequent ones of the first `of_rows` postings, the most frequent first while there is room;
/// `None` if it would be empty. `file_bytes` are those of the file before it.
///
/// Cost: an increment for each row of these postings and each facet, or less where sets are intersected.
pub(super) fn encode(
    (postings, of_rows): (&Postings<'_>, u32),
    facets: &[CountedFacet<'_>],
    row_count: u32,
    file_bytes: u64,
) -> Result<Option<Vec<u8>>> {
    let values: usize = facets.iter().map(|facet| facet.values).sum();
    if values == 0 {
        return Ok(None);
    }
    let rows_min = (ROWS_PER_VALUE * values)
        .max((row_count / ROWS_SHARE) as usize)
        .max(1);
    let cardinality = |id: &PostingId| postings.cardinality(*id);
    let mut frequent: Vec<PostingId> = (0..of_rows).map(PostingId).collect();
    frequent.retain(|id| cardinality(id) as usize >= rows_min);
    // The sort is stable, so equally frequent ones stay in order.
    frequent.sort_by_key(|id| std::cmp::Reverse(cardinality(id)));
    let mut left = (file_bytes / FILE_SHARE).saturating_sub(HEAD_BYTES as u64);
    let mut counter = ValueCounter::new(postings, facets);
    let mut kept: Vec<(PostingId, Vec<u8>)> = Vec::new();
    for counted in counter.counts_of(&frequent) {
        let (id, bytes) = counted?;
        let length = (bytes.len() + size_of::<CountsEntry>()) as u64;
        // Invariant: what is kept takes no more than its share of the file.
        let Some(after) = left.checked_sub(length) else {
            break;
        };
        left = after;
        kept.push((id, bytes));
    }
    kept.sort_unstable_by_key(|&(id, _)| id);
    Ok((!kept.is_empty()).then(|| section_of(&kept)))
}

/// The bytes of the section.
fn section_of(kept: &[(PostingId, Vec<u8>)]) -> Vec<u8> {
    let mut end = 0;
    let entries = kept.iter().map(|(id, bytes)| {
        end += bytes.len() as u32;
        CountsEntry {
            posting: id.0,
            end,
            checksum: crc32c::crc32c(bytes),
        }
    });
    let entries: Vec<CountsEntry> = entries.collect();
    let n = entries.len() as u32;
    let mut section = n.to_le_bytes().to_vec();
    section.extend(head_checksum(n, &entries).to_le_bytes());
    section.extend_from_slice(bytemuck::cast_slice(&entries));
    kept.iter()
        .for_each(|(_, bytes)| section.extend_from_slice(bytes));
    section
}

fn head_checksum(n: u32, entries: &[CountsEntry]) -> u32 {
    crc32c::crc32c_append(
        crc32c::crc32c(&n.to_le_bytes()),
        bytemuck::cast_slice(entries),
    )
}

/// Counts the values of all facets among the rows of postings.
pub(super) struct ValueCounter<'a> {
    postings: &'a Postings<'a>,
    facets: &'a [CountedFacet<'a>],
    offsets: Vec<u16>,
}

/// Counts by facet and code, 0 included.
type CountsByCode = Vec<Vec<u64>>;

impl<'a> ValueCounter<'a> {
    pub(super) fn new(
        postings: &'a Postings<'a>,
        facets: &'a [CountedFacet<'a>],
    ) -> ValueCounter<'a> {
        ValueCounter {
            postings,
            facets,
            offsets: Vec::new(),
        }
    }

    /// The stored counts of the rows of each posting, in their order. All postings are whole.
    pub(super) fn counts_of<'s>(
        &'s mut self,
        ids: &'s [PostingId],
    ) -> impl Iterator<Item = Result<(PostingId, Vec<u8>)>> + use<'s, 'a> {
        let together = ids.chunks(COUNTED_TOGETHER);
        together.flat_map(|ids| match self.count_together(ids) {
            Ok(counts) => ids.iter().copied().zip(counts).map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    }

    /// The stored counts of the rows of some postings, block by block.
    fn count_together(&mut self, ids: &[PostingId]) -> Result<Vec<Vec<u8>>> {
        let zeros = |_| self.facets.iter().map(|facet| vec![0; facet.values + 1]);
        let mut counts: Vec<CountsByCode> = ids.iter().map(zeros).map(Iterator::collect).collect();
        let postings = self.postings;
        let next_block = |block| {
            let next = ids.iter().map(|&id| postings.get(id).next_block(block));
            next.flatten().min()
        };
        let mut next = next_block(0);
        // Invariant: the rows of all blocks before `next` are counted.
        while let Some(block) = next {
            for (&id, counts) in ids.iter().zip(&mut counts) {
                self.count_block(id, block, counts)?;
            }
            next = next_block(block + 1);
        }
        Ok(counts.iter().map(encoded).collect())
    }

    /// Adds the rows of a posting in a block, if it has some there.
    fn count_block(&mut self, id: PostingId, block: u32, counts: &mut CountsByCode) -> Result<()> {
        let posting = self.postings.get(id);
        let (n, rows) = (posting.rows_in(block), posting.block(block));
        if n == 0 {
            return Ok(());
        }
        self.offsets.clear();
        for (facet, counts) in self.facets.iter().zip(counts) {
            // All rows have the value that the posting is of.
            if let Some(value) = facet.value(id) {
                counts[value + 1] += n as u64;
                continue;
            }
            if let BlockRows::Bits(set) = rows
                && are_sets_cheaper(n as u32, facet.rows(self.postings, block))?
            {
                count_in_sets(set, facet.rows(self.postings, block), &mut counts[1..])?;
                continue;
            }
            // Listed once per block, for all facets that need it.
            if self.offsets.is_empty() {
                rows.list_into(&mut self.offsets);
            }
            count_in_block(&facet.column, block, &self.offsets, counts);
        }
        Ok(())
    }
}

/// The stored form of counts.
fn encoded(counts: &CountsByCode) -> Vec<u8> {
    // Code 0 is that of no value.
    let counts = || counts.iter().map(|counts| &counts[1..]);
    let width = |counts: &[u64]| match counts.iter().max() {
        None | Some(0) => 0,
        Some(0x01..=0xFF) => 1,
        Some(0x100..=0xFFFF) => 2,
        Some(_) => 4_u8,
    };
    let mut bytes: Vec<u8> = counts().map(width).collect();
    for (index, counts) in counts().enumerate() {
        let width = usize::from(bytes[index]);
        for count in counts {
            bytes.extend_from_slice(&count.to_le_bytes()[..width]);
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
