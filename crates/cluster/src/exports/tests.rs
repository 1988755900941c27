//! Exports of a cluster have the rows and bytes of one index, over generations that are published meanwhile, from wherever
//! they go on.

use std::collections::HashSet;
use std::sync::Arc;

use signaldex::query::{Order, SortKey};
use signaldex::replicate::Store;
use signaldex::{Company, Currency, Filter, Funding, IndexBuilder, Signal, SignalId};
use signaldex_server::corpus::{
    Corpus as _, CorpusView, ExportFormat, ExportRequest, ExportSlice, Unanswered, export_slice,
};

use crate::fixtures::{Corpus, Generation, Random, TODAY, TestNode};
use crate::placement::shard_of;

const ORDERS: [Order; 4] = [
    Order::NewestFirst,
    Order::OldestFirst,
    Order::LatestDate,
    Order::SmallestAmount,
];
const FORMATS: [ExportFormat; 2] = [ExportFormat::Ndjson, ExportFormat::Csv];

fn request(filter: &str, format: ExportFormat) -> ExportRequest {
    ExportRequest {
        filter: Filter::from_query_string(filter).expect("a filter"),
        order: Order::NewestFirst,
        format,
        after: None,
        items_max: u64::MAX,
    }
}

/// The export of a generation from one index.
fn of_one_index(generation: &Generation, request: &ExportRequest) -> (Vec<SortKey>, Vec<u8>) {
    let (mut builder, mut added) = (IndexBuilder::in_memory(), HashSet::new());
    for shard in &generation.snapshots {
        let all = Filter::default();
        let matches = shard.matches(&all, TODAY, Order::NewestFirst);
        for id in matches.ids() {
            let found = shard.signal(id.expect("an id")).expect("a record");
            let found = found.expect("a signal");
            if added.insert(found.company.slug.to_string()) {
                builder.add_company(&found.company).expect("a company");
            }
            builder.add_signal(&found.signal).expect("a signal");
        }
    }
    let snapshot = builder.finish().expect("an index").snapshot();
    let (mut keys, mut body, mut next) = (Vec::new(), Vec::new(), Some(request.clone()));
    while let Some(request) = next {
        let slice = export_slice(&snapshot, &request, TODAY).expect("a slice");
        next = request.after_slice(&slice);
        keys.extend(slice.keys);
        body.extend(slice.body);
    }
    (keys, body)
}

async fn slice(node: &TestNode, view: &Arc<CorpusView>, request: &ExportRequest) -> ExportSlice {
    let slice = node
        .corpus()
        .export(Arc::clone(view), request.clone(), TODAY);
    slice.await.expect("a slice")
}

async fn keys_of(
    node: &TestNode,
    view: &Arc<CorpusView>,
    request: &ExportRequest,
    max: usize,
) -> Vec<SortKey> {
    let (view, request) = (Arc::clone(view), request.clone());
    let keys = node.corpus().export_keys(view, request, max, TODAY);
    keys.await.expect("keys")
}

/// Signals whose export has several slices, some of them because of their length.
fn large(corpus: &mut Corpus) {
    let count = corpus.shards.len() as u32;
    for shard in 0..count {
        let mut slugs = (0..1_000).map(|number| format!("large-{number}"));
        let slug = slugs.find(|slug| shard_of(slug, count) == shard);
        let slug = slug.expect("a slug of each shard");
        let mut writer = corpus.shards[shard as usize].writer().expect("a writer");
        writer
            .upsert_company(&Company::new(&*slug, "Large, Inc."))
            .expect("a company");
        for number in 0..2_100 / u64::from(count) {
            let id = SignalId::new(1_000 + number * 10 + u64::from(shard)).expect("an id");
            let mut signal = Signal::new(id, &*slug, "=Acme \"raises\"");
            let length = if number % 97 == 0 { 150_000 } else { 40 };
            signal.evidence = Some("e".repeat(length).into());
            signal.funding = (number % 3 > 0).then(|| Funding {
                amount: (number % 5 > 0).then_some((number % 50) as f64),
                currency: Currency::new("USD"),
                ..Funding::default()
            });
            writer.upsert_signal(&signal).expect("a signal");
        }
        writer.commit().expect("a commit");
    }
}

