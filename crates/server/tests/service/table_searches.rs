//! Every search of the tables in `data`, over HTTP and as a call of a tool.

use serde_json::{Map, Value, json};
use signaldex::{Filter, Index, IndexBuilder};

use crate::fixture::{Fixture, Settings};
use crate::mcp::content;
use crate::search_tables::{Search, Table};

fn fixture(index: Index) -> Fixture {
    Fixture::with(Settings {
        index: Some(index),
        ..Settings::default()
    })
}

/// The ids and the next cursor of a page.
type Page = (Vec<u64>, Option<String>);

/// The ids of all pages, each asked for with the cursor of the one before it.
fn walk(mut page: impl FnMut(Option<&str>) -> Result<Page, String>) -> Result<Vec<u64>, String> {
    let (mut ids, mut cursor) = page(None)?;
    while let Some(next) = cursor {
        let (more, after) = page(Some(&next))?;
        ids.extend(more);
        cursor = after;
    }
    Ok(ids)
}

/// What the answer of a search or of a tool has in `items`.
fn page_of(answer: &Value, items: &str) -> Page {
    let items = answer[items].as_array().expect("items").iter();
    let id = |item: &Value| item["id"].as_str().and_then(|id| id.parse().ok());
    let ids = items.map(|item| id(item).expect("an id")).collect();
    (ids, answer["nextCursor"].as_str().map(str::to_owned))
}

fn first_code(errors: &Value) -> String {
    errors[0]["code"].as_str().expect("a code").to_owned()
}

fn over_http(fixture: &Fixture, search: &Search) -> Result<Vec<u64>, String> {
    let query = search.query_string();
    let found = walk(|cursor| {
        let cursor = cursor.map_or(String::new(), |cursor| format!("&cursor={cursor}"));
        let answer = fixture.search(&format!("{query}&limit=50{cursor}"));
        let body = answer.json();
        match answer.status {
            200 => Ok(page_of(&body["data"], "items")),
            _ => Err(first_code(&body["errors"])),
        }
    });
    let counted = fixture.search(&format!("{query}&countOnly=true")).json();
    let count = found.as_ref().ok().map(|ids| json!(ids.len()));
    assert_eq!(counted["data"]["count"], json!(count), "{query}");
    found
}

/// The arguments of a search. A raw query string has those that it decodes to.
fn arguments(search: &Search) -> Map<String, Value> {
    let argument = |name: &str, value: Value| Map::from_iter([(name.to_owned(), value)]);
    match search.parameter {
        "?" => {
            let filter = Filter::from_query_string(search.value).expect("a valid query string");
            let decoded = filter.to_string();
            let pairs = form_urlencoded::parse(decoded.as_bytes());
            pairs
                .map(|(name, value)| (name.into_owned(), json!(value)))
                .collect()
        }
        "companies" => argument("companies", json!([search.value])),
        parameter => argument(parameter, json!(search.value)),
    }
}

fn as_a_call(fixture: &Fixture, search: &Search) -> Result<Vec<u64>, String> {
    let mut arguments = arguments(search);
    walk(|cursor| {
        arguments.insert("cursor".to_owned(), json!(cursor));
        let result = fixture.call("search", Value::Object(arguments.clone()));
        if result["isError"] == true {
            return Err(first_code(&result["structuredContent"]["error"]["errors"]));
        }
        Ok(page_of(&content(&result), "signals"))
    })
}

#[test]
fn each_search_of_the_tables_finds_what_it_should() {
    for table in [Table::of_titles(), Table::of_names()] {
        let fixture = fixture(table.index(IndexBuilder::in_memory()));
        table.check(|search| over_http(&fixture, search));
        table.check(|search| as_a_call(&fixture, search));
    }
}
