//! What is deleted of a segment: rows and companies, as bitmaps beside the immutable file.

use roaring::RoaringBitmap;

use crate::segment::{Posting, PostingId, PostingSections, Row};

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
        Deleted { rows, companies, posting }
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
    pub(crate) fn contains_company(&self, company: u32) -> bool {
        self.companies.contains(company)
    }

    /// The rows as a posting, where there are any.
    pub(crate) fn posting(&self) -> Option<Posting<'_>> {
        (!self.rows.is_empty()).then(|| self.posting.view().get(PostingId(0)))
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &RoaringBitmap {
        &self.rows
    }

    /// The companies.
    pub(crate) fn companies(&self) -> &RoaringBitmap {
        &self.companies
    }
}
