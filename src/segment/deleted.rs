//! What is deleted of a segment: rows and companies, as bitmaps beside the immutable file.
//!
//! ```text
//! offset  width  what
//! 0       8      length of the rows' bitmap
//! 8       n      the rows, in roaring's portable format
//! 8 + n   m      the companies' numbers, in the same
//! ```
//!
//! Roaring's format does not notice damage, so the manifest holds the file's length and checksum.

use roaring::RoaringBitmap;

use super::Segment;
use crate::encoding::posting::{Posting, PostingId, PostingSections};
use crate::encoding::row::{CompanyNumber, Row};
use crate::{Error, Result};

/// The rows and companies of a segment that are gone: deleted, or replaced in a later segment.
#[derive(Debug, Default)]
pub(crate) struct Deleted {
    rows: RoaringBitmap,
    companies: RoaringBitmap,
    /// The rows once more, in the shape that an execution subtracts.
    posting: PostingSections,
}

impl Deleted {
    /// Prepares deleted rows and companies of a segment of `row_count` rows.
    pub(crate) fn new(rows: RoaringBitmap, companies: RoaringBitmap, row_count: u32) -> Deleted {
        let mut posting = PostingSections::default();
        if !rows.is_empty() {
            posting.push(&rows.iter().collect::<Vec<u32>>(), row_count);
        }
        Deleted {
            rows,
            companies,
            posting,
        }
    }

    /// Reads what [`encode`](Self::encode) wrote about a segment.
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

    /// Whether anything is deleted.
    pub(crate) fn is_some(&self) -> bool {
        !self.rows.is_empty() || !self.companies.is_empty()
    }

    /// The number of rows.
    pub(crate) fn row_count(&self) -> u64 {
        self.rows.len()
    }

    /// Whether a row is deleted.
    pub(crate) fn contains(&self, row: Row) -> bool {
        !self.rows.is_empty() && self.rows.contains(row.0)
    }

    /// Whether a company is deleted.
    pub(crate) fn contains_company(&self, company: CompanyNumber) -> bool {
        self.companies.contains(company.0)
    }

    /// The rows as a posting, where there are any.
    pub(crate) fn posting(&self) -> Option<Posting<'_>> {
        (!self.rows.is_empty()).then(|| self.posting.view().get(PostingId(0)))
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &RoaringBitmap {
        &self.rows
    }

    /// The companies, by number.
    pub(crate) fn companies(&self) -> &RoaringBitmap {
        &self.companies
    }
}
