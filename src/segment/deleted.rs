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

/// Deleted rows, as a posting for executions and as a bitmap.
#[derive(Debug)]
enum DeletedRows {
    Listed(PostingSections, RoaringBitmap),
    /// With the bitmap computed on demand where a key's filter hides rows.
    Bits(Vec<BlockBits>, OnceLock<RoaringBitmap>),
}

/// The rows and companies of a segment that are deleted, or replaced in a later segment.
#[derive(Debug)]
pub(crate) struct Deleted {
    rows: DeletedRows,
    /// How many these are: a plan asks several times.
    row_count: u64,
    /// Computed on demand where a key's filter hides rows: the companies without any other row.
    companies: OnceLock<RoaringBitmap>,
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
            row_count: rows.len(),
            rows: DeletedRows::of(rows, row_count),
            companies: OnceLock::from(companies),
            ..Deleted::default()
        }
    }

    /// The deletions of a segment of which a key sees some rows, and the companies of these. Where it sees few rows, they
    /// are listed.
    pub(crate) fn showing(visible: RowBits) -> Deleted {
        let (row_count, seen) = (visible.row_count(), visible.len());
        let is_listed = seen * LISTED_SHARE_MIN <= u64::from(row_count);
        let live = is_listed.then(|| {
            let mut rows = Vec::with_capacity(seen as usize);
            visible.for_each_block(|block, offsets| {
                rows.extend(offsets.iter().map(|&offset| Row::of(block, offset).0));
            });
            rows
        });
        let mut hidden = visible;
        hidden.invert();
        Deleted {
            row_count: u64::from(row_count) - seen,
            rows: DeletedRows::of_bits(hidden),
            companies: OnceLock::new(),
            live,
            visible_values: Some(OnceLock::new()),
            ..Deleted::default()
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
        let (rows, companies) = (self.rows() | rows, self.companies(segment)? | companies);
        let deleted = Deleted::new(rows, companies, segment.row_count());
        if let Some(Some(tally)) = self.tally.get() {
            let tally = tally.clone().with(segment, deleted.rows(), self.rows())?;
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
    ///
    /// # Errors
    /// As [`companies`](Self::companies).
    pub(crate) fn encode(&self, segment: &Segment) -> Result<Vec<u8>> {
        let (rows, companies) = (self.rows(), self.companies(segment)?);
        let length = rows.serialized_size();
        let mut bytes = Vec::with_capacity(8 + length + companies.serialized_size());
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
        for bitmap in [rows, companies] {
            bitmap
                .serialize_into(&mut bytes)
                .expect("memory can be written to");
        }
        Ok(bytes)
    }

    /// Whether there are deletions.
    pub(crate) fn is_some(&self) -> bool {
        self.row_count > 0 || self.companies.get().is_some_and(|it| !it.is_empty())
    }

    /// Bytes in memory, but for a tally: at most, where bitmaps are still to be computed.
    pub(crate) fn memory_bytes(&self, segment: &Segment) -> u64 {
        let rows = match &self.rows {
            DeletedRows::Listed(_, rows) => 4 * rows.len() + rows.serialized_size() as u64,
            DeletedRows::Bits(bitsets, rows) => {
                let bits = size_of_val(bitsets.as_slice()) as u64;
                bits + rows
                    .get()
                    .map_or(bits, |rows| rows.serialized_size() as u64)
            }
        };
        let most = u64::from(segment.company_count()) / 8;
        let companies = self.companies.get();
        let companies = companies.map_or(most, |companies| companies.serialized_size() as u64);
        let live = self.live.as_ref().map_or(0, Vec::len);
        rows + companies + 4 * live as u64
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Whether a row is deleted.
    pub(crate) fn contains(&self, row: Row) -> bool {
        match &self.rows {
            DeletedRows::Listed(_, rows) => rows.contains(row.0),
            DeletedRows::Bits(bitsets, _) => Posting::Dense(bitsets).contains(row),
        }
    }

    /// Whether a company is deleted. Cost: where a key's filter hides rows, a look-up of the company's rows up to the first
    /// other one, until [`companies`](Self::companies) have been computed.
    ///
    /// # Errors
    /// The rows of companies are damaged.
    pub(crate) fn contains_company(
        &self,
        company: CompanyNumber,
        segment: &Segment,
    ) -> Result<bool> {
        if let Some(companies) = self.companies.get() {
            return Ok(companies.contains(company.0));
        }
        let rows = segment.company_rows(company)?;
        Ok(rows.iter().all(|&row| self.contains(row)))
    }

    /// Whether no company is known to be deleted, as of most segments. It is asked first: looking for each company takes a
    /// tenth of a count by 20 of them.
    pub(crate) fn has_no_company(&self) -> bool {
        self.companies.get().is_some_and(RoaringBitmap::is_empty)
    }

    /// The rows as a posting, if there are any.
    pub(crate) fn posting(&self) -> Option<Posting<'_>> {
        let posting = || match &self.rows {
            DeletedRows::Listed(sections, _) => sections.view().get(PostingId(0)),
            DeletedRows::Bits(bitsets, _) => Posting::Dense(bitsets),
        };
        (self.row_count > 0).then(posting)
    }

    /// The rows, of a segment with `row_count` rows, as bits.
    pub(crate) fn row_bits(&self, row_count: u32) -> RowBits {
        match &self.rows {
            DeletedRows::Bits(bitsets, _) => RowBits::of_blocks(bitsets.clone(), row_count),
            DeletedRows::Listed(_, rows) => RowBits::of(rows.iter().map(Row), row_count),
        }
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &RoaringBitmap {
        match &self.rows {
            DeletedRows::Listed(_, rows) => rows,
            DeletedRows::Bits(bitsets, rows) => rows.get_or_init(|| bitmap(bitsets)),
        }
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
        let tally = DeletedTally::of(segment, self.rows())?;
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
            for row in self.rows() {
                rows[column.get(Row(row)) as usize] += 1;
            }
            rows.into()
        }))
    }

    /// The counts of values among all other rows, where a key's filter hides these and they stay the same; to be computed once.
    pub(crate) fn visible_values(&self) -> Option<&OnceLock<VisibleValues>> {
        self.visible_values.as_ref()
    }

    /// The companies, by number. Cost: where a key's filter hides rows, a pass over the others, once.
    ///
    /// # Errors
    /// The column of companies is damaged.
    pub(crate) fn companies(&self, segment: &Segment) -> Result<&RoaringBitmap> {
        if let Some(known) = self.companies.get() {
            return Ok(known);
        }
        let hidden = self.companies_without_other_rows(segment)?;
        // Another thread may have found the same meanwhile.
        Ok(self.companies.get_or_init(|| hidden))
    }

    /// The companies all of whose rows of a segment are hidden.
    ///
    /// Where a company has rows, the segment has its current record, so those of one segment decide for it.
    fn companies_without_other_rows(&self, segment: &Segment) -> Result<RoaringBitmap> {
        let companies = segment.company_column()?;
        let mut has_row = vec![false; segment.company_count() as usize];
        let mut see = |row: Row| has_row[CompanyNumber::of_code(companies.get(row)).index()] = true;
        match &self.live {
            Some(live) => live.iter().for_each(|&row| see(Row(row))),
            None => {
                let mut live = self.row_bits(segment.row_count());
                live.invert();
                live.for_each_block(|block, offsets| {
                    offsets
                        .iter()
                        .for_each(|&offset| see(Row::of(block, offset)));
                });
            }
        }
        let without = (0..).zip(&has_row).filter(|&(_, &has_row)| !has_row);
        Ok(without.map(|(company, _)| company).collect())
    }
}

