//! What `{:?}` shows: figures on one line, never what an index holds, which may be gigabytes.

use std::fmt;

use super::Index;
use super::builder::IndexBuilder;
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
mod tests {
    use super::*;
    use crate::{Company, Filter, Query, Signal, SignalId};

    /// An index with some texts that must not be shown, and a writer with more of them.
    fn index() -> (Index, Writer) {
        let index = Index::in_memory().expect("memory");
        let mut writer = index.writer().expect("the only one");
        writer
            .upsert_company(&Company::new("secret", "Secret"))
            .expect("a company");
        for id in 1..=3 {
            let id = SignalId::new(id).expect("an id");
            let signal = Signal::new(id, "secret", "a secret");
            writer.upsert_signal(&signal).expect("a known company");
        }
        writer.commit().expect("memory");
        writer.wait_for_merges();
        writer.delete_signal(SignalId::MIN);
        (index, writer)
    }

    #[test]
    fn figures_are_shown_on_one_line_and_contents_are_not() {
        let (index, writer) = index();
        let snapshot = index.snapshot();
        let today = time::macros::date!(2026 - 06 - 30);
        let query = Query::parse("q=secret&limit=2").expect("a query");
        let page = snapshot.search(&query, today);
        let matches = snapshot.matches(&Filter::default(), today, crate::query::Order::NewestFirst);
        let bytes = snapshot.file_bytes();
        let figures = |name| {
            let generation = snapshot.generation();
            format!(
                "{name} {{ generation: {generation}, segments: 1, rows: 3, deleted: 0, bytes: {bytes}, .. }}"
            )
        };
        assert_eq!(format!("{index:?}"), figures("Index"));
        assert_eq!(format!("{snapshot:?}"), figures("Snapshot"));
        let segment = &snapshot.segments[0].segment;
        assert_eq!(
            format!("{segment:?}"),
            format!("Segment {{ rows: 3, companies: 1, bytes: {bytes}, .. }}")
        );
        assert_eq!(
            format!("{writer:?}"),
            "Writer { pending_signals: 1, pending_companies: 0, .. }"
        );
        let shown = format!("{page:?} {matches:?} {:?}", snapshot.segments);
        assert!(shown.contains("len: 2"), "{shown}");
        assert!(shown.len() < 500 && !shown.contains("secret"), "{shown}");
    }
}
