//! The command line: every command run as a user would, with what it prints and how it exits.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use signaldex::{Query, sample};
use tempfile::TempDir;

use crate::ended::{printed, refused, run, text};

pub(crate) fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(arguments)).expect("the program prints JSON")
}

/// A generated corpus and the index that was built of it.
struct Built {
    folder: TempDir,
}

impl Built {
    fn new(signals: u64) -> Built {
        let built = Built {
            folder: TempDir::new().expect("a temporary directory"),
        };
        let signals = signals.to_string();
        printed(&[
            "generate",
            "--signals",
            &signals,
            "--seed",
            "3",
            "--out",
            &built.path("corpus"),
        ]);
        built
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn build(&self, companies: &str, signals: &str, more: &[&str]) -> Output {
        let (companies, signals, out) =
            (self.path(companies), self.path(signals), self.path("index"));
        let mut arguments = vec![
            "build",
            "--companies",
            &companies,
            "--signals",
            &signals,
            "--out",
            &out,
        ];
        arguments.extend(more);
        run(&arguments)
    }

    fn index(self) -> (Built, String) {
        let output = self.build("corpus/companies.jsonl", "corpus/signals.jsonl", &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let index = self.path("index");
        (self, index)
    }

    fn append(&self, name: &str, lines: &str) {
        let path = self.path(name);
        let mut file = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("a writable file");
        file.write_all(lines.as_bytes()).expect("a writable file");
    }
}

#[test]
fn the_sample_answers_every_command() {
    let found = json(&[
        "search",
        "@sample",
        r#"q="series a"&country=Germany&limit=3"#,
    ]);
    let items = found["data"]["items"].as_array().expect("items");
    assert_eq!(items.len(), 3);
    assert!(found["data"]["nextCursor"].is_string());
    let id = items[0]["id"].as_str().expect("ids are strings");
    let slug = items[0]["companySlug"].as_str().expect("a slug");

    let detail = json(&["signal", "@sample", id]);
    assert_eq!(detail["data"]["title"], items[0]["title"]);
    assert_eq!(detail["data"]["company"]["country"], "Germany");
    let company = json(&["company", "@sample", slug]);
    assert_eq!(company["data"]["slug"], slug);
    assert!(company["data"]["signalCount"].as_u64() > Some(0));

    let count = json(&["search", "@sample", "countOnly=true"]);
    assert_eq!(
        count["data"],
        serde_json::json!({"items": [], "nextCursor": null, "count": 2000})
    );
    let options = json(&["options", "@sample", "country=Germany"]);
    assert!(
        options["data"]["countries"]
            .as_array()
            .expect("countries")
            .len()
            > 5
    );
    let table = printed(&["search", "@sample", "q=robotics", "--table"]);
    assert!(table.contains("of") && table.contains("company"), "{table}");
    let plan = printed(&["explain", "@sample", r#"q="series a"&country=Germany"#]);
    assert!(
        plan.contains("with a posting: title has \"series a\""),
        "{plan}"
    );
    assert_eq!(json(&["stats", "@sample"])["signals"], 2000);
}

#[test]
fn words_are_searched_for_and_signs_stand_for_themselves() {
    let count = |terms: &[&str]| {
        let arguments = [&["search", "@sample"], terms, &["countOnly=true"]].concat();
        json(&arguments)["data"]["count"].as_u64().expect("a count")
    };
    assert_eq!(
        count(&["robotics", "-webinar"]),
        count(&["q=robotics -webinar"])
    );
    assert!(count(&["robotics", "-webinar"]) < count(&["robotics"]));
    assert_eq!(count(&["AT&T"]), count(&["q=AT%26T"]));
    assert_eq!(count(&["C++"]), count(&["q=C%2B%2B"]));
    assert_eq!(count(&["q=C++"]), count(&["q=C%2B%2B"]));
    assert_ne!(count(&["q=C++"]), count(&["q=C"]));
    assert_eq!(
        count(&["series", "country=Germany"]),
        count(&["q=series&country=Germany"])
    );
    refused(2, &["search", "@sample", "robotics", "--tabel"]);
}

#[test]
fn each_format_shows_the_same_signals() {
    let query = ["search", "@sample", "q=robotics", "limit=5", "--format"];
    let shown = |format: &str| printed(&[&query[..], &[format]].concat());
    let ids: Vec<String> = shown("ids").lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), 5);
    let lines = shown("ndjson");
    let rows = shown("csv");
    let table = shown("table");
    let page: Value = serde_json::from_str(&shown("json")).expect("JSON");
    for (index, id) in ids.iter().enumerate() {
        let line: Value =
            serde_json::from_str(lines.lines().nth(index).expect("a line")).expect("JSON");
        assert_eq!(
            (&line["id"], &line),
            (&Value::from(id.as_str()), &page["data"]["items"][index])
        );
        assert!(rows.contains(&format!("\r\n{id},")) && table.contains(id.as_str()));
    }
    let next = table.lines().last().expect("the next page");
    let next = next
        .strip_prefix("next page: signaldex ")
        .expect("a command");
    let program = env!("CARGO_BIN_EXE_signaldex");
    let output = Command::new("sh")
        .args(["-c", &format!("{program} {next}")])
        .output();
    let second = text(&output.expect("a shell").stdout);
    assert!(
        second.lines().count() > 3 && !second.contains(ids[0].as_str()),
        "{second}"
    );
}

#[test]
fn an_export_has_every_match_once_and_can_be_continued() {
    let all = printed(&["export", "@sample"]);
    assert_eq!(all.lines().count(), 2000);
    let ids: Vec<String> = all
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].to_string())
        .collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 2000);
    let last = ids[999].trim_matches('"');
    let rest = printed(&["export", "@sample", "--after", last]);
    let expected: String = all.split_inclusive('\n').skip(1000).collect();
    assert!(rest == expected, "an export continues after its last line");
    let some = printed(&[
        "export",
        "@sample",
        "robotics",
        "--format",
        "csv",
        "--max-items",
        "3",
    ]);
    assert_eq!(some.matches("\r\n").count(), 4);
}

