//! White-box tests of `answer.rs`.

use signaldex::json::Rendering;
use signaldex::query::Order;
use time::macros::date;

use super::*;
use crate::question::RowFormat;
use signaldex::{ErrorKind, FacetQuery, Filter, Query};

/// A row with a key of an order.
fn row(order: Order, key: &str) -> AnswerRow {
    let key = order.parse_key(key).expect("a key");
    AnswerRow {
        id: key.id().get(),
        value: key.bits(),
        bytes: Bytes::from_static(b"x"),
    }
}

#[test]
fn rows_are_merged_in_the_order_of_the_query_and_cut() {
    for (order, parts, expected) in [
        (
            Order::NewestFirst,
            [vec!["8", "4", "1"], vec!["9", "3", "2"], vec!["7"]],
            [9, 8, 7],
        ),
        (
            Order::OldestFirst,
            [vec!["1", "4", "8"], vec!["2", "3", "9"], vec!["7"]],
            [1, 2, 3],
        ),
        (
            Order::LatestDate,
            [
                vec!["2026-03-01,1", "2026-02-01,9"],
                vec!["2026-03-01,2", ",8"],
                vec![",7"],
            ],
            [2, 1, 9],
        ),
        (
            Order::SmallestAmount,
            [vec!["10,1", ",9"], vec!["9,2"], vec![",8"]],
            [2, 1, 9],
        ),
    ] {
        let dollars = Filter::from_query_string("fundingCurrency=USD").expect("a filter");
        let query = Query::of_filter(dollars, order, 3).expect("it has a currency");
        let wanted = ShardRequest::Rows {
            query: Box::new(query),
            today: date!(2026 - 06 - 30),
            rendering: Some(RowFormat::Item(Rendering::Whole)),
        };
        let rows = |keys: Vec<&str>| keys.iter().map(|key| row(order, key)).collect();
        let parts = parts.map(|keys| ShardAnswer::Rows(rows(keys)));
        let merged = ShardAnswer::merge(&wanted, parts.to_vec()).and_then(ShardAnswer::rows);
        let ids: Vec<u64> = merged.expect("rows").iter().map(|row| row.id).collect();
        assert_eq!(ids, expected, "{order}");
    }
}

#[test]
fn counts_and_values_are_summed_and_other_answers_refused() {
    let filter = Filter::from_query_string("q=raises").expect("a filter");
    let count = ShardRequest::Count {
        filter: Box::new(filter.clone()),
        today: date!(2026 - 06 - 30),
    };
    let merged = ShardAnswer::merge(&count, vec![ShardAnswer::Count(2), ShardAnswer::Count(40)]);
    assert_eq!(merged.ok(), Some(ShardAnswer::Count(42)));
    assert_eq!(
        ShardAnswer::merge(&count, Vec::new()).ok(),
        Some(ShardAnswer::Count(0))
    );
    let other = ShardAnswer::merge(
        &count,
        vec![ShardAnswer::Count(2), ShardAnswer::Rows(Vec::new())],
    );
    assert!(other.is_err_and(|error| error.kind() == ErrorKind::Corrupt));
    let facets = ShardRequest::Facets {
        query: Box::new(FacetQuery::new(filter, [Facet::Country])),
        today: date!(2026 - 06 - 30),
    };
    let value = |label: &'static str, count| FacetValue {
        facet: Facet::Country as u8,
        label: Bytes::from_static(label.as_bytes()),
        count,
    };
    let parts = [
        vec![value("Germany", 3), value("Chile", 1)],
        vec![value("germany", 4), value("Chile", 5)],
    ];
    let merged = ShardAnswer::merge(&facets, parts.map(ShardAnswer::Facets).to_vec());
    let merged = merged.and_then(ShardAnswer::facets).expect("values");
    let countries = merged.values(Facet::Country).iter();
    let countries: Vec<_> = countries
        .map(|value| (value.label(), value.count()))
        .collect();
    // The smallest label shows a value that is spelled in several ways.
    assert_eq!(countries, [("Germany", 7), ("Chile", 6)]);
    let other = ShardAnswer::merge(&facets, vec![ShardAnswer::Count(2), ShardAnswer::Count(2)]);
    assert!(other.is_err_and(|error| error.kind() == ErrorKind::Corrupt));
}

/// Counts of this node's shards, of its former ones and of other nodes are added up.
#[test]
fn facets_are_merged_by_number_and_by_label() {
    use signaldex::sample;
    let snapshot = sample::index().expect("the sample").snapshot();
    let counted = || {
        let dictionary = Arc::new(FacetDictionary::new(vec![Arc::clone(&snapshot)]));
        let mut counters = dictionary.counters();
        let filter = Filter::default();
        let count = dictionary.count(0, &filter, sample::AS_OF, &Facet::ALL, &mut counters);
        count.expect("counts");
        CountedFacets {
            dictionary,
            counters,
        }
    };
    let own = counted();
    let sent = own.values().map(|(facet, label, count)| FacetValue {
        facet: facet as u8,
        label: Bytes::copy_from_slice(label.as_bytes()),
        count,
    });
    let parts = vec![
        ShardAnswer::Facets(sent.collect()),
        ShardAnswer::Counters(own.clone()),
        ShardAnswer::Counters(own),
        ShardAnswer::Counters(counted()),
    ];
    let merged = CountedFacets::of(parts).expect("facets");
    let alone = snapshot
        .facets(&Filter::default(), sample::AS_OF)
        .expect("facets");
    let merged = merged.dictionary.facets(&merged.counters);
    for facet in Facet::ALL {
        let sums = merged.values(facet).iter();
        let sums: Vec<_> = sums.map(|value| (value.label(), value.count())).collect();
        let of_one = alone.values(facet).iter();
        let of_one: Vec<_> = of_one
            .map(|value| (value.label(), 4 * value.count()))
            .collect();
        assert_eq!(sums, of_one, "{facet:?}");
    }
}
