//! Walks in every order beside a writer that changes the very values: each page is what the law of a walk says.
//!
//! `SIGNALDEX_ORDERS` sets how many pages are compared; `SIGNALDEX_SEED` is the first seed.

use std::collections::BTreeMap;

use super::model::{Model, TODAY, random_query};
use super::random_index::{RandomIndex, setting};
use crate::fixtures::Random;
use crate::index::{Page, Snapshot};
use crate::plan::Strategies;
use crate::query::{Cursor, Filter, Order, Query, SortKey, Start};
use crate::signal::{Signal, SignalId};

/// Pages in the ordinary run.
const PAGES: u64 = 2_000;

/// The page by its definition: the first `limit` of the matches that come after the key, and whether there are more.
fn page_by_law(
    model: &Model,
    (filter, order, limit): (&Filter, Order, usize),
    after: Option<SortKey>,
) -> (Vec<SignalId>, bool) {
    let matches = model.matches(filter);
    let mut signals: Vec<&Signal<'_>> = matches.iter().map(|id| &model.signals[id]).collect();
    signals.sort_by(|a, b| order.compare(a, b));
    let comes_after = |signal: &&&Signal<'_>| {
        after.is_none_or(|key| order.compare_keys(key, order.key_of(signal)).is_lt())
    };
    let rest: Vec<SignalId> = signals
        .iter()
        .filter(comes_after)
        .map(|signal| signal.id)
        .collect();
    (rest[..rest.len().min(limit)].to_vec(), rest.len() > limit)
}

fn search(snapshot: &Snapshot, first: &Query, after: Option<&Cursor>) -> Page {
    let query = match after {
        Some(cursor) => &first.part(Start::After(cursor.clone()), first.limit()),
        None => first,
    };
    snapshot.search(query, TODAY).expect("a whole index")
}

#[test]
fn each_page_of_a_walk_is_what_the_law_says() {
    let mut pages = 0;
    let mut seed = setting("SIGNALDEX_SEED", 1);
    let strategies: Vec<_> = Strategies::each_off().collect();
    while pages < setting("SIGNALDEX_ORDERS", PAGES) {
        seed += 1;
        let mut random = Random::new(seed);
        let mut changing = RandomIndex::new(&mut random);
        for _ in 0..6 {
            pages += walk(&mut changing, &strategies, &mut random, seed);
        }
    }
}

/// Walks in a random order while values change. Returns the number of pages.
fn walk(
    changing: &mut RandomIndex,
    strategies: &[(&'static str, Strategies)],
    random: &mut Random,
    seed: u64,
) -> u64 {
    let (order, limit) = (*random.pick(&Order::ALL), 1 + random.below(12) as usize);
    let text = random_query(random);
    let filter = Filter::from_query_string(&text).expect("a valid filter");
    let first = Query::unchecked(filter.clone(), order, limit);
    let key_of = |signal: &Signal<'_>| order.key_of(signal);
    // The keys at the first page of the signals that match and keep them throughout.
    let mut kept: BTreeMap<SignalId, SortKey> = changing
        .model
        .matches(&filter)
        .into_iter()
        .map(|id| (id, key_of(&changing.model.signals[&id])))
        .collect();
    let mut seen: Vec<(SignalId, SortKey)> = Vec::new();
    let (mut cursor, mut pages): (Option<Cursor>, u64) = (None, 0);
    loop {
        let (name, strategies) = *random.pick(strategies);
        let snapshot = changing.index.snapshot().with_strategies(strategies);
        let page = search(&snapshot, &first, cursor.as_ref());
        let after = cursor.as_ref().map(Cursor::last);
        let (ids, has_more) = page_by_law(&changing.model, (&filter, order, limit), after);
        let context = format!("seed {seed}, {text}, {order}, page {pages} of {limit}, {name}");
        assert_eq!(page.ids().collect::<Vec<_>>(), ids, "{context}");
        assert_eq!(page.next_cursor().is_some(), has_more, "{context}");
        seen.extend(
            ids.iter()
                .map(|id| (*id, key_of(&changing.model.signals[id]))),
        );
        pages += 1;
        cursor = page.next_cursor().cloned();
        if cursor.is_none() {
            break;
        }
        changing.disturb(random);
        let matches = changing.model.matches(&filter);
        kept.retain(|id, key| matches.contains(id) && key_of(&changing.model.signals[id]) == *key);
    }
    let in_order = |pair: &[(SignalId, SortKey)]| order.compare_keys(pair[0].1, pair[1].1).is_lt();
    assert!(
        seen.windows(2).all(in_order),
        "a walk never goes back, seed {seed}"
    );
    for (id, key) in kept {
        let times = seen.iter().filter(|hit| **hit == (id, key)).count();
        assert_eq!(
            times, 1,
            "{id} kept its value, seed {seed}, {text}, {order}"
        );
    }
    pages
}