#[cfg(feature = "serve")]
#[test]
fn completions_and_manual_pages_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            printed(&["completions", shell]).contains("as-of"),
            "{shell}"
        );
    }
    assert!(printed(&["man"]).contains("signaldex"));
    assert!(printed(&["man", "search"]).contains("robotics"));
}

#[cfg(feature = "serve")]
#[test]
fn keys_and_usage_have_tables() {
    let folder = TempDir::new().expect("a temporary directory");
    let state = folder.path().join("state.db").display().to_string();
    printed(&["keys", "create", "--state", &state, "--name", "shop"]);
    let keys = printed(&["keys", "list", "--state", &state, "--table"]);
    assert!(
        keys.starts_with("id ") && keys.contains("  shop  "),
        "{keys}"
    );
    let id = keys
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().next());
    let id = id.expect("an id");
    let edit = ["keys", "edit", "--state", &state, id];
    let edited = json(
        &[
            &edit[..],
            &["--quota-signals", "5", "--expires", "2030-01-01"],
        ]
        .concat(),
    );
    assert_eq!(
        (&edited["quotaSignals"], &edited["name"], &edited["rate"]),
        (&5.into(), &"shop".into(), &50.into())
    );
    assert_eq!(edited["expiresAt"], "2030-01-01T00:00:00Z");
    let edited = json(
        &[
            &edit[..],
            &["--quota-signals", "none", "--expires", "never"],
        ]
        .concat(),
    );
    assert!(edited["quotaSignals"].is_null() && edited["expiresAt"].is_null());
    let rotated = json(&["keys", "rotate", "--state", &state, id]);
    assert!(
        rotated["key"]
            .as_str()
            .is_some_and(|key| key.starts_with("sdx_"))
    );
    printed(&["keys", "revoke", "--state", &state, id]);
    for command in ["edit", "rotate"] {
        let message = refused(1, &["keys", command, "--state", &state, id]);
        assert!(message.contains("or it is revoked"), "{message}");
    }
    let usage = printed(&["usage", "--state", &state, "--table"]);
    assert!(usage.starts_with("month  keyId  name  signals"), "{usage}");
}

#[test]
fn explain_names_companies_and_values_that_no_signal_has() {
    let plan = printed(&[
        "explain",
        "@sample",
        "categories=Funding,foundng&companies=emberly,nobody&country=Germny",
    ]);
    let lines = |start: &str| -> Vec<&str> {
        let lines = plan.lines();
        lines.filter_map(|line| line.strip_prefix(start)).collect()
    };
    assert_eq!(
        lines("hint     "),
        [
            "no signal has companies \"nobody\"",
            "no signal has categories \"foundng\"; did you mean funding?",
            "no signal has country \"germny\"; did you mean Germany?",
        ],
        "{plan}"
    );
    let named = lines("company  ");
    assert!(named[0].starts_with("\"emberly\" is "), "{plan}");
    assert_eq!(named[1], "\"nobody\" is no company");
}

/// Query strings of the sample corpus whose hints are the same everywhere.
const HINTED: &str = include_str!("../../../../data/searches/hinted.tsv");

