//! Partial answers: merged in any order they finish to the answer over all records.

use proptest::prelude::*;
use time::macros::date;

use super::PartialAggregates;
use crate::aggregate::{AmountCount, KeyValue, PartialGroup};
use crate::query::{AggregateQuery, ParameterSet};
use crate::signal::Currency;

fn query(text: &str) -> AggregateQuery {
    AggregateQuery::from_query_string(text, ParameterSet::FILTERS).expect("a query")
}

fn partial() -> impl Strategy<Value = PartialAggregates> {
    let labels = prop::sample::select(vec!["Germany", "germany", "GERMANY", "France", "Kenya"]);
    let label = prop::option::of(labels);
    let currency = prop::option::of(prop::sample::select(vec!["EUR", "USD"]));
    let amounts = prop::collection::vec((currency, 0_u32..5, 1_u64..4), 0..4);
    let groups = prop::collection::vec((label, 1_u64..9, amounts), 0..6);
    groups.prop_map(|groups| {
        let groups = groups.into_iter().map(|(label, count, amounts)| {
            let key = label.map(|label| KeyValue::Label(label.to_owned()));
            let mut group = PartialGroup::new(vec![key], count, 1);
            let amounts = amounts.into_iter().map(|(currency, amount, count)| {
                AmountCount::new(currency.and_then(Currency::new), f64::from(amount), count)
            });
            group.add_amounts(amounts.collect());
            group
        });
        let groups: Vec<PartialGroup> = groups.collect();
        let companies = groups.len() as u64;
        PartialAggregates::new(&query("by=countries"), groups, companies)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn merging_is_associative_and_commutative(a in partial(), b in partial(), c in partial()) {
        let query = query("by=countries&measures=companies,sum,median");
        let merged = |one: &PartialAggregates, other: &PartialAggregates| {
            let mut merged = one.clone();
            merged.merge(other.clone(), &query);
            merged
        };
        let left = merged(&merged(&a, &b), &c);
        prop_assert_eq!(&left, &merged(&a, &merged(&b, &c)));
        prop_assert_eq!(&left, &merged(&merged(&c, &a), &b));
        prop_assert!(left.groups.iter().filter(|group| group.key != [None]).count() <= 3);
    }
}

#[test]
fn too_many_groups_of_two_are_refused() {
    let text = "by=sizes,countries&groupsMax=1";
    let query: AggregateQuery = text.parse().expect("a query");
    let label = |text: &str| Some(KeyValue::Label(text.to_owned()));
    let groups = ["a", "b"].map(|text| PartialGroup::new(vec![label(text), None], 1, 0));
    let one = PartialAggregates::new(&query, vec![groups[0].clone()], 0);
    assert_eq!(one.finish(&query).expect("one group").totals.groups, 1);
    let two = PartialAggregates::new(&query, groups.into(), 0);
    let error = two.finish(&query).expect_err("too many groups");
    assert_eq!(error.kind(), crate::ErrorKind::TooManyGroups);
    assert!(
        error.to_string().contains("more than 1 groups of two"),
        "{error}"
    );
}

#[test]
fn nothing_matches() {
    let query = query("by=month&measures=companies,sum");
    let aggregates = PartialAggregates::default()
        .finish(&query)
        .expect("no group");
    assert_eq!(aggregates, query.of([], date!(2026 - 06 - 30)));
    assert_eq!(aggregates.totals.figures.companies, Some(0));
    assert_eq!(aggregates.totals.figures.amounts, Some(Vec::new()));
}
