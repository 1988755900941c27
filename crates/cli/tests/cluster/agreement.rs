//! Random queries to a cluster and to one index of everything: the same bytes.
//!
//! `SIGNALDEX_QUERIES` says how many for each number of shards, `SIGNALDEX_SEED` which.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use signaldex::query::Measure;
use signaldex::{Facet, Index};

use crate::client::Response;
use crate::fixture::{Cluster, Fixture, Served, Shape, TODAY, number};
use crate::oracle::Oracle;
use crate::questions::Questions;

/// Pages of a walk that are compared.
const PAGES_MAX: usize = 4;

/// Signals of a corpus whose companies are so few that of seven shards some are empty.
const FEW_SIGNALS: u64 = 90;

/// Asks both for the same and compares all that a client can see of the content.
struct Pair<'s> {
    whole: &'s Served,
    cluster: &'s Cluster,
    asked: AtomicU64,
}

impl Pair<'_> {
    fn compare(&self, target: &str) -> Response {
        let turn = self.asked.fetch_add(1, Ordering::Relaxed);
        let node = &self.cluster.nodes[turn as usize % self.cluster.nodes.len()];
        let (expected, found) = (self.whole.get(target), node.get(target));
        assert_eq!(found.status, expected.status, "{target}: {}", node.log());
        if expected.status == 200 {
            let is_same = found.body == expected.body;
            assert!(is_same, "{target}:\n{}\n{}", text(&found), text(&expected));
        }
        assert_eq!(found.charged(), expected.charged(), "{target}");
        found
    }

    /// The pages of a query to an endpoint, each from the cursor of the one before.
    fn compare_walk(&self, path: &str, query: &str) {
        let mut target = format!("{path}?{query}");
        for _ in 0..PAGES_MAX {
            let answer = self.compare(&target);
            if answer.status != 200 {
                return;
            }
            let Some(cursor) = cursor_of(&answer) else {
                return;
            };
            target = format!("{path}?{query}&cursor={cursor}");
        }
    }
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

fn cursor_of(answer: &Response) -> Option<String> {
    match &answer.json()["data"]["nextCursor"] {
        Value::String(cursor) => Some(cursor.clone()),
        _ => None,
    }
}

/// A random query of aggregates. Few contradict themselves.
fn aggregates(questions: &mut Questions<'_>) -> String {
    let filter = questions.filter();
    let random = &mut questions.random;
    let units = ["day", "week", "month", "quarter", "year"];
    let unit = random.word(&units);
    let lists: Vec<&str> = (0..2).map(|_| random.word(&Facet::LIST_NAMES)).collect();
    let by = match random.below(7) {
        0 => String::new(),
        1 => "&by=company".to_owned(),
        2 => format!("&by={unit}"),
        3 => format!("&by={}", lists[0]),
        4 => format!("&by={unit},{}", lists[0]),
        _ => format!("&by={},{}", lists[0], lists[1]),
    };
    let names = &Measure::NAMES;
    let measures: Vec<&str> = (0..=random.below(4)).map(|_| random.word(names)).collect();
    let measures = measures.join(",");
    let order = [
        "",
        "&order=key",
        "&order=-key",
        "&order=-count",
        "&order=-sum",
    ];
    let order = random.word(&order);
    let currency = if filter.contains("fundingCurrency") || !random.chance(50) {
        ""
    } else {
        "&fundingCurrency=USD"
    };
    let limit = [String::new(), format!("&limit={}", 1 + random.below(1_000))];
    let limit = random.pick(&limit);
    format!("{filter}{by}&measures={measures}{order}{currency}{limit}")
}

/// A random query for companies. Few contradict themselves.
fn companies(questions: &mut Questions<'_>) -> String {
    let mut parts = Vec::new();
    for name in ["has", "hasNot"] {
        let count = questions.random.below(3);
        let conditions: Vec<String> = (0..count).map(|_| condition(questions)).collect();
        if count > 0 {
            parts.push(format!("{name}={}", conditions.join(",")));
        }
    }
    let random = &mut questions.random;
    let of_company = [
        "country=germany",
        "size=1-49",
        "employeesMin=100",
        "foundedTo=2015",
        "company=labs",
    ];
    if random.chance(40) {
        parts.push(random.word(&of_company).to_owned());
    }
    parts.push(format!(
        "order={}",
        random.word(&["slug", "-matches", "-latest"])
    ));
    parts.join("&")
}

/// A filter with bounds in parentheses.
fn condition(questions: &mut Questions<'_>) -> String {
    let filter = questions.filter();
    let bounds = ["", "min=2", "min=0&max=1", "max=3"];
    let bounds = questions.random.word(&bounds);
    let parts = [&*filter, bounds]
        .into_iter()
        .filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    format!("({})", parts.join("&").replace('&', "%3B"))
}