#[test]
fn notes_are_the_hints_of_the_library() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let lines = HINTED.lines().filter(|line| !line.starts_with('#'));
    let queries = lines.filter_map(|line| line.split('\t').next());
    let queries = queries.chain(["q=%22zebra+series+c+%22"]);
    for (number, text) in queries.enumerate() {
        let query = Query::from_query_string(text).expect("a valid query");
        let count = snapshot
            .count(query.filter(), sample::AS_OF)
            .expect("a whole index");
        let notes = |arguments: &[&str]| -> Vec<String> {
            let output = run(&[arguments, &[text]].concat());
            assert!(output.status.success(), "{text}");
            let lines = String::from_utf8_lossy(&output.stderr).into_owned();
            let notes = lines.lines().filter_map(|line| line.strip_prefix("note: "));
            notes.map(str::to_owned).collect()
        };
        let expected = snapshot.hints(&query, count == 0).expect("a whole index");
        assert_eq!(notes(&["search", "@sample"]), expected, "{text}");
        // A process is started for each; the other commands take a third of the searches each.
        match number % 3 {
            0 => assert_eq!(
                notes(&["search", "@sample", "countOnly=true"]),
                expected,
                "{text}"
            ),
            1 => assert_eq!(notes(&["export", "@sample"]), expected, "{text}"),
            _ => {
                let all = snapshot.hints(&query, true).expect("a whole index");
                assert_eq!(notes(&["changes", "@sample"]), all, "{text}");
            }
        }
    }
}

#[test]
fn today_is_what_as_of_says() {
    let count = |day: &str| {
        json(&["search", "@sample", "days=7&countOnly=true", "--as-of", day])["data"]["count"]
            .clone()
    };
    assert_eq!(count("2030-01-01"), 0);
    assert_ne!(count("2026-06-30"), 0);
    refused(2, &["search", "@sample", "days=7", "--as-of", "yesterday"]);
}

