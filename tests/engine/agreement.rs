//! Answers agree with `Filter::matches` and `Order::compare` over a full scan: pages, walks, counts, facets, in all
//! orders, with every optimisation on and off.
//!
//! `SIGNALDEX_QUERIES` sets how many random queries are asked of each corpus; a failure prints the
//! seed and the query, and `SIGNALDEX_SEED` replays it.

use signaldex::query::{Facet, Order, Start};
use signaldex::{Facets, Filter, Index, Item, Query, SignalId, Snapshot, Strategies};
use signaldex_synthetic::Corpus;
use time::Date;

use crate::oracle::{Oracle, index_of};
use crate::questions::Questions;

/// Random queries a corpus in the ordinary run.
const QUERIES: usize = 150;

/// Asks random queries of an index and compares every kind of answer. Returns how many queries
/// had matches.
pub(crate) fn compare(index: &Index, today: Date, queries: usize, seed: u64) -> usize {
    let oracle = Oracle::of(index);
    let snapshot = index.snapshot();
    let strategies: Vec<(&str, Snapshot)> = Strategies::each_off()
        .map(|(name, strategies)| (name, snapshot.with_strategies(strategies)))
        .collect();
    let mut questions = Questions::new(&oracle.records, today, seed);
    let mut answered = 0;
    for number in 0..queries {
        let mut text = questions.filter();
        // Orders by amount need a currency.
        if number % 6 == 0 && !text.contains("fundingCurrency") {
            text.push_str("&fundingCurrency=USD");
        }
        let Ok(filter) = Filter::from_query_string(&text) else {
            continue;
        };
        let matches = oracle.matches(&filter, today);
        answered += usize::from(!matches.is_empty());
        let context = format!("seed {seed}, query {number}: {text}");
        let facets = (number % 4 == 0).then(|| oracle.facets(&filter, today));
        // The plain strategies are compared in turn, all of them over the whole run.
        for (name, snapshot) in [&strategies[0], &strategies[number % strategies.len()]] {
            let context = format!("{context} ({name})");
            compare_count(snapshot, &filter, today, &matches, &context);
            compare_pages(
                snapshot,
                &filter,
                today,
                (&oracle, &matches),
                &mut questions,
                &context,
            );
            compare_matches(
                snapshot,
                &filter,
                today,
                (&oracle, &matches),
                &mut questions,
                &context,
            );
            if let Some(expected) = &facets {
                let asked = Facet::ALL[number % Facet::ALL.len()];
                compare_facets(snapshot, &filter, today, expected, asked, &context);
            }
        }
    }
    answered
}

fn compare_count(
    snapshot: &Snapshot,
    filter: &Filter,
    today: Date,
    matches: &[SignalId],
    context: &str,
) {
    let count = snapshot.count(filter, today).expect("a whole index");
    assert_eq!(count, matches.len() as u64, "count; {context}");
}

/// A filter's matches, by ascending id, and the records that have them.
type Expected<'e> = (&'e Oracle, &'e [SignalId]);

fn compare_pages(
    snapshot: &Snapshot,
    filter: &Filter,
    today: Date,
    expected: Expected<'_>,
    questions: &mut Questions<'_>,
    context: &str,
) {
    let limit = 1 + questions.random.below(50);
    for first in Order::ALL.map(|order| Query::of_filter(filter.clone(), order, limit)) {
        // An order that the filter does not allow.
        let Ok(first) = first else { continue };
        let numbered = Start::Page(1 + questions.random.below(4) as u16);
        compare_page(
            snapshot,
            &first.part(numbered, limit),
            today,
            expected,
            context,
        );
        compare_walk(snapshot, &first, today, expected, context);
    }
}

fn compare_page(
    snapshot: &Snapshot,
    query: &Query,
    today: Date,
    (oracle, matches): Expected<'_>,
    context: &str,
) -> signaldex::Page {
    let page = snapshot.search(query, today).expect("a whole index");
    let (ids, has_more) = oracle.page(matches, query);
    let shown: Vec<SignalId> = page.ids().collect();
    assert_eq!(shown, ids, "page of {query:?}; {context}");
    assert_eq!(
        page.next_cursor().is_some(),
        has_more,
        "cursor of {query:?}; {context}"
    );
    page
}

/// All matches, those after some, and those after a signal, in every order.
fn compare_matches(
    snapshot: &Snapshot,
    filter: &Filter,
    today: Date,
    (oracle, matches): Expected<'_>,
    questions: &mut Questions<'_>,
    context: &str,
) {
    for order in Order::ALL {
        if Query::of_filter(filter.clone(), order, 1).is_err() {
            let refused = snapshot.matches(filter, today, order).next();
            assert!(matches!(refused, Some(Err(_))), "{order}; {context}");
            continue;
        }
        let sorted = oracle.sorted(matches, order);
        let expected: Vec<SignalId> = sorted.iter().map(|signal| signal.id).collect();
        let all = || snapshot.matches(filter, today, order);
        let id = |id: signaldex::Result<SignalId>| id.expect("a whole index");
        let ids = all().ids().map(id);
        assert!(ids.eq(expected.iter().copied()), "ids; {context}");
        assert_eq!(all().count(), expected.len(), "count of matches; {context}");
        let skipped = questions.random.below(expected.len() + 2);
        let read = |item: signaldex::Result<Item<'_>>| item.expect("a sound record").signal.id;
        let rest = expected.get(skipped..).unwrap_or_default();
        let some = all().skip(skipped).take(20).map(read);
        assert!(some.eq(rest.iter().copied().take(20)), "skipped; {context}");
        let Some(last) = sorted.get(skipped) else {
            continue;
        };
        let after = all().after(order.key_of(last)).ids().map(id);
        assert!(after.eq(rest[1..].iter().copied()), "after; {context}");
    }
}

