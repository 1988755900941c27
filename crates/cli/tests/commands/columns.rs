//! Columns that are chosen, companies, and what CSV gives back when it is loaded.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args(arguments)
        .output()
        .expect("the program can be started");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let status = output.status.code().expect("an exit");
    (status, text(output.stdout), text(output.stderr))
}

fn printed(arguments: &[&str]) -> String {
    let (status, output, message) = run(arguments);
    assert_eq!(status, 0, "{arguments:?}: {message}");
    output
}

fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON on every line")
}

#[test]
fn columns_come_in_the_order_wanted() {
    let columns = "company.country,title,funding.amount,hiring.seniority,id";
    let query = ["@sample", "categories=funding", "country=Germany"];
    let chosen = ["--columns", columns];
    let lines = printed(&[&["export"], &query[..], &chosen].concat());
    let first = lines.lines().next().expect("a line");
    assert!(
        first.starts_with(r#"{"company":{"country":"Germany"},"title":"#),
        "{first}"
    );
    let whole = objects(&printed(&[&["export"], &query[..]].concat()));
    for (line, whole) in objects(&lines).iter().zip(&whole) {
        assert_eq!(
            (&line["id"], &line["title"]),
            (&whole["id"], &whole["title"])
        );
        assert_eq!(line["funding"]["amount"], whole["funding"]["amount"]);
    }
    assert_eq!(lines.lines().count(), whole.len());
    let rows = printed(&[&["export"], &query[..], &chosen, &["--format", "csv"]].concat());
    assert!(
        rows.starts_with(&format!("{columns}\r\nGermany,")),
        "{rows:.80}"
    );
    // A page has the same, and so has a table.
    let page = [&["search"], &query[..], &["limit=3"], &chosen].concat();
    let shown = printed(&[&page[..], &["--format", "ndjson"]].concat());
    assert!(lines.starts_with(&shown) && shown.lines().count() == 3);
    assert_eq!(printed(&page), shown, "columns in a pipe are lines");
    let table = printed(&[&page[..], &["--table"]].concat());
    let header: Vec<&str> = table
        .lines()
        .next()
        .expect("a header")
        .split_whitespace()
        .collect();
    assert_eq!(header.join(","), columns);
}

#[test]
fn an_unknown_column_is_refused_with_the_nearest() {
    for (columns, nearest) in [
        ("country", "company.country"),
        ("titel", "title"),
        ("company.contry", "company.country"),
    ] {
        let (status, _, message) = run(&["export", "@sample", "--columns", columns]);
        assert!(
            status == 1 && message.contains(&format!("did you mean {nearest}?")),
            "{message}"
        );
        let (status, _, message) =
            run(&["search", "@sample", "--format", "csv", "--columns", columns]);
        assert!(
            status == 2 && message.contains(&format!("did you mean {nearest}?")),
            "{message}"
        );
    }
    let (status, _, message) = run(&[
        "export",
        "@sample",
        "--companies",
        "--columns",
        "signalcounts",
    ]);
    assert!(
        status == 1 && message.contains("did you mean signalCount?"),
        "{message}"
    );
    let (status, _, message) = run(&["search", "@sample", "--format", "ids", "--columns", "id"]);
    assert!(
        status == 1 && message.contains("table, csv and ndjson"),
        "{message}"
    );
}

#[test]
fn companies_are_those_of_matches_by_slug_or_all_of_them() {
    let all = objects(&printed(&["export", "@sample", "--companies"]));
    let slugs: Vec<&str> = all
        .iter()
        .map(|company| company["slug"].as_str().expect("a slug"))
        .collect();
    assert!(slugs.is_sorted() && slugs.len() > 50);
    let detail: Value =
        serde_json::from_str(&printed(&["company", "@sample", slugs[7]])).expect("JSON");
    assert_eq!(detail["data"], all[7]);
    let matching = objects(&printed(&[
        "export",
        "@sample",
        "--companies",
        "q=robotics",
    ]));
    let matching: Vec<&str> = matching
        .iter()
        .map(|company| company["slug"].as_str().expect("a slug"))
        .collect();
    let signals = objects(&printed(&["export", "@sample", "q=robotics"]));
    let of_signals: BTreeSet<&str> = signals
        .iter()
        .map(|signal| signal["companySlug"].as_str().expect("a slug"))
        .collect();
    assert!(matching.iter().eq(&of_signals));
    let rows = printed(&[
        "export",
        "@sample",
        "--companies",
        "q=robotics",
        "--format",
        "csv",
        "--columns",
        "slug,signalCount",
    ]);
    assert!(
        rows.starts_with(&format!("slug,signalCount\r\n{},", matching[0])),
        "{rows:.60}"
    );
}

/// Texts that a spreadsheet would run, and those that look like escapes.
#[test]
fn a_csv_of_all_columns_loads_to_equal_records() {
    let folder = TempDir::new().expect("a temporary directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let texts = [
        "=1+1",
        "+49 30",
        "-5 %",
        "@home",
        "'quoted'",
        "''",
        "'=x",
        "plain, \"quoted\"",
        "＝1+1",
        "日本\nzwei Zeilen",
    ];
    let companies: String = (0..texts.len()).map(|number| {
        let company = json!({"slug": format!("c{number}"), "name": texts[number], "about": texts[number],
            "country": texts[number], "employees": number, "foundedYear": -3, "updatedAt": "2026-06-12T08:00:00.25Z"});
        format!("{company}\n")
    }).collect();
    let signals: String = (0..texts.len()).map(|number| {
        let signal = json!({"id": number + 1, "slug": texts[number], "title": texts[number], "companySlug": format!("c{number}"),
            "date": "2026-06-12", "funding": {"stage": texts[number], "amount": 0.1 + number as f64, "currency": "EUR"},
            "hiring": {"seniority": texts[number]}});
        format!("{signal}\n")
    }).collect();
    fs::write(path("companies"), companies).expect("a writable file");
    fs::write(path("signals"), signals).expect("a writable file");
    let build = |companies: &str, signals: &str, out: &str| {
        printed(&[
            "build",
            "--companies",
            &path(companies),
            "--signals",
            &path(signals),
            "--out",
            &path(out),
            "--strict",
        ]);
        printed(&["dump", &path(out), "--out", &path(&format!("{out}-dump"))]);
    };
    build("companies", "signals", "index");
    let help = printed(&["export", "--help"]);
    let columns = help
        .split("Columns of signals:")
        .nth(1)
        .and_then(|rest| rest.split("company.").next());
    let columns: String = columns
        .expect("a list")
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    // The name of a company belongs to its own record.
    let columns = columns.trim_end_matches(',').replace("companyName,", "");
    let csv = ["--format", "csv", "--out"];
    printed(
        &[
            &["export", &path("index"), "--columns", &columns],
            &csv[..],
            &[&path("signals.csv")],
        ]
        .concat(),
    );
    let columns = "slug,name,about,country,employees,foundedYear,updatedAt";
    printed(
        &[
            &[
                "export",
                &path("index"),
                "--companies",
                "--columns",
                columns,
            ],
            &csv[..],
            &[&path("companies.csv")],
        ]
        .concat(),
    );
    build("companies.csv", "signals.csv", "again");
    for name in ["companies.jsonl", "signals.jsonl"] {
        let read = |index: &str| {
            fs::read_to_string(path(&format!("{index}-dump/{name}"))).expect("a dump")
        };
        assert_eq!(read("index"), read("again"));
    }
}
