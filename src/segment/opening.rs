//! Opening a segment: little is read, since what it holds is checked when it is needed
//! ([`parts`](super::parts)).

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::Segment;
use super::parts::{Checked, Checks, Part};
use super::views::{ViewedBytes, Views};
use crate::Result;
use crate::encoding::bytes::Bytes;

impl Segment {
    /// Opens a segment in memory and checks all of it but records.
    #[cfg(test)]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Segment> {
        let segment = Segment::open(Bytes::copy(bytes), None)?;
        segment.check()?;
        Ok(segment)
    }

    /// Opens a segment: checks its frame, and of what it holds only what is small.
    ///
    /// # Errors
    /// Foreign, newer or corrupt; the error names the file.
    ///
    /// Cost: some hundred kilobytes are read, and allocated a bit for each record, posting and 16 KiB.
    pub(crate) fn open(bytes: Bytes, path: Option<&Arc<Path>>) -> Result<Segment> {
        let segment = Segment::view(bytes, path, Checks::none)?;
        segment.ensure(Part::FacetValues.bit())?;
        Ok(segment)
    }

    /// Opens a segment that this process has just written, which is not checked.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn written(bytes: Bytes, path: Option<&Arc<Path>>) -> Result<Segment> {
        if cfg!(debug_assertions) {
            let segment = Segment::view(bytes, path, Checks::none)?;
            return segment.check().map(|()| segment);
        }
        Segment::view(bytes, path, Checks::all)
    }

    fn view(
        bytes: Bytes,
        path: Option<&Arc<Path>>,
        checks: impl FnOnce(usize, usize) -> Checks,
    ) -> Result<Segment> {
        let viewed = ViewedBytes::try_new(bytes, |bytes| Views::read(bytes));
        let bytes = viewed.map_err(|error| match path {
            Some(path) => error.at(path),
            None => error,
        })?;
        let views = bytes.borrow_dependent();
        // The counts are those of real sections.
        let records = views.table.rows as usize + views.table.companies as usize;
        Ok(Segment {
            checks: checks(views.checkpoints.len(), views.postings.entries.len()),
            records: Checked::none(records),
            last_commit: OnceLock::new(),
            path: path.cloned(),
            bytes,
        })
    }
}
