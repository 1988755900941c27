//! White-box tests of `shard_answers.rs`: pages of large records are those of one index.

use time::macros::date;

use super::*;
use crate::pages::{page_of, page_rows};
use crate::question::RowFormat;
use signaldex::json::Rendering;
use signaldex::query::{Order, Start};
use signaldex::{Company, FacetDictionary, IndexBuilder, Query, Signal, SignalId};
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
        let day = (id.get() * 7 % 5) as u16;
        signal.date = (day > 0).then(|| TODAY - time::Duration::days(day.into()));
        signal.evidence = Some("e".repeat(length).into());
        builder.add_signal(&signal).expect("a signal");
    }
    builder.finish().expect("an index").snapshot()
}

/// The answer of a node that renders at most `rendered_max` rows.
fn node(wanted: &ShardRequest, shards: &[Arc<Snapshot>], rendered_max: usize) -> ShardAnswer {
    let facets = Arc::new(FacetDictionary::new(shards.to_vec()));
    let asked = shards
        .iter()
        .enumerate()
        .map(|(number, snapshot)| AskedShard {
            shard: number as u32,
            snapshot: Arc::clone(snapshot),
            facets: Arc::clone(&facets),
            number,
            key: None,
        });
    let asked: Vec<AskedShard> = asked.collect();
    let question = Question {
        generation: 1,
        shards: (0..).take(shards.len()).collect(),
        rendered_max,
        key: None,
        wanted: Arc::new(wanted.clone()),
    };
    let answer = answer(&question, &asked).expect("whole shards");
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
        (Order::LatestDate, Rendering::Whole),
        (Order::EarliestDate, Rendering::Short),
    ] {
        let mut start = Start::First;
        let (mut seen, mut early) = (0, 0);
        loop {
            let query = Query::builder().order(order).build().expect("a query");
            let query = query.part(start, 17);
            let wanted = ShardRequest::Rows {
                query: Box::new(query.part(query.start().clone(), 18)),
                today: TODAY,
                rendering: Some(RowFormat::Item(rendering)),
            };
            let answers = vec![
                node(&wanted, &shards[..3], usize::MAX),
                node(&wanted, &shards[3..], usize::MAX),
            ];
            let rows = ShardAnswer::merge(&wanted, answers).and_then(ShardAnswer::rows);
            let rows = page_rows(rows.expect("rows")).expect("ids");
            let page = page_of(&query, TODAY, rows);
            let expected = corpus::page(&whole, &query, TODAY, rendering).expect("a page");
            assert_eq!(page.keys, expected.keys);
            assert_eq!(page.next_cursor, expected.next_cursor);
            assert_eq!(page.ends_early, expected.ends_early);
            assert!(page.answer.finish(None) == expected.answer.finish(None));
            seen += page.keys.len();
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

/// Of each row that is not rendered the id is sent, and what is rendered comes first.
#[test]
fn a_node_renders_its_first_rows_and_sends_the_ids_of_the_others() {
    let shards = [snapshot((1..=40).step_by(2)), snapshot((2..=40).step_by(2))];
    let query = Query::builder().build().expect("a query");
    let wanted = ShardRequest::Rows {
        query: Box::new(query.part(Start::First, 18)),
        today: TODAY,
        rendering: Some(RowFormat::Item(Rendering::Short)),
    };
    let whole = node(&wanted, &shards, usize::MAX).rows().expect("rows");
    for rendered in [0, 1, 7, 18, 30] {
        let rows = node(&wanted, &shards, rendered).rows().expect("rows");
        assert_eq!(rows.len(), 18);
        for (rank, (row, of_whole)) in rows.iter().zip(&whole).enumerate() {
            assert_eq!(row.id, of_whole.id);
            let expected = if rank < rendered {
                &of_whole.bytes[..]
            } else {
                &[]
            };
            assert_eq!(row.bytes, expected, "{rendered}: {rank}");
        }
    }
}

/// Shards are first asked for fewer rows than the answer has; one that has all of the first ones is asked again.
#[test]
fn the_first_rows_may_all_be_of_one_shard() {
    let apart = |shard: u64| 1 + 100 * shard..=40 + 100 * shard;
    let shards: Vec<_> = (0..5).map(|shard| snapshot(apart(shard))).collect();
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let query = Query::builder().order(order).build().expect("a query");
        for limit in [1, 18, 40, 41, 90, 500] {
            let wanted = ShardRequest::Rows {
                query: Box::new(query.part(Start::First, limit)),
                today: TODAY,
                rendering: Some(RowFormat::Item(Rendering::Short)),
            };
            let rows = node(&wanted, &shards, usize::MAX).rows().expect("rows");
            let mut ids: Vec<u64> = (0..5).flat_map(apart).collect();
            if order == Order::NewestFirst {
                ids.reverse();
            }
            ids.truncate(limit);
            assert!(rows.iter().map(|row| row.id).eq(ids), "{order:?} {limit}");
        }
    }
}
