//! White-box tests of `index/cost.rs`.

use super::*;
use crate::fixtures;

const ROWS: u64 = 10_000;

fn snapshot() -> std::sync::Arc<Snapshot> {
    let titles = (1..=ROWS).map(|number| match number % 100 {
        0 => "a rare b c",
        _ => "a b and b c and c d",
    });
    fixtures::index(titles).snapshot()
}

fn cost(query: &str, cheap: Cost) -> Cost {
    let filter = Filter::from_query_string(query).expect("a filter");
    let today = time::macros::date!(2026 - 11 - 22);
    snapshot()
        .cost(&filter, today, cheap)
        .expect("a whole index")
}

#[test]
fn each_phrase_that_has_to_be_looked_for_costs_its_rows() {
    let one = cost("any=%22a+b+c%22", 0);
    let two = cost("any=%22a+b+c%22+%22b+c+d%22", 0);
    assert!((ROWS * 9 / 10..2 * ROWS).contains(&one), "{one}");
    assert!((2 * ROWS * 9 / 10..3 * ROWS).contains(&two), "{two}");
}

#[test]
fn a_rare_word_or_a_word_that_is_nowhere_makes_a_query_cheap() {
    let narrowed = cost("any=%22a+b+c%22&all=rare", 0);
    assert!(narrowed < ROWS / 10, "{narrowed}");
    assert_eq!(cost("any=%22a+b+c%22&all=nowhere", 0), 0);
}

#[test]
fn words_are_cheap_without_a_plan() {
    assert!(cost("q=a+b+c+-rare", 1_000) <= 1_000);
    assert!(cost("any=%22a+b+c%22", 1_000) > 1_000);
}

#[test]
fn facets_cost_a_run_for_each_filter_of_their_own() {
    let today = time::macros::date!(2026 - 11 - 22);
    let facets = |query: &str| {
        let filter = Filter::from_query_string(query).expect("a filter");
        snapshot()
            .facets_cost(&filter, &Facet::ALL, today, 0)
            .expect("a whole index")
    };
    assert_eq!(facets(""), 0, "stored counts");
    assert!(facets("any=%22a+b+c%22") >= ROWS);
    assert!(facets("q=a") > facets("q=rare"));
    let filter = Filter::from_query_string("q=a").expect("a filter");
    let of = |asked: &[Facet]| {
        snapshot()
            .facets_cost(&filter, asked, today, 0)
            .expect("a whole index")
    };
    assert!(of(&[Facet::Size]) < of(&[Facet::Size, Facet::Category]));
}

#[test]
fn a_page_by_value_costs_what_a_facet_does_and_one_by_id_what_a_count_does() {
    let (snapshot, today) = (snapshot(), time::macros::date!(2026 - 11 - 22));
    for text in ["q=a", "any=%22a+b+c%22", ""] {
        let page = |order: &str| {
            let query = Query::from_query_string(&format!("{text}&order={order}"));
            let cost = snapshot.page_cost(&query.expect("a query"), today, 0);
            cost.expect("a whole index")
        };
        let filter = Filter::from_query_string(text).expect("a filter");
        let facet = snapshot.facets_cost(&filter, &[Facet::Size], today, 0);
        assert_eq!(page("oldest"), cost(text, 0), "{text}");
        assert_eq!(page("date"), facet.expect("a whole index"), "{text}");
    }
}
