//! The deletions of a segment: bitmaps of rows and companies, stored in a separate file.
//!
//! ```text
//! offset  width  what
//! 0       8      length of the rows' bitmap
//! 8       n      the rows, in roaring's portable format
//! 8 + n   m      the companies' numbers, in the same format
//! ```
//!
//! Roaring's format does not detect damage, so the manifest has the file's length and checksum.

use std::sync::OnceLock;

use roaring::RoaringBitmap;

use super::Segment;
use super::deleted_tally::DeletedTally;
use crate::encoding::posting::{Optimize, Posting, PostingId, PostingSections, dense_bits};
use crate::encoding::row::{CompanyNumber, Row};
use crate::encoding::row_bits::RowBits;
use crate::kernels::block::{BlockBits, block_count};
use crate::{Error, Result};

/// With at least this many deleted rows per block on average, they are bitsets instead of lists: looking up a row
/// takes a tenth of the instructions, and a block takes 8 KiB.
const BITS_MIN: u64 = 64;

/// Of this many rows, at most one is listed as one that a key sees.
const LISTED_SHARE_MIN: u64 = 16;

/// Deleted rows as a posting.
#[derive(Debug)]
enum DeletedRows {
    Listed(PostingSections),
    Bits(Vec<BlockBits>),
}

/// The rows and companies of a segment that are deleted, or replaced in a later segment.
#[derive(Debug, Default)]
pub(crate) struct Deleted {
    rows: RoaringBitmap,
    /// How many these are: a plan asks several times.
    row_count: u64,
    companies: RoaringBitmap,
    /// The same rows as a posting, for executions.
    shape: DeletedRows,
    /// All other rows, if they are few and a key's filter is why.
    live: Option<Vec<u32>>,
    /// The tally of the rows, computed on demand; `None` if there are too many.
    tally: OnceLock<Option<DeletedTally>>,
    /// By code: the rows of each day, computed on demand.
    by_day: OnceLock<Box<[u32]>>,
    /// The counts of values among all other rows, if a key's filter hides these.
    visible_values: Option<OnceLock<VisibleValues>>,
}

/// By index of a facet: its values with visible rows, ascending, each with the number of these rows.
pub(crate) type VisibleValues = Box<[Box<[(u32, u64)]>]>;

impl Deleted {
    /// Creates the deletions of a segment with `row_count` rows.
    pub(crate) fn new(rows: RoaringBitmap, companies: RoaringBitmap, row_count: u32) -> Deleted {
        Deleted {
            shape: DeletedRows::of(&rows, row_count),
            ..Deleted::of(rows, companies)
        }
    }

    /// Rows and companies, still without the rows as a posting.
    fn of(rows: RoaringBitmap, companies: RoaringBitmap) -> Deleted {
        Deleted {
            row_count: rows.len(),
            rows,
            companies,
            shape: DeletedRows::default(),
            live: None,
            tally: OnceLock::new(),
            by_day: OnceLock::new(),
            visible_values: None,
        }
    }

    /// The deletions of a segment of which a key sees some rows and companies. Where it sees few rows, they are listed.
    pub(crate) fn showing(visible: RowBits, companies: RoaringBitmap) -> Deleted {
        let row_count = visible.row_count();
        let is_listed = visible.len() * LISTED_SHARE_MIN <= u64::from(row_count);
        let live = is_listed.then(|| {
            let mut rows = Vec::new();
            visible.for_each_block(|block, offsets| {
                rows.extend(offsets.iter().map(|&offset| Row::of(block, offset).0));
            });
            rows
        });
        let mut hidden = visible;
        hidden.invert();
        let rows = bitmap(hidden.blocks());
        Deleted {
            shape: DeletedRows::of_bits(hidden, &rows),
            live,
            visible_values: Some(OnceLock::new()),
            ..Deleted::of(rows, companies)
        }
    }

    /// All rows that are not deleted, if they are listed.
    pub(crate) fn live(&self) -> Option<&[u32]> {
        self.live.as_deref()
    }

    /// Adds more rows and companies of the segment. An existing tally is extended, so that counts need not wait for a
    /// new one after each commit.
    ///
    /// # Errors
    /// The parts of the segment that a tally is made of are damaged.
    pub(crate) fn with(
        &self,
        rows: &RoaringBitmap,
        companies: &RoaringBitmap,
        segment: &Segment,
    ) -> Result<Deleted> {
        let (rows, companies) = (&self.rows | rows, &self.companies | companies);
        let deleted = Deleted::new(rows, companies, segment.row_count());
        if let Some(Some(tally)) = self.tally.get() {
            let tally = tally.clone().with(segment, &deleted.rows, &self.rows)?;
            deleted.tally.get_or_init(|| tally);
        }
        Ok(deleted)
    }