#[tokio::test]
async fn an_export_is_that_of_one_index_while_generations_are_published() {
    let mut random = Random::new(5);
    for shards in [1, 3, 7] {
        let mut corpus = Corpus::new(shards, Store::in_memory());
        large(&mut corpus);
        corpus.change(&mut random);
        corpus.publish().await;
        let node = TestNode::new(&corpus.store, corpus.newest());
        for (filter, format) in [("", FORMATS[0]), ("", FORMATS[1]), ("q=acme", FORMATS[1])] {
            let request = request(filter, format);
            let (view, generation) = (node.members.view(), corpus.newest().clone());
            let kept = node.coordinator.keep(&view).expect("a lease");
            let (expected_keys, expected_body) = of_one_index(&generation, &request);
            let (mut keys, mut body, mut slices) = (Vec::new(), Vec::new(), 0);
            let mut next = Some(request.clone());
            while let Some(request) = next {
                let slice = slice(&node, &view, &request).await;
                next = request.after_slice(&slice);
                keys.extend(slice.keys);
                body.extend(slice.body);
                slices += 1;
                if slices <= 10 {
                    corpus.change(&mut random);
                    corpus.publish().await;
                    node.load(corpus.newest());
                }
            }
            assert!(slices > 1 && keys == expected_keys && body == expected_body);
            drop(kept);
        }
    }
}

#[tokio::test]
async fn an_export_goes_on_anywhere_and_ends_where_it_is_told_to() {
    let mut corpus = Corpus::new(3, Store::in_memory());
    large(&mut corpus);
    corpus.publish().await;
    let node = TestNode::new(&corpus.store, corpus.newest());
    let (view, mut random) = (node.members.view(), Random::new(7));
    for round in 0..2 * ORDERS.len() {
        let order = ORDERS[round / 2];
        let filter = if order.needs_currency() {
            "fundingCurrency=USD"
        } else {
            ""
        };
        let mut part = request(filter, FORMATS[round % 2]);
        part.order = order;
        let (all, _) = of_one_index(corpus.newest(), &part);
        part.after = Some(all[random.below(all.len() as u64) as usize]);
        part.items_max = 1 + random.below(2_000);
        let (expected_keys, expected_body) = of_one_index(corpus.newest(), &part);
        let keys = keys_of(&node, &view, &part, usize::MAX).await;
        assert_eq!(keys, expected_keys);
        let few = keys_of(&node, &view, &part, 9).await;
        assert_eq!(few, expected_keys[..expected_keys.len().min(9)]);
        let (mut keys, mut body, mut next) = (Vec::new(), Vec::new(), Some(part));
        while let Some(request) = next {
            let slice = slice(&node, &view, &request).await;
            next = request.after_slice(&slice);
            keys.extend(slice.keys);
            body.extend(slice.body);
        }
        assert!(keys == expected_keys && body == expected_body, "{round}");
    }
}

#[tokio::test]
async fn a_third_generation_waits_for_exports_of_the_others() {
    let mut corpus = Corpus::new(2, Store::in_memory());
    let mut random = Random::new(9);
    corpus.change(&mut random);
    corpus.publish().await;
    let node = TestNode::new(&corpus.store, corpus.newest());
    let mut kept = Vec::new();
    for _ in 0..2 {
        kept.push(
            node.coordinator
                .keep(&node.members.view())
                .expect("a lease"),
        );
        corpus.publish().await;
        node.load(corpus.newest());
    }
    let held: Vec<u64> = node.loaded.all().keys().copied().collect();
    assert_eq!(held, [1, 2, 3]);
    let refused = node.coordinator.keep(&node.members.view());
    assert!(matches!(refused, Err(Unanswered::Unavailable(_))));
    kept.remove(0);
    assert!(node.coordinator.keep(&node.members.view()).is_ok());
    corpus.publish().await;
    node.load(corpus.newest());
    let held: Vec<u64> = node.loaded.all().keys().copied().collect();
    assert!(held.contains(&2) && !held.contains(&1));
}
