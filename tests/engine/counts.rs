//! What docs/decisions/workspace.md counts of the packages, recorded for it. Other tests hold the limits.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::house::{root, sources};
use crate::source_code::{PACKAGES, packages};
use crate::{comments, cycles, names};

/// The record that `benches/figures.py` reads.
const RECORD: &str = "benches/results/workspace.json";

/// Attributes of tests.
const TEST_ATTRIBUTES: [&str; 2] = ["#[test]", "#[tokio::test"];

/// Lines that are neither blank nor a test's, of each package and of all.
fn lines() -> BTreeMap<String, usize> {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for file in packages() {
        let (code, comments) = (file.text.code.lines(), file.text.comments.lines());
        let is_blank = |(code, comment): &(&str, &str)| {
            (*code).trim().is_empty() && (*comment).trim().is_empty()
        };
        let count = code.zip(comments).filter(|line| !is_blank(line)).count();
        *lines.entry(file.package.to_owned()).or_default() += count;
    }
    lines.insert("all".to_owned(), lines.values().sum());
    lines
}

/// The tests in all packages, among them those of their folders `tests`.
fn tests() -> usize {
    let folders = ["src", "crates", "tests", "bindings"].map(|folder| root().join(folder));
    let files = folders.iter().flat_map(|folder| sources(folder));
    let files = files.map(|path| fs::read_to_string(path).expect("a readable file"));
    let is_test = |line: &str| {
        TEST_ATTRIBUTES
            .iter()
            .any(|test| line.trim_start().starts_with(test))
    };
    files
        .map(|text| text.lines().filter(|line| is_test(line)).count())
        .sum()
}

/// By name in the record: the counts of today.
fn counts() -> BTreeMap<String, usize> {
    let (engine, comments) = comments::engine_layers()
        .into_iter()
        .fold((0, 0), comments::sum);
    let named = [
        ("names", names::repeated_names()),
        ("circle", cycles::largest_cycle()),
        ("lines-of-a-comment", engine / comments),
        ("examples", comments::library_examples()),
        ("phrases", comments::unclear().len()),
        ("tests", tests()),
    ];
    let named = named.map(|(name, count)| (name.to_owned(), count));
    let lines = lines().into_iter();
    let lines = lines.map(|(package, count)| {
        let package = package
            .trim_start_matches("crates/")
            .trim_end_matches("/src");
        (format!("lines-{}", package.replace('/', "-")), count)
    });
    named.into_iter().chain(lines).collect()
}

/// A number with commas between thousands.
fn shown(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", shown(number / 1000), number % 1000),
    }
}

#[test]
fn the_record_of_the_workspace_has_each_count() {
    let path = root().join(RECORD);
    let text = fs::read_to_string(&path).expect("the record");
    let mut record: Value = serde_json::from_str(&text).expect("JSON");
    let counts = counts();
    assert_eq!(counts.len(), 6 + PACKAGES.len() + 1);
    if std::env::var_os("SIGNALDEX_COUNTS").is_some() {
        for (name, count) in &counts {
            record["values"][name] = json!(shown(*count));
        }
        let text = serde_json::to_string_pretty(&record).expect("JSON");
        fs::write(&path, text + "\n").expect("a writable file");
    }
    for name in counts.keys() {
        assert!(
            record["values"][name].is_string(),
            "{RECORD} has no {name}: SIGNALDEX_COUNTS=1 writes it"
        );
    }
}

#[test]
fn thousands_are_separated() {
    assert_eq!(
        [0, 999, 1_000, 65_370, 1_002_003].map(shown),
        ["0", "999", "1,000", "65,370", "1,002,003"]
    );
}
