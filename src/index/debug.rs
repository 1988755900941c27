//! `Debug` output: figures on one line, never the content of an index, which may be gigabytes.

use std::fmt;

use super::Index;
use super::builder::IndexBuilder;
use super::changes::Changes;
use super::live::SegmentHandle;
use super::matches::Matches;
use super::result_page::Page;
use super::snapshot::Snapshot;
use super::writer::Writer;

impl Snapshot {
    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |figure: fn(&SegmentHandle) -> u64| self.segments.iter().map(figure).sum::<u64>();
        f.debug_struct(name)
            .field("generation", &self.generation())
            .field("segments", &self.segments.len())
            .field("rows", &sum(|live| live.segment.row_count().into()))
            .field("deleted", &sum(|live| live.deleted.row_count()))
            .field("bytes", &self.file_bytes())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.debug("Snapshot", f)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().debug("Index", f)
    }
}

impl fmt::Debug for SegmentHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentHandle")
            .field("path", &self.path)
            .field("segment", &self.segment)
            .field("deleted", &self.deleted.row_count())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("len", &self.len())
            .field("next_cursor", &self.next_cursor())
            .field("rows_checked", &self.rows_checked())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Matches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matches").finish_non_exhaustive()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (signals, companies) = self.pending_counts();
        f.debug_struct("Writer")
            .field("pending_signals", &signals)
            .field("pending_companies", &companies)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for IndexBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexBuilder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
