//! Companies by their signals, as the command prints them.

use serde_json::{Value, json};
use signaldex::query::CompanyQuery;
use signaldex::sample;

use crate::ended::{printed, refused};

const QUERY: &str = "has=(categories=funding),(categories=hiring;min=2)&order=-matches&limit=3";

fn answer(arguments: &[&str]) -> Value {
    let arguments = [&["companies", "@sample"], arguments].concat();
    let text = printed(&arguments);
    let answer: Value = serde_json::from_str(&text).expect("the program prints JSON");
    answer["data"].clone()
}

#[test]
fn a_page_is_that_of_the_library() {
    let data = answer(&[QUERY]);
    let query = CompanyQuery::from_query_string(QUERY).expect("a valid query");
    let snapshot = sample::index().expect("the sample").snapshot();
    let page = snapshot
        .companies(&query, sample::AS_OF)
        .expect("a whole index");
    let items = data["items"].as_array().expect("a list");
    assert_eq!(items.len(), page.len());
    for (item, matched) in items.iter().zip(page.items()) {
        assert_eq!(item["slug"], *matched.profile.company.slug);
        assert_eq!(item["matches"][1]["count"], matched.matches[1].count);
        let one = printed(&["company", "@sample", &matched.profile.company.slug]);
        let one: Value = serde_json::from_str(&one).expect("the program prints JSON");
        let mut item = item.clone();
        item.as_object_mut().expect("an object").remove("matches");
        assert_eq!(
            item, one["data"],
            "but for the matches it is the company's detail"
        );
    }
    let cursor = page.next_cursor().expect("there are more").to_string();
    assert_eq!(data["nextCursor"], cursor);
    let second = answer(&[&format!("{QUERY}&cursor={cursor}")]);
    assert_ne!(second["items"][0], data["items"][0]);
    assert_eq!(
        answer(&["c++"])["items"][0]["slug"],
        "cpp-foundry",
        "words are the name"
    );
}

#[test]
fn each_format_has_the_companies_of_the_page() {
    let data = answer(&[QUERY]);
    let slugs = data["items"].as_array().expect("a list").iter();
    let slugs: Vec<&str> = slugs
        .map(|item| item["slug"].as_str().expect("a slug"))
        .collect();
    let shown = |format| printed(&["companies", "@sample", QUERY, "--format", format]);
    assert!(shown("ids").lines().eq(slugs.iter().copied()));
    let lines = shown("ndjson");
    let lines: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
    assert_eq!(json!(lines.expect("JSON on every line")), data["items"]);
    let rows = shown("csv");
    let header = rows.lines().next().expect("a header");
    assert!(header.starts_with("slug,name,") && header.ends_with("matches.2.latestDate"));
    assert_eq!(rows.lines().count(), 1 + slugs.len());
    let table = shown("table");
    assert!(
        slugs
            .iter()
            .all(|slug| table.contains(&slug[..slug.len().min(12)]))
    );
    assert!(table.contains("next page: signaldex companies @sample"));
}

#[test]
fn counts_and_facets_are_answered_without_companies() {
    let count = answer(&["country=Germany", "countOnly=true"]);
    assert_eq!(
        (&count["items"], &count["nextCursor"]),
        (&json!([]), &Value::Null)
    );
    let facets = answer(&["country=Germany", "countOnly=true", "facets=countries"]);
    assert_eq!(facets["count"], count["count"]);
    let countries = facets["facets"]["countries"].as_array().expect("a list");
    let germany = countries.iter().find(|value| value["value"] == "Germany");
    assert_eq!(germany.expect("Germany")["count"], count["count"]);
    assert!(countries.len() > 1, "its own filter is lifted");
}

#[test]
fn faults_name_the_condition() {
    let message = refused(
        1,
        &[
            "companies",
            "@sample",
            "has=(),(days=8)",
            "categories=funding",
        ],
    );
    assert!(
        message.contains("has, condition 2: days is \"8\""),
        "{message}"
    );
    assert!(message.contains("write it in a condition"), "{message}");
}

#[test]
fn the_day_can_be_given() {
    let count =
        |as_of| answer(&["has=(days=30)", "countOnly=true", "--as-of", as_of])["count"].clone();
    assert_ne!(count("2026-01-31"), count("1999-01-01"));
    assert_eq!(count("1999-01-01"), 0);
}
