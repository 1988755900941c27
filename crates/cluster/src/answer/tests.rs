//! White-box tests of `answer.rs`.

use proptest::prelude::*;
use signaldex::json::Rendering;
use time::macros::date;

use super::*;
use signaldex::{ErrorKind, FacetQuery, Filter, Query};

fn row(id: u64, bytes: &[u8]) -> AnswerRow {
    AnswerRow {
        id,
        bytes: Bytes::copy_from_slice(bytes),
    }
}

fn encoded(answer: &ShardAnswer) -> Bytes {
    let mut bytes = Vec::new();
    answer.encode(&mut bytes);
    bytes.into()
}

fn answers() -> impl Strategy<Value = ShardAnswer> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let rows = prop::collection::vec((any::<u64>(), bytes()), 0..20);
    let rows = rows.prop_map(|rows| rows.iter().map(|(id, bytes)| row(*id, bytes)).collect());
    let value = (any::<u8>(), ".{0,12}", any::<u64>());
    let value = value.prop_map(|(facet, label, count)| FacetValue {
        facet,
        label,
        count,
    });
    let shards = prop::collection::vec(any::<u32>(), 0..9);
    prop_oneof![
        rows.prop_map(ShardAnswer::Rows),
        any::<u64>().prop_map(ShardAnswer::Count),
        prop::collection::vec(value, 0..20).prop_map(ShardAnswer::Facets),
        prop::collection::btree_map(any::<u64>(), shards, 0..4).prop_map(ShardAnswer::LoadedShards),
    ]
}

proptest! {
    #[test]
    fn answers_are_read_as_they_were_written(answer in answers()) {
        let bytes = encoded(&answer);
        prop_assert_eq!(ShardAnswer::decode(bytes).ok(), Some(answer));
    }

    /// A message that ends early may still be a shorter list, but is never more than it holds.
    #[test]
    fn no_damaged_answer_panics_or_allocates_more_than_it_has(
        answer in answers(),
        cut in any::<prop::sample::Index>(),
        flip in any::<u8>(),
    ) {
        let bytes = encoded(&answer);
        let position = cut.index(bytes.len());
        let _ = ShardAnswer::decode(bytes.slice(..position));
        let mut damaged = bytes.to_vec();
        damaged[position] ^= flip;
        let _ = ShardAnswer::decode(damaged.into());
    }
}

#[test]
fn rows_are_merged_in_the_order_of_the_query_and_cut() {
    for (query, expected) in [("limit=3", [9, 8, 7]), ("limit=3&order=oldest", [1, 2, 3])] {
        let wanted = wanted_rows(query);
        let parts = if wanted.ascends() {
            [vec![1, 4, 8], vec![2, 3, 9], vec![7]]
        } else {
            [vec![8, 4, 1], vec![9, 3, 2], vec![7]]
        };
        let parts =
            parts.map(|ids| ShardAnswer::Rows(ids.iter().map(|&id| row(id, b"x")).collect()));
        let merged = ShardAnswer::merge(&wanted, parts.to_vec()).and_then(ShardAnswer::rows);
        let ids: Vec<u64> = merged.expect("rows").iter().map(|row| row.id).collect();
        assert_eq!(ids, expected, "{query}");
    }
}

fn wanted_rows(query: &str) -> ShardRequest {
    let (query, is_ascending) = match query.strip_suffix("&order=oldest") {
        Some(query) => (query, true),
        None => (query, false),
    };
    let builder = Query::from_query_string(query)
        .expect("a query")
        .into_builder();
    let builder = if is_ascending {
        builder.order(signaldex::query::Order::OldestFirst)
    } else {
        builder
    };
    ShardRequest::Rows {
        query: Box::new(builder.build().expect("a query")),
        today: date!(2026 - 06 - 30),
        rendering: Some(Rendering::Whole),
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
    let value = |label: &str, count| FacetValue {
        facet: Facet::Country as u8,
        label: label.to_owned(),
        count,
    };
    let parts = [
        vec![value("Germany", 3), value("Chile", 1)],
        vec![value("germany", 4), value("Chile", 5)],
    ];
    let merged = ShardAnswer::merge(&facets, parts.map(ShardAnswer::Facets).to_vec());
    let merged = merged.and_then(ShardAnswer::facet_values).expect("values");
    assert_eq!(merged.len(), 3, "{merged:?}");
    // The smallest label shows a value that is spelled in several ways.
    let expected = [value("Germany", 7), value("Chile", 6)];
    assert_eq!(values_of(&facets_of(merged)), expected);
}
