//! Segments of a snapshot: file and deleted rows.

use std::path::Path;
use std::sync::Arc;

use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::LiveSegment;
use crate::segment::{Deleted, Segment};
use crate::signal::SignalId;
use crate::{Error, Result};

/// A segment with its deletions, shared by snapshots.
#[derive(Clone)]
pub(crate) struct SegmentHandle {
    /// The file number in the directory; later segments have larger numbers.
    pub(crate) number: u64,
    /// The path of the file, for messages.
    pub(crate) path: Arc<Path>,
    pub(crate) segment: Arc<Segment>,
    pub(crate) deleted: Arc<Deleted>,
}

impl SegmentHandle {
    /// The segment for queries.
    #[inline(always)]
    pub(crate) fn live(&self) -> LiveSegment<'_> {
        LiveSegment {
            segment: &self.segment,
            deleted: &self.deleted,
        }
    }

    /// Checks every byte and every rule of the segment, and that no row is from a later commit. The error names the
    /// file.
    pub(crate) fn verify(&self, last_commit: u64) -> Result<()> {
        let verified = self.segment.verify().and_then(|()| {
            if self.segment.last_commit() <= last_commit {
                Ok(())
            } else {
                Err(Error::corrupt("a row is of a commit to come"))
            }
        });
        verified.map_err(|error| error.at(&self.path))
    }

    /// Whether a row exists, is live, and has an id.
    pub(crate) fn has(&self, row: Row, id: SignalId) -> bool {
        self.segment.is_of(row, id) && !(self.deleted.is_some() && self.deleted.contains(row))
    }

    /// The live row of an id.
    pub(crate) fn row(&self, id: SignalId) -> Option<Row> {
        self.live().row(id)
    }

    /// The live rows of a company, ascending.
    pub(crate) fn company_rows(&self, company: CompanyNumber) -> impl Iterator<Item = Row> + '_ {
        let rows = self.segment.company_rows(company).iter().copied();
        rows.filter(|&row| !self.deleted.contains(row))
    }

    /// The live company with a slug.
    pub(crate) fn company_by_slug(&self, slug: &str) -> Option<CompanyNumber> {
        self.live().company_by_slug(slug)
    }
}
