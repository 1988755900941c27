//! `signaldex aggregate` in each format, and how it is explained.

use crate::command::json;
use crate::ended::{printed, refused};

#[test]
fn each_format_has_the_same_figures() {
    let query = "categories=funding&by=month&measures=sum&fundingCurrency=USD&limit=2";
    let answer = json(&["aggregate", "@sample", query]);
    let groups = answer["data"]["groups"].as_array().expect("groups");
    let lines = printed(&["aggregate", "@sample", query, "--format", "ndjson"]);
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a group"))
        .collect();
    assert_eq!(&lines, groups);
    assert_eq!(answer["data"]["truncated"], true);
    let csv = printed(&["aggregate", "@sample", query, "--format", "csv"]);
    let mut rows = csv.split("\r\n");
    assert_eq!(rows.next(), Some("month,count,currency,amounts,sum"));
    let (first, amounts) = (&groups[0], &groups[0]["amounts"][0]);
    let month = first["key"]["month"].as_str().expect("a month");
    let (count, of) = (&first["count"], &amounts["count"]);
    let start = format!("{month},{count},USD,{of},");
    assert!(
        rows.next().is_some_and(|row| row.starts_with(&start)),
        "{csv}"
    );
    let table = printed(&["aggregate", "@sample", query, "--table"]);
    let total = &answer["data"]["totals"]["groups"];
    assert!(table.contains(&format!("2 of {total} groups")), "{table}");
}

#[test]
fn without_a_grouping_there_are_totals() {
    let answer = json(&["aggregate", "@sample", "robotics", "measures=companies"]);
    let totals = &answer["data"]["totals"];
    assert_eq!(
        (&totals["groups"], &totals["count"]),
        (&0.into(), &33.into())
    );
    let csv = printed(&[
        "aggregate",
        "@sample",
        "robotics",
        "measures=companies",
        "--format",
        "csv",
    ]);
    assert_eq!(
        csv,
        format!("count,companies\r\n33,{}\r\n", totals["companies"])
    );
    let line = printed(&["aggregate", "@sample", "robotics", "--format", "ndjson"]);
    assert_eq!(line, "{\"groups\":0,\"count\":33}\n");
}

#[test]
fn companies_have_slug_and_name() {
    let csv = printed(&[
        "aggregate",
        "@sample",
        "by=company&limit=1&order=key",
        "--format",
        "csv",
    ]);
    assert!(
        csv.starts_with("company.slug,company.name,count\r\n"),
        "{csv}"
    );
}

#[test]
fn a_fault_names_what_is_allowed() {
    let message = refused(1, &["aggregate", "@sample", "by=month,year"]);
    assert!(
        message.contains("by has two units of time, month and year"),
        "{message}"
    );
}

#[test]
fn explain_tells_the_strategy() {
    let stored = printed(&["explain", "@sample", "by=month", "--aggregates"]);
    assert!(
        stored.contains("stored counts, less deleted rows"),
        "{stored}"
    );
    let executed = printed(&[
        "explain",
        "@sample",
        "q=robotics&by=month,countries",
        "--aggregates",
    ]);
    assert!(
        executed.contains("by the codes of two columns"),
        "{executed}"
    );
    assert!(executed.contains("matches   33 counted in"), "{executed}");
    assert!(executed.contains("title has \"robotics\""), "{executed}");
}
