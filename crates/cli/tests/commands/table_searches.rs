//! Every search of the tables in `data`, by the program: the valid ones as one file of saved searches, and on the command
//! line raw query strings and what is refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use signaldex::{Filter, IndexBuilder};

use crate::search_tables::{Search, Table};

fn run(arguments: &[&str], index: &Path) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .arg(arguments[0])
        .arg(index)
        .args(&arguments[1..])
        .output();
    program.expect("the program can be started")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the program prints UTF-8")
}

/// What each search finds that is valid, by its query string.
fn matches(table: &Table, index: &Path) -> BTreeMap<String, Vec<u64>> {
    let valid = table.searches.iter().filter(|search| search.found.is_ok());
    let mut found: BTreeMap<String, Vec<u64>> = valid
        .map(|search| (search.query_string(), Vec::new()))
        .collect();
    let lines = found
        .keys()
        .map(|query| json!({"name": query, "query": query}).to_string());
    let file = index.with_extension("searches");
    std::fs::write(&file, lines.collect::<Vec<_>>().join("\n")).expect("a file");
    let file = file.to_str().expect("a path");
    let output = run(&["match", file, "--since", "start"], index);
    assert!(output.status.success(), "{}", text(output.stderr));
    for line in text(output.stdout).lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if let Some(search) = line["search"].as_str() {
            let id = line["signal"]["id"].as_str().and_then(|id| id.parse().ok());
            let ids = found.get_mut(search).expect("a search of the file");
            ids.push(id.expect("an id"));
        }
    }
    found
}

/// What a search finds on the command line, or the code of the error that is printed.
fn printed(search: &Search, index: &Path) -> Result<Vec<u64>, String> {
    let query = search.query_string();
    let output = run(&["search", &query, "limit=50", "--format", "ids"], index);
    if output.status.success() {
        let ids = text(output.stdout);
        let ids = ids.lines().map(|id| id.parse().expect("an id"));
        return Ok(ids.collect());
    }
    let errors = text(output.stderr);
    let invalid = Filter::from_query_string(&query).expect_err("what the program refuses");
    let error = &invalid.errors()[0];
    assert!(errors.contains(&*error.message), "{query}: {errors}");
    assert_eq!(output.status.code(), Some(1), "{query}: {errors}");
    Err(error.code.as_str().to_owned())
}

#[test]
fn each_search_of_the_tables_finds_what_it_should() {
    for table in [Table::of_titles(), Table::of_names()] {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join("index");
        let builder = IndexBuilder::in_directory(&index).expect("an empty directory");
        drop(table.index(builder));
        let found = matches(&table, &index);
        table.check(|search| match &search.found {
            Ok(_) if search.parameter != "?" => Ok(found[&search.query_string()].clone()),
            _ => printed(search, &index),
        });
    }
}
