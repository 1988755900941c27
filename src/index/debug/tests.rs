//! White-box tests of `index/debug.rs`.

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
    writer.delete_signal(SignalId::MIN).expect("a whole index");
    (index, writer)
}

#[test]
fn figures_are_shown_on_one_line_and_contents_are_not() {
    let (index, writer) = index();
    let snapshot = index.snapshot();
    let today = time::macros::date!(2026 - 06 - 30);
    let query = Query::from_query_string("q=secret&limit=2").expect("a query");
    let page = snapshot.search(&query, today).expect("a whole index");
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