    /// Reads the output of [`encode`](Self::encode).
    pub(crate) fn decode(bytes: &[u8], segment: &Segment) -> Result<Deleted> {
        let malformed = || Error::corrupt("the bitmaps of deleted rows are malformed");
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(malformed)?;
        let split = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| malformed())?;
        let (rows, companies) = rest.split_at_checked(split).ok_or_else(malformed)?;
        let read = |bytes| RoaringBitmap::deserialize_from(bytes).map_err(|_| malformed());
        let (rows, companies) = (read(rows)?, read(companies)?);
        let in_range = rows.max().is_none_or(|row| row < segment.row_count())
            && companies
                .max()
                .is_none_or(|company| company < segment.company_count());
        if in_range {
            Ok(Deleted::new(rows, companies, segment.row_count()))
        } else {
            Err(Error::corrupt(
                "a deleted row or company lies after the last",
            ))
        }
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let rows = self.rows.serialized_size();
        let mut bytes = Vec::with_capacity(8 + rows + self.companies.serialized_size());
        bytes.extend_from_slice(&(rows as u64).to_le_bytes());
        for bitmap in [&self.rows, &self.companies] {
            bitmap
                .serialize_into(&mut bytes)
                .expect("memory can be written to");
        }
        bytes
    }

    /// Whether there are deletions.
    pub(crate) fn is_some(&self) -> bool {
        !self.rows.is_empty() || !self.companies.is_empty()
    }

    /// Bytes in memory, but for a tally.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let shape = match &self.shape {
            DeletedRows::Listed(_) => 4 * self.rows.len(),
            DeletedRows::Bits(bitsets) => std::mem::size_of_val(bitsets.as_slice()) as u64,
        };
        let bitmaps = self.rows.serialized_size() + self.companies.serialized_size();
        let live = self.live.as_ref().map_or(0, Vec::len);
        bitmaps as u64 + shape + 4 * live as u64
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Whether a row is deleted.
    pub(crate) fn contains(&self, row: Row) -> bool {
        !self.rows.is_empty() && self.rows.contains(row.0)
    }

    /// Whether a company is deleted.
    pub(crate) fn contains_company(&self, company: CompanyNumber) -> bool {
        self.companies.contains(company.0)
    }

    /// The rows as a posting, if there are any.
    pub(crate) fn posting(&self) -> Option<Posting<'_>> {
        let posting = || match &self.shape {
            DeletedRows::Listed(sections) => sections.view().get(PostingId(0)),
            DeletedRows::Bits(bitsets) => Posting::Dense(bitsets),
        };
        (!self.rows.is_empty()).then(posting)
    }

    /// The rows, of a segment with `row_count` rows, as bits.
    pub(crate) fn row_bits(&self, row_count: u32) -> RowBits {
        match &self.shape {
            DeletedRows::Bits(bitsets) => RowBits::of_blocks(bitsets.clone(), row_count),
            DeletedRows::Listed(_) => RowBits::of(self.rows.iter().map(Row), row_count),
        }
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &RoaringBitmap {
        &self.rows
    }

    /// The number of deleted rows of each posting, unless there are too many rows. Cost: computed once, at about a
    /// microsecond per row.
    ///
    /// # Errors
    /// The parts of the segment that a tally is made of are damaged.
    pub(crate) fn tally(&self, segment: &Segment) -> Result<Option<&DeletedTally>> {
        if let Some(known) = self.tally.get() {
            return Ok(known.as_ref());
        }
        let tally = DeletedTally::of(segment, &self.rows)?;
        // Another thread may have computed the same tally meanwhile.
        Ok(self.tally.get_or_init(|| tally).as_ref())
    }

    /// The number of deleted rows of each day code of the segment, 0 included. Cost: computed once, at a read per row.
    ///
    /// # Errors
    /// The days are damaged.
    pub(crate) fn rows_by_day(&self, segment: &Segment) -> Result<&[u32]> {
        let (column, days) = (segment.day_column()?.column, segment.days()?.len());
        Ok(self.by_day.get_or_init(|| {
            let mut rows = vec![0; days + 1];
            for row in &self.rows {
                rows[column.get(Row(row)) as usize] += 1;
            }
            rows.into()
        }))
    }

    /// The counts of values among all other rows, where a key's filter hides these and they stay the same; to be computed once.
    pub(crate) fn visible_values(&self) -> Option<&OnceLock<VisibleValues>> {
        self.visible_values.as_ref()
    }

    /// The companies, by number.
    pub(crate) fn companies(&self) -> &RoaringBitmap {
        &self.companies
    }
}

impl DeletedRows {
    fn of(rows: &RoaringBitmap, row_count: u32) -> DeletedRows {
        if is_listed(rows, row_count) {
            let mut sections = PostingSections::default();
            let rows: Vec<u32> = rows.iter().collect();
            sections.push(&rows, row_count, Optimize::Time);
            return DeletedRows::Listed(sections);
        }
        DeletedRows::Bits(dense_bits(rows.iter().map(Row), row_count))
    }

    /// The same of rows that are bits already.
    fn of_bits(bits: RowBits, rows: &RoaringBitmap) -> DeletedRows {
        if is_listed(rows, bits.row_count()) {
            return DeletedRows::of(rows, bits.row_count());
        }
        DeletedRows::Bits(bits.into_blocks())
    }
}

fn is_listed(rows: &RoaringBitmap, row_count: u32) -> bool {
    rows.len() < BITS_MIN * u64::from(block_count(row_count))
}

/// The rows of bitsets, by block.
fn bitmap(blocks: &[BlockBits]) -> RoaringBitmap {
    let mut rows = RoaringBitmap::new();
    let mut bytes = [0; size_of::<BlockBits>()];
    for (block, bits) in (0..).zip(blocks) {
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(bits) {
            *bytes = word.to_le_bytes();
        }
        rows |= RoaringBitmap::from_lsb0_bytes(Row::of(block, 0).0, &bytes);
    }
    rows
}

impl Default for DeletedRows {
    fn default() -> DeletedRows {
        DeletedRows::Listed(PostingSections::default())
    }
}
