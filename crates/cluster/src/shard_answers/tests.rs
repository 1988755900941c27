//! White-box tests of `shard_answers.rs`: pages of large records are those of one index.

use time::macros::date;

use super::*;
use crate::coordinator::{page_of, page_rows};
use signaldex::json::Rendering;
use signaldex::query::{Order, Start};
use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
use signaldex_server::corpus;

const TODAY: time::Date = date!(2026 - 06 - 30);
const LARGEST: usize = 9 << 20;
/// Lengths of evidence: some pages end early at one shard, some only where shards are merged.
const LENGTHS: [usize; 8] = [1_000_000, 10, 3_000_000, 10, 10, LARGEST, 2_500_000, 10];

fn snapshot(ids: impl Iterator<Item = u64>) -> Arc<Snapshot> {
    let mut builder = IndexBuilder::in_memory();
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a company");
    for id in ids {
        let length = LENGTHS[id as usize % LENGTHS.len()];
        let id = SignalId::new(id).expect("an id");
        let mut signal = Signal::new(id, "acme", "Acme hires");
        signal.evidence = Some("e".repeat(length).into());
        builder.add_signal(&signal).expect("a signal");
    }
    builder.finish().expect("an index").snapshot()
}

/// What a node answers.
fn node(wanted: &ShardRequest, shards: &[Arc<Snapshot>]) -> ShardAnswer {
    let found = shards.iter().map(|shard| find(shard, wanted));
    let found: Result<Vec<ShardResult>> = found.collect();
    let answer = merged(wanted, shards, found.expect("whole shards")).expect("rows");
    let rows = answer.clone().rows().expect("rows");
    let bytes: usize = rows.iter().map(|row| row.bytes.len()).sum();
    assert!(bytes <= PAGE_BYTES_MAX + LARGEST + 1024, "{bytes}");
    answer
}

#[test]
fn pages_of_large_records_are_those_of_one_index() {
    const IDS: u64 = 40;
    let whole = snapshot(1..=IDS);
    let shards: Vec<_> = (0..5)
        .map(|shard| snapshot((1..=IDS).filter(move |id| id % 5 == shard)))
        .collect();
    for (order, rendering) in [
        (Order::NewestFirst, Rendering::Whole),
        (Order::OldestFirst, Rendering::Whole),
        (Order::NewestFirst, Rendering::Short),
    ] {
        let mut start = Start::First;
        let (mut seen, mut early) = (0, 0);
        loop {
            let query = Query::builder().order(order).build().expect("a query");
            let query = query.part(start, 17);
            let wanted = ShardRequest::Rows {
                query: Box::new(query.part(query.start().clone(), 18)),
                today: TODAY,
                rendering: Some(rendering),
            };
            let answers = vec![node(&wanted, &shards[..3]), node(&wanted, &shards[3..])];
            let rows = ShardAnswer::merge(&wanted, answers).and_then(ShardAnswer::rows);
            let rows = page_rows(rows.expect("rows")).expect("ids");
            let page = page_of(&query, TODAY, rows);
            let expected = corpus::page(&whole, &query, TODAY, rendering).expect("a page");
            assert_eq!(page.ids, expected.ids);
            assert_eq!(page.next_cursor, expected.next_cursor);
            assert_eq!(page.ends_early, expected.ends_early);
            assert!(page.answer.finish(None) == expected.answer.finish(None));
            seen += page.ids.len();
            early += usize::from(page.ends_early);
            match page.next_cursor {
                Some(cursor) => start = Start::After(cursor),
                None => break,
            }
        }
        assert_eq!(seen as u64, IDS);
        assert_eq!(early > 0, rendering == Rendering::Whole);
    }
}
