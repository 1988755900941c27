//! Opens segments. Little is read, because parts are checked before their first use ([`parts`](super::parts)).

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::Segment;
use super::parts::{Checked, Checks, Part};
use super::trust::Trust;
use super::views::{ViewedBytes, Views};
use crate::Result;
use crate::encoding::bytes::Bytes;

impl Segment {
    /// Opens a segment in memory and checks everything except records.
    #[cfg(test)]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Segment> {
        let segment = Segment::open(Bytes::copy(bytes), None)?;
        segment.check()?;
        Ok(segment)
    }

    /// Opens a segment. Checks the container and only small parts of the content.
    ///
    /// # Errors
    /// Foreign, newer or corrupt; the error names the file.
    ///
    /// Cost: reads several hundred kilobytes, and allocates a bit per record, per posting and per 16 KiB.
    pub(crate) fn open(bytes: Bytes, path: Option<&Arc<Path>>) -> Result<Segment> {
        let segment = Segment::view(bytes, path, Checks::none)?;
        segment.ensure(Part::FacetValues.bit())?;
        Ok(segment)
    }

    /// Opens a segment that this process has just written, without checks.
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
        checks: impl FnOnce([usize; 3]) -> Checks,
    ) -> Result<Segment> {
        let viewed = ViewedBytes::try_new(bytes, |bytes| Views::read(bytes));
        let bytes = viewed.map_err(|error| match path {
            Some(path) => error.at(path),
            None => error,
        })?;
        let views = bytes.borrow_dependent();
        // The counts have been checked against the sections.
        let records = views.table.rows as usize + views.table.companies as usize;
        let counts = [
            views.checkpoints.len(),
            views.postings.entries.len(),
            views.value_counts.len(),
        ];
        Ok(Segment {
            checks: checks(counts),
            records: Checked::none(records),
            last_commit: OnceLock::new(),
            calendar: OnceLock::new(),
            path: path.cloned(),
            trust: Trust::default(),
            bytes,
        })
    }
}