/// Compares that many random queries to a cluster and to one index of everything, which is given. Returns the number
/// of compared answers.
pub(crate) fn compare_queries(
    whole: &Served,
    cluster: &Cluster,
    index: &Index,
    seed: u64,
    queries: u64,
) -> u64 {
    let pair = Pair {
        whole,
        cluster,
        asked: AtomicU64::new(0),
    };
    let oracle = Oracle::of(index);
    let mut questions = Questions::new(&oracle.records, TODAY, seed);
    for _ in 0..queries {
        let filter = questions.filter();
        let limit = 1 + questions.random.below(50);
        match questions.random.below(16) {
            13..=15 => {
                let query = companies(&mut questions);
                let facets = "countOnly=true&facets=countries,industries,sizes";
                pair.compare(&format!("/api/v1/companies?{query}&{facets}"));
                let query = format!("{query}&limit={limit}");
                pair.compare(&format!("/api/v1/companies?{query}&page=2"));
                pair.compare_walk("/api/v1/companies", &query);
            }
            10..=12 => {
                let query = aggregates(&mut questions);
                pair.compare(&format!("/api/v1/aggregates?{query}"));
            }
            0 => drop(pair.compare(&format!("/api/v1/filter-options?{filter}"))),
            1 | 2 => drop(pair.compare(&format!("/api/v1/signals?{filter}&countOnly=true"))),
            3 => {
                let page = 1 + questions.random.below(4);
                let query = format!("{filter}&limit={limit}&page={page}");
                pair.compare(&format!("/api/v1/signals?{query}"));
            }
            4 => {
                let (signal, company) = questions.random.pick(&oracle.records);
                pair.compare(&format!("/api/v1/signals/{}", signal.id));
                pair.compare(&format!("/api/v1/companies/{}", company.slug));
            }
            5 => {
                let format = questions.random.word(&["csv", "ndjson"]);
                let items = 1 + questions.random.below(2_000);
                let query = format!("{filter}&format={format}&maxItems={items}");
                pair.compare(&format!("/api/v1/export?{query}"));
            }
            _ => pair.compare_walk("/api/v1/signals", &format!("{filter}&limit={limit}")),
        }
    }
    for target in [
        "/api/v1/signals",
        "/api/v1/signals?countOnly=true",
        "/api/v1/filter-options",
        "/api/v1/aggregates",
        "/api/v1/aggregates?by=day,countries&measures=companies,sum,median",
        "/api/v1/aggregates?by=company&measures=sum&limit=1000",
        "/api/v1/companies",
        "/api/v1/companies?hasNot=()",
        "/api/v1/companies?countOnly=true&facets=sizes",
        "/api/v1/signals/1",
        "/api/v1/companies/nobody",
        "/api/v1/signals?limit=51",
    ] {
        pair.compare(target);
    }
    pair.asked.into_inner()
}

/// Compares that many random queries over a corpus in that many shards.
fn compare(fixture: &Fixture, corpus: &str, shards: u32, queries: u64) {
    let store = format!("{corpus}-store-{shards}");
    fixture.publish(corpus, shards, &store);
    let whole = fixture.serve_whole(corpus);
    let name = format!("{corpus}-{shards}");
    let cluster = Cluster::start(fixture, &name, &store, Shape::with_replicas(2));
    let seed = number("SIGNALDEX_SEED", 1) * 1_000 + u64::from(shards);
    let asked = compare_queries(&whole, &cluster, &fixture.index(corpus), seed, queries);
    println!("{corpus} in {shards} shards: {queries} queries, {asked} answers, all the same");
}

#[test]
fn a_cluster_answers_as_one_index_byte_for_byte() {
    let fixture = Fixture::new();
    let queries = number("SIGNALDEX_QUERIES", 40);
    let signals = number("SIGNALDEX_SIGNALS", 3_000);
    fixture.generate("many", signals, number("SIGNALDEX_SEED", 1));
    for shards in [1, 2, 3, 7, 64] {
        compare(&fixture, "many", shards, queries);
    }
    fixture.generate("few", FEW_SIGNALS, 2);
    compare(&fixture, "few", 7, queries.min(500));
    let empty = (0..7).filter(|shard| {
        let shard = fixture.path("few-7-parts").join(shard.to_string());
        let index = Index::open(shard).expect("a shard");
        index.snapshot().signal_count() == 0
    });
    assert!(empty.count() > 0, "no shard was empty");
}