#[test]
fn a_generated_corpus_is_built_and_searched() {
    let (built, index) = Built::new(500).index();
    let stats = json(&["stats", &index]);
    assert_eq!(
        (&stats["signals"], &stats["companies"]),
        (&500.into(), &25.into())
    );
    assert_eq!(
        json(&["search", &index, "limit=50"])["data"]["items"]
            .as_array()
            .map(Vec::len),
        Some(50)
    );
    printed(&["verify", &index]);
    let again = built.build("corpus/companies.jsonl", "corpus/signals.jsonl", &[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("there is an index here already"));
}

#[test]
fn generating_is_deterministic() {
    let (one, other) = (Built::new(50), Built::new(50));
    for name in ["corpus/companies.jsonl", "corpus/signals.jsonl"] {
        let read = |built: &Built| fs::read(built.path(name)).expect("a readable file");
        assert_eq!(read(&one), read(&other));
    }
    for signals in ["0", "100000001"] {
        assert!(
            refused(
                1,
                &["generate", "--signals", signals, "--out", &one.path("x")]
            )
            .contains("100000000")
        );
    }
}

#[test]
fn rejected_records_name_file_line_field_and_reason() {
    let built = Built::new(20);
    built.append(
        "corpus/signals.jsonl",
        "{\"id\":0,\"slug\":\"a\",\"title\":\"b\",\"companySlug\":\"c\"}\n",
    );
    built.append(
        "corpus/signals.jsonl",
        "{\"id\":9,\"slug\":\"a\",\"title\":\"b\",\"companySlug\":\"nobody\"}\nnot json\n",
    );
    let stopped = built.build("corpus/companies.jsonl", "corpus/signals.jsonl", &[]);
    let message = text(&stopped.stderr);
    assert_eq!(stopped.status.code(), Some(1));
    assert!(message.contains("signals.jsonl:21: id: "), "{message}");

    let report = built.path("rejected.txt");
    let skipped = built.build(
        "corpus/companies.jsonl",
        "corpus/signals.jsonl",
        &["--skip-invalid", "--report", &report],
    );
    let message = text(&skipped.stderr);
    assert!(
        skipped.status.success() && message.contains("20 signals (0 replaced), 3 rejected"),
        "{message}"
    );
    let report = fs::read_to_string(report).expect("the report was written");
    let lines: Vec<&str> = report.lines().collect();
    // The first of the records has two faults.
    let expected = [
        ("signals.jsonl:21: id: ", "0"),
        ("signals.jsonl:21: companySlug: ", "\"c\""),
        ("signals.jsonl:22: companySlug: ", "\"nobody\""),
        ("signals.jsonl:23: ", "malformed JSON"),
    ];
    assert_eq!(lines.len(), expected.len(), "{report}");
    for (line, (place, value)) in lines.iter().zip(expected) {
        assert!(line.contains(place) && line.contains(value), "{report}");
    }
}

#[test]
fn a_later_line_replaces_an_earlier_one_and_is_counted() {
    let built = Built::new(20);
    for name in ["corpus/companies.jsonl", "corpus/signals.jsonl"] {
        let lines = fs::read_to_string(built.path(name)).expect("a readable file");
        let first = lines
            .lines()
            .next()
            .expect("a line")
            .replace("\"title\":\"", "\"title\":\"Zweimal ");
        built.append(name, &format!("{first}\n"));
    }
    let output = built.build("corpus/companies.jsonl", "corpus/signals.jsonl", &[]);
    let message = text(&output.stderr);
    assert!(
        message.contains("2 companies (1 replaced) and 21 signals (1 replaced)"),
        "{message}"
    );
    let index = built.path("index");
    assert_eq!(
        json(&["search", &index, "q=zweimal"])["data"]["items"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    printed(&["verify", &index]);
}

#[test]
fn standard_input_is_a_file() {
    let built = Built::new(30);
    let signals = fs::read(built.path("corpus/signals.jsonl")).expect("a readable file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args([
            "build",
            "--signals",
            "-",
            "--companies",
            &built.path("corpus/companies.jsonl"),
        ])
        .args(["--out", &built.path("index")])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(&signals)
        .expect("the program reads on");
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(json(&["stats", &built.path("index")])["signals"], 30);
}

#[test]
fn updates_are_seen_and_compacted() {
    let (built, index) = Built::new(200).index();
    let first = json(&["search", &index, "limit=2"]);
    let ids: Vec<&str> = first["data"]["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["id"].as_str().expect("an id"))
        .collect();
    let slug = first["data"]["items"][0]["companySlug"]
        .as_str()
        .expect("a slug");
    built.append("delete.txt", &format!("{}\n", ids[1]));
    built.append(
        "companies.jsonl",
        "{\"slug\":\"new\",\"name\":\"Newcomer Ltd\",\"country\":\"Iceland\"}\n",
    );
    built.append(
        "signals.jsonl",
        &format!("{{\"id\":\"{}\",\"slug\":\"s\",\"title\":\"Umgeschrieben\",\"companySlug\":\"new\"}}\n", ids[0]),
    );
    printed(&[
        "update",
        &index,
        "--companies",
        &built.path("companies.jsonl"),
        "--signals",
        &built.path("signals.jsonl"),
        "--delete-signals",
        &built.path("delete.txt"),
    ]);
    let check = || {
        assert_eq!(json(&["stats", &index])["signals"], 199);
        let found = json(&["search", &index, "q=umgeschrieben&country=iceland"]);
        assert_eq!(found["data"]["items"][0]["companyName"], "Newcomer Ltd");
        refused(1, &["signal", &index, ids[1]]);
        printed(&["verify", &index]);
    };
    check();
    assert_eq!(
        json(&["stats", &index])["segments"],
        2,
        "what is small is left to the next commit"
    );
    printed(&["compact", &index]);
    assert_eq!(json(&["stats", &index])["segments"], 1);
    assert_eq!(json(&["stats", &index])["deletedRows"], 0);
    check();
    built.append("gone.txt", slug);
    let message = refused(
        1,
        &[
            "update",
            &index,
            "--delete-companies",
            &built.path("gone.txt"),
        ],
    );
    assert!(
        message.contains("gone.txt:1: ") && message.contains("signals"),
        "{message}"
    );
    printed(&[
        "update",
        &index,
        "--delete-companies",
        &built.path("gone.txt"),
        "--with-signals",
    ]);
    refused(1, &["company", &index, slug]);
    printed(&["verify", &index]);
}

#[test]
fn what_cannot_be_answered_exits_with_1_and_wrong_usage_with_2() {
    let nowhere = Path::new("nowhere")
        .join("at")
        .join("all")
        .display()
        .to_string();
    assert!(refused(1, &["search", &nowhere, "q=a"]).contains("there is no index here"));
    assert!(
        refused(1, &["search", "@sample", "contry=x"]).contains("\"contry\" is not a parameter")
    );
    assert!(
        refused(1, &["options", "@sample", "limit=1"]).contains("\"limit\" is not a parameter")
    );
    assert!(refused(1, &["signal", "@sample", "1"]).contains("there is no signal 1"));
    assert!(refused(1, &["company", "@sample", "nobody"]).contains("there is no company"));
    assert!(refused(1, &["signal", "@sample", "x"]).contains("\"x\" is not a signal's id"));
    refused(1, &["search", "@sample", "limit=x"]);
    assert!(
        refused(2, &["generate", "--signals", "1e9", "--out", "x"])
            .contains("--signals <N>: \"1e9\" is given; a whole number in digits is needed")
    );
    refused(2, &["serach"]);
    refused(2, &["build", "--out", "x"]);
}
