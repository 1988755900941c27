//! Filters of awkward pieces of text, and the tables of searches: three nodes find what `Filter::matches` says.
//!
//! `SIGNALDEX_PAIRS` says how many pairs of a filter and a record are compared, `SIGNALDEX_SEED` which.

use std::fs;

use serde_json::{Value, json};
use signaldex::SignalId;

use crate::awkward::{Awkward, TODAY};
use crate::client::Response;
use crate::fixture::{Cluster, Fixture, Shape, number};
use crate::oracle::Record;
use crate::search_tables::Table;

/// Records that filters are compared with.
const RECORDS: u64 = 1_000;

/// Shards; with each node in two copies of three, every search needs several nodes.
const SHARDS: u32 = 7;

/// Writes records as a corpus and serves them.
fn serve(fixture: &Fixture, name: &str, records: &[Record]) -> Cluster {
    let folder = fixture.path(name);
    fs::create_dir(&folder).expect("a new folder");
    let (mut signals, mut companies) = (String::new(), String::new());
    for (signal, company) in records {
        let signal = json!({
            "id": signal.id.to_string(), "slug": signal.slug, "title": signal.title, "companySlug": signal.company_slug
        });
        let company = json!({"slug": company.slug, "name": company.name});
        signals += &format!("{signal}\n");
        companies += &format!("{company}\n");
    }
    fs::write(folder.join("signals.jsonl"), signals).expect("a new file");
    fs::write(folder.join("companies.jsonl"), companies).expect("a new file");
    let store = format!("{name}-store");
    fixture.build(name);
    fixture.publish(name, SHARDS, &store);
    Cluster::start(fixture, name, &store, Shape::with_replicas(2))
}

/// The ids that a search finds, over all its pages, or the code of its error; each request goes to the next node.
fn found(cluster: &Cluster, turn: &mut usize, query: &str) -> Result<Vec<u64>, String> {
    let mut get = |target: &str| -> Response {
        *turn += 1;
        cluster.nodes[*turn % cluster.nodes.len()].get(target)
    };
    let mut ids = Vec::new();
    let mut target = format!("/api/v1/signals?{query}&limit=50");
    // Each turn adds a page; the last has no cursor.
    loop {
        let answer = get(&target);
        let body = answer.json();
        if answer.status != 200 {
            return Err(body["errors"][0]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned());
        }
        let items = body["data"]["items"].as_array().expect("items").iter();
        let id = |item: &Value| item["id"].as_str().and_then(|id| id.parse::<u64>().ok());
        ids.extend(items.map(|item| id(item).expect("an id")));
        let Some(cursor) = body["data"]["nextCursor"].as_str() else {
            break;
        };
        target = format!("/api/v1/signals?{query}&limit=50&cursor={cursor}");
    }
    let count =
        get(&format!("/api/v1/signals?{query}&countOnly=true")).json()["data"]["count"].clone();
    assert_eq!(count, ids.len(), "{query}");
    Ok(ids)
}

#[test]
fn nodes_find_by_awkward_filters_what_the_definition_says() {
    let fixture = Fixture::new();
    let mut awkward = Awkward::new(number("SIGNALDEX_SEED", 1));
    let ids = (1..=RECORDS).filter_map(SignalId::new);
    let records: Vec<Record> = ids.map(|id| awkward.record(id)).collect();
    let cluster = serve(&fixture, "awkward", &records);
    let filters = number("SIGNALDEX_PAIRS", 60_000) / RECORDS;
    let (mut turn, mut matched) = (0, 0);
    for _ in 0..filters {
        let (query_string, filter) = awkward.filter();
        let matching = records
            .iter()
            .filter(|(signal, company)| filter.matches(signal, company, TODAY));
        let mut expected: Vec<u64> = matching.map(|(signal, _)| signal.id.get()).collect();
        expected.reverse();
        matched += expected.len() as u64;
        assert_eq!(
            found(&cluster, &mut turn, &query_string),
            Ok(expected),
            "{query_string}"
        );
    }
    println!(
        "{} pairs, {matched} match, {turn} requests",
        filters * RECORDS
    );
    assert!(matched * 50 > filters * RECORDS, "only {matched} match");
}

#[test]
fn nodes_find_by_each_search_of_the_tables_what_it_should() {
    let fixture = Fixture::new();
    for (name, table) in [("titles", Table::of_titles()), ("names", Table::of_names())] {
        let cluster = serve(&fixture, name, &table.records);
        let mut turn = 0;
        table.check(|search| found(&cluster, &mut turn, &search.query_string()));
    }
}