impl Default for Deleted {
    fn default() -> Deleted {
        Deleted {
            rows: DeletedRows::Listed(PostingSections::default(), RoaringBitmap::new()),
            row_count: 0,
            companies: OnceLock::from(RoaringBitmap::new()),
            live: None,
            tally: OnceLock::new(),
            by_day: OnceLock::new(),
            visible_values: None,
        }
    }
}

impl DeletedRows {
    fn of(rows: RoaringBitmap, row_count: u32) -> DeletedRows {
        if is_listed(rows.len(), row_count) {
            let mut sections = PostingSections::default();
            let listed: Vec<u32> = rows.iter().collect();
            sections.push(&listed, row_count, Optimize::Time);
            return DeletedRows::Listed(sections, rows);
        }
        let bitsets = dense_bits(rows.iter().map(Row), row_count);
        DeletedRows::Bits(bitsets, OnceLock::from(rows))
    }

    /// The same of rows that are bits already.
    fn of_bits(bits: RowBits) -> DeletedRows {
        if is_listed(bits.len(), bits.row_count()) {
            return DeletedRows::of(bitmap(bits.blocks()), bits.row_count());
        }
        DeletedRows::Bits(bits.into_blocks(), OnceLock::new())
    }
}

fn is_listed(rows: u64, row_count: u32) -> bool {
    rows < BITS_MIN * u64::from(block_count(row_count))
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