/// Goes through up to eight pages by cursor, each compared with the scan.
fn compare_walk(
    snapshot: &Snapshot,
    first: &Query,
    today: Date,
    expected: Expected<'_>,
    context: &str,
) {
    let ids: Vec<SignalId> = snapshot
        .pages(first, today)
        .take(8)
        .flat_map(|page| page.expect("a whole index").ids().collect::<Vec<_>>())
        .collect();
    let mut walked = Vec::new();
    let mut query = first.clone();
    for _ in 0..8 {
        let page = compare_page(snapshot, &query, today, expected, context);
        walked.extend(&page);
        let Some(cursor) = page.next_cursor() else {
            break;
        };
        let sent_back = cursor.to_string().parse().expect("a cursor");
        query = first.part(Start::After(sent_back), first.limit());
    }
    assert_eq!(ids, walked, "pages; {context}");
}

fn compare_facets(
    snapshot: &Snapshot,
    filter: &Filter,
    today: Date,
    expected: &Facets,
    asked: Facet,
    context: &str,
) {
    let facets = snapshot.facets(filter, today).expect("a whole index");
    assert_eq!(facets, *expected, "facets; {context}");
    let some = snapshot
        .facets_of(filter, today, &[asked])
        .expect("a whole index");
    for facet in Facet::ALL {
        let list = if facet == asked {
            expected.values(facet)
        } else {
            &[]
        };
        assert_eq!(some.values(facet), list, "{asked:?} alone; {context}");
    }
}

/// The number of an environment variable, for long runs and for replaying.
pub(crate) fn setting(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

fn corpus_index(corpus: &Corpus) -> Index {
    index_of(corpus.companies(), corpus.signals())
}

#[test]
fn random_queries_agree_on_generated_corpora() {
    let queries = setting("SIGNALDEX_QUERIES", QUERIES);
    let seed = setting("SIGNALDEX_SEED", 1) as u64;
    for (place, signals) in [1, 2, 60, 700, 3_000].into_iter().enumerate() {
        let corpus = Corpus::new(signals, seed + place as u64).expect("a size within bounds");
        let index = corpus_index(&corpus);
        let answered = compare(&index, corpus.as_of(), queries, seed + place as u64);
        assert!(
            signals < 60 || answered * 2 > queries,
            "most queries of {signals} find something"
        );
    }
}

#[test]
fn random_queries_agree_over_several_blocks() {
    let queries = setting("SIGNALDEX_QUERIES", QUERIES) / 15;
    let seed = setting("SIGNALDEX_SEED", 1) as u64;
    let corpus = Corpus::new(150_000, seed).expect("a size within bounds");
    let index = corpus_index(&corpus);
    let answered = compare(&index, corpus.as_of(), queries, seed);
    assert!(answered * 2 > queries, "most queries find something");
}

#[test]
fn an_empty_index_answers_everything_with_nothing() {
    let corpus = Corpus::new(10, 1).expect("a size within bounds");
    let index = index_of(corpus.companies(), []);
    let snapshot = index.snapshot();
    for text in [
        "",
        "q=series",
        "days=7",
        "exclude=a",
        "country=Germany",
        "fundingMin=1",
    ] {
        let query = Query::from_query_string(text).expect("a valid query");
        let page = snapshot
            .search(&query, corpus.as_of())
            .expect("a whole index");
        assert!(page.is_empty() && page.next_cursor().is_none(), "{text}");
        assert_eq!(
            snapshot
                .count(query.filter(), corpus.as_of())
                .expect("a whole index"),
            0,
            "{text}"
        );
    }
    assert_eq!(
        snapshot.company_count().expect("a whole index"),
        corpus.company_count()
    );
}

#[test]
fn a_word_that_occurs_nowhere_leaves_nothing_of_a_union() {
    let corpus = Corpus::new(12, 5).expect("a size within bounds");
    let snapshot = corpus_index(&corpus).snapshot();
    for (name, strategies) in Strategies::each_off() {
        let snapshot = snapshot.with_strategies(strategies);
        for text in [
            "categories=funding,hiring,partnership,award&q=nowhere-at-all&fundingCurrency=USD",
            "categories=funding,hiring&country=Nowhere&fundingCurrency=USD",
        ] {
            for order in Order::ALL {
                let filter = Filter::from_query_string(text).expect("a valid filter");
                let query = Query::of_filter(filter, order, 50).expect("it has a currency");
                let page = snapshot.search(&query, corpus.as_of());
                assert!(page.expect("a whole index").is_empty(), "{text} ({name})");
            }
        }
    }
}

#[test]
fn an_order_by_amount_needs_a_currency_at_every_door() {
    const REFUSAL: &str = "needs fundingCurrency";
    let corpus = Corpus::new(12, 5).expect("a size within bounds");
    let snapshot = corpus_index(&corpus).snapshot();
    let all = Filter::default();
    for order in [Order::LargestAmount, Order::SmallestAmount] {
        let refused = Query::of_filter(all.clone(), order, 50).expect_err("no currency");
        assert!(refused.to_string().contains(REFUSAL), "{refused}");
        let typed = Query::from_query_string(&format!("order={order}"));
        assert_eq!(typed.as_ref().err(), Some(&refused));
        let mut matches = snapshot.matches(&all, corpus.as_of(), order);
        let first = matches.next().expect("an error");
        let error = first.expect_err("no signal");
        assert_eq!(error.kind(), signaldex::ErrorKind::Invalid);
        assert_eq!(error.to_string(), refused.to_string());
        assert!(matches.next().is_none());
    }
}
