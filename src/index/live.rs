//! Segments of a snapshot: file and deleted rows.

use std::path::Path;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::mapped_file::MappedFile;
use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::LiveSegment;
use crate::plan::Source;
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
    /// The deletions that are stored, if a key's filter hides more.
    pub(super) stored: Option<Arc<Deleted>>,
    /// The mapped file; `None` in memory.
    pub(super) file: Option<Arc<MappedFile>>,
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
            if self.segment.last_commit()? <= last_commit {
                Ok(())
            } else {
                Err(Error::corrupt("a row is of a commit to come"))
            }
        });
        verified.map_err(|error| error.at(&self.path))
    }

    /// Distrusts the segment if another program has overwritten its file.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub(super) fn look(&self) -> Result<()> {
        let file = self.file.as_ref();
        file.map_or(Ok(()), |file| file.look(&self.segment))
    }

    /// Reads the file again if it has changed: see [`MappedFile::read_again`].
    ///
    /// # Errors
    /// The content is another, is still being written, or cannot be read.
    pub(super) fn read_again(&self) -> Result<bool> {
        let file = self.file.as_ref();
        file.map_or(Ok(false), |file| file.read_again(&self.segment))
    }

    /// Whether the name of the file belongs to another file now.
    pub(super) fn is_replaced(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.is_replaced())
    }

    /// Whether a row exists, is live, and has an id.
    pub(crate) fn has(&self, row: Row, id: SignalId) -> Result<bool> {
        let is_of = self.segment.is_of(row, id)?;
        Ok(is_of && !(self.deleted.is_some() && self.deleted.contains(row)))
    }

    /// The companies that are deleted.
    ///
    /// # Errors
    /// As [`Deleted::companies`].
    pub(super) fn deleted_companies(&self) -> Result<&RoaringBitmap> {
        self.deleted.companies(&self.segment)
    }

    /// The deletions that are stored.
    pub(super) fn stored_deletions(&self) -> &Arc<Deleted> {
        self.stored.as_ref().unwrap_or(&self.deleted)
    }

    /// Whether a stored set has a live row, if a key's filter hides some; its dictionaries name only values that some
    /// row has.
    pub(super) fn shows(&self, source: Source) -> Result<bool> {
        match &self.stored {
            None => Ok(true),
            Some(_) => self.live().has_live_row(source),
        }
    }

    /// The live row of an id.
    pub(crate) fn row(&self, id: SignalId) -> Result<Option<Row>> {
        self.live().row(id)
    }

    /// The live rows of a company, ascending.
    pub(crate) fn company_rows(
        &self,
        company: CompanyNumber,
    ) -> Result<impl Iterator<Item = Row> + '_> {
        let rows = self.segment.company_rows(company)?.iter().copied();
        Ok(rows.filter(|&row| !self.deleted.contains(row)))
    }

    /// The live company with a slug.
    pub(crate) fn company_by_slug(&self, slug: &str) -> Result<Option<CompanyNumber>> {
        self.live().company_by_slug(slug)
    }
}
