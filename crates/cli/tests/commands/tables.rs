//! Every run of `tests/tables/expected.json`: tables as people have them, with what each has to give.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use signaldex::json::{RecordKind, field_words, write_company, write_signal};
use signaldex::{Index, SignalId};
use tempfile::TempDir;

/// A record by the dotted names of its fields, without nulls.
type Flat = BTreeMap<String, Value>;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tables")
}

/// What a run said, and the summary and the index that it left.
struct Outcome {
    status: i32,
    stderr: String,
    folder: TempDir,
}

impl Outcome {
    fn of(case: &str, args: &[String]) -> Outcome {
        let folder = TempDir::new().expect("a temporary directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
        command
            .arg("build")
            .args(args)
            .current_dir(corpus().join(case));
        command.arg("--summary").arg(folder.path().join("summary"));
        if !args.iter().any(|arg| arg == "--check") {
            command.arg("--out").arg(folder.path().join("index"));
        }
        let output = command.output().expect("the program can be started");
        let stderr = String::from_utf8(output.stderr).expect("text");
        Outcome {
            status: output.status.code().expect("an exit"),
            stderr,
            folder,
        }
    }

    fn index(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    fn summary(&self) -> Value {
        let text = fs::read(self.folder.path().join("summary")).expect("a summary");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Each `--map` of the message, with its value as a shell reads it.
    fn printed_maps(&self) -> Vec<String> {
        let parts = self.stderr.split("--map ").skip(1);
        let values = parts.map(|rest| match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next().unwrap_or_default(),
            None => rest.split_whitespace().next().unwrap_or_default(),
        });
        let values: BTreeSet<&str> = values.collect();
        values
            .into_iter()
            .flat_map(|value| ["--map".to_owned(), value.to_owned()])
            .collect()
    }
}

fn flat(line: &[u8]) -> Flat {
    let value: Value = serde_json::from_slice(line).expect("JSON");
    let mut found = Flat::new();
    for (name, value) in value.as_object().expect("an object") {
        match value {
            Value::Null => {}
            Value::Object(inner) => {
                for (inner_name, value) in inner.iter().filter(|(_, value)| !value.is_null()) {
                    found.insert(format!("{name}.{inner_name}"), comparable(value));
                }
            }
            value => {
                found.insert(name.clone(), comparable(value));
            }
        }
    }
    found
}

/// Numbers as floats: 1500 and 1500.0 are equal.
fn comparable(value: &Value) -> Value {
    value.as_f64().map_or_else(|| value.clone(), Value::from)
}

/// The index holds these records and no others.
fn check_records(name: &str, directory: &Path, set: &Value) {
    let snapshot = Index::open(directory).expect(name).snapshot();
    let records = |kind: &str| set[kind].as_array().expect("records").clone();
    let of = |record: &Value| flat(record.to_string().as_bytes());
    for expected in records("companies") {
        let expected = of(&expected);
        let slug = expected["slug"].as_str().expect("a slug").to_owned();
        let profile = snapshot.company(&slug).expect(name);
        let profile = profile.unwrap_or_else(|| panic!("{name}: no company {slug}"));
        let mut line = Vec::new();
        write_company(&mut line, &profile.company);
        assert_eq!(flat(&line), expected, "{name}");
    }
    for expected in records("signals") {
        let expected = of(&expected);
        let id: SignalId = expected["id"]
            .as_str()
            .expect("an id")
            .parse()
            .expect("an id");
        let found = snapshot
            .signal(id)
            .expect(name)
            .unwrap_or_else(|| panic!("{name}: no signal {id}"));
        let mut line = Vec::new();
        write_signal(&mut line, &found.signal);
        assert_eq!(flat(&line), expected, "{name}");
    }
    let counts = (
        snapshot.company_count().expect(name) as usize,
        snapshot.signal_count() as usize,
    );
    assert_eq!(
        counts,
        (records("companies").len(), records("signals").len()),
        "{name}"
    );
}

/// The feature without which a run cannot be made.
fn missing_feature(args: &[String]) -> Option<&'static str> {
    let has = |ends: &str| args.iter().any(|arg| arg.ends_with(ends));
    if has(".xlsx") && cfg!(not(feature = "xlsx")) {
        Some("xlsx")
    } else if has(".parquet") && cfg!(not(feature = "parquet")) {
        Some("parquet")
    } else if (has("companies.txt") || has("--encoding")) && cfg!(not(feature = "encodings")) {
        Some("encodings")
    } else {
        None
    }
}

fn check_run(case: &str, run: &Value, sets: &Value, more_args: &[String]) {
    let strings = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten();
        texts
            .map(|text| text.as_str().expect("a text").to_owned())
            .collect()
    };
    let args: Vec<String> = strings(&run["args"])
        .into_iter()
        .chain(more_args.iter().cloned())
        .collect();
    let name = format!("{case}: {}", args.join(" "));
    let outcome = Outcome::of(case, &args);
    let stderr = &outcome.stderr;
    if let Some(feature) = missing_feature(&args) {
        assert_eq!(outcome.status, 1, "{name}: {stderr}");
        assert!(
            stderr.contains(&format!("feature `{feature}`")),
            "{name}: {stderr}"
        );
        return;
    }
    assert_eq!(Value::from(outcome.status), run["exit"], "{name}: {stderr}");
    for text in strings(&run["says"]) {
        assert!(
            stderr.to_lowercase().contains(&text.to_lowercase()),
            "{name} does not say {text}: {stderr}"
        );
    }
    if run["builds"] == Value::Bool(false) {
        assert!(
            !outcome.index().exists(),
            "{name} leaves {:?}",
            outcome.index()
        );
    }
    if let Some(set) = run["records"].as_str() {
        check_records(&name, &outcome.index(), &sets[set]);
    }
    if run["summary"].is_object() || run["faults"].is_object() || run["unknown"].is_array() {
        check_summary(&name, run, &outcome.summary());
    }
    if run["printed_maps"].is_object() {
        let maps = outcome.printed_maps();
        assert!(!maps.is_empty(), "{name}: {stderr}");
        check_run(case, &run["printed_maps"], sets, &maps);
    }
}

fn check_summary(name: &str, run: &Value, summary: &Value) {
    for (part, expected) in run["summary"].as_object().into_iter().flatten() {
        match expected {
            Value::Object(numbers) => {
                for (number, expected) in numbers {
                    assert_eq!(
                        &summary[part][number], expected,
                        "{name}: {part} {number} of {summary}"
                    );
                }
            }
            number => assert_eq!(&summary[part], number, "{name}: {part} of {summary}"),
        }
    }
    if let Some(expected) = run["faults"].as_object() {
        let mut found: BTreeMap<(String, String), u64> = BTreeMap::new();
        for fault in summary["faults"].as_array().expect("faults") {
            let text = |member: &str| fault[member].as_str().unwrap_or_default().to_owned();
            *found.entry((text("record"), text("field"))).or_default() +=
                fault["count"].as_u64().expect("a count");
        }
        let expected = expected.iter().flat_map(|(record, fields)| {
            let fields = fields.as_object().expect("fields").iter();
            fields.map(move |(field, count)| {
                (
                    (record.clone(), field.clone()),
                    count.as_u64().expect("a count"),
                )
            })
        });
        let expected: BTreeMap<(String, String), u64> = expected.collect();
        assert_eq!(found, expected, "{name}");
    }
    for header in run["unknown"].as_array().into_iter().flatten() {
        let mut unknown = summary["unknown"].as_array().expect("names").iter();
        assert!(
            unknown.any(|unknown| &unknown["header"] == header),
            "{name}: {header} in {summary}"
        );
    }
}

#[test]
fn every_table_that_people_have_gives_what_it_must() {
    let text = fs::read(corpus().join("expected.json")).expect("the corpus");
    let expected: Value = serde_json::from_slice(&text).expect("JSON");
    let mut runs = 0;
    for case in expected["cases"].as_array().expect("cases") {
        let name = case["name"].as_str().expect("a name");
        for run in case["runs"].as_array().expect("runs") {
            check_run(name, run, &expected["sets"], &[]);
            runs += 1;
        }
    }
    assert_eq!(runs, 46);
}

#[test]
fn tables_without_keys_are_answered_with_the_command_that_makes_them() {
    let files = ["--companies", "companies.csv", "--signals", "signals.csv"];
    let mut args = files.map(str::to_owned).to_vec();
    let refused = Outcome::of("no-keys", &args);
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    let command = refused.stderr.split("Type:\n\n").nth(1).expect("a command");
    assert!(command.trim_end().ends_with("--make-keys"), "{command}");
    args.push("--make-keys".to_owned());
    let outcome = Outcome::of("no-keys", &args);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
}

/// The command that ends a refusal, without the program's name.
fn suggested(stderr: &str) -> Vec<String> {
    let command = stderr.split("Type:\n\n").nth(1).expect("a command");
    words(command.trim()).into_iter().skip(1).collect()
}

#[test]
fn the_command_that_ends_a_refusal_loads_tables_of_a_crm() {
    let folder = TempDir::new().expect("a temporary directory");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect(name);
    write(
        "names.csv",
        "Account;Headcount\n\"21ct, Inc.\";45\nMüller & Söhne GmbH;7\n",
    );
    write("slugs.csv", "Account ID;Account\n21ct;\"21ct, Inc.\"\n");
    let news = "Account,Headline,Round,Amount,Currency\n\"21ct, Inc.\",21ct grows,Series A,5,EUR\n";
    write("news.csv", news);
    write("by_slug.csv", "Account,Headline\n21ct,21ct grows\n");
    let run = |args: &[String]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
        let output = command.current_dir(folder.path()).args(args).output();
        let output = output.expect("a program");
        let stderr = String::from_utf8(output.stderr).expect("text");
        (output.status.code(), stderr)
    };
    let cases = [
        (["names.csv", "news.csv"], false),
        (["names.csv", "news.csv"], true),
        (["slugs.csv", "by_slug.csv"], false),
        (["slugs.csv", "news.csv"], true),
    ];
    for (number, ([companies, signals], makes_keys)) in cases.into_iter().enumerate() {
        let out = number.to_string();
        let mut args = vec![
            "build",
            "--companies",
            companies,
            "--signals",
            signals,
            "--out",
            &out,
        ];
        args.extend(makes_keys.then_some("--make-keys"));
        let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        let (status, refusal) = run(&args);
        assert_eq!(status, Some(1), "{refusal}");
        let (status, stderr) = run(&suggested(&refusal));
        assert_eq!(status, Some(0), "{refusal}{stderr}");
        assert!(
            stderr.contains("1 signal (0 replaced), 0 rejected"),
            "{stderr}"
        );
    }
}

#[test]
fn a_summary_that_cannot_be_written_is_told_by_name_before_anything_is_read() {
    let folder = TempDir::new().expect("a temporary directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    command
        .current_dir(corpus().join("plain"))
        .args(["build", "--companies", "companies.jsonl"]);
    command.args(["--signals", "signals.csv", "--summary", "missing/summary"]);
    let output = command
        .arg("--out")
        .arg(folder.path().join("index"))
        .output();
    let stderr = String::from_utf8(output.expect("a program").stderr).expect("text");
    assert!(stderr.contains("missing/summary: cannot write"), "{stderr}");
    assert!(!stderr.contains("loaded") && !folder.path().join("index").exists());
}

/// A command as a shell splits it, of which only single quotes are needed.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let mut words: Vec<String> = Vec::new();
    for (index, part) in parts {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn the_commands_of_the_guide_load_everything() {
    let guide = include_str!("../../../../docs/records.md");
    let commands = guide
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let commands = commands.filter(|command| command.contains('/'));
    let mut count = 0;
    for command in commands {
        let mut args = words(command.trim());
        assert_eq!(args.drain(..2).collect::<Vec<_>>(), ["signaldex", "build"]);
        let out = args
            .iter()
            .position(|arg| arg == "--out")
            .expect("an index");
        args.drain(out..out + 2);
        let outcome = Outcome::of(".", &args);
        match missing_feature(&args) {
            Some(_) => assert_eq!(outcome.status, 1),
            None => assert_eq!(outcome.status, 0, "{command}: {}", outcome.stderr),
        }
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn the_guide_has_every_word_that_is_suggested() {
    let guide = include_str!("../../../../docs/records.md")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let (companies, signals) = guide
        .split_once("of companies: `")
        .and_then(|(_, rest)| rest.split_once("of signals: `"))
        .expect("the words");
    for (kind, words) in [
        (RecordKind::Company, companies),
        (RecordKind::Signal, signals),
    ] {
        let fold = |text: &str| text.to_lowercase().replace(' ', "");
        for field in kind.fields() {
            let group = words
                .split(&format!("({field})"))
                .next()
                .unwrap_or_default();
            let group = group.rsplit(')').next().unwrap_or_default();
            for word in field_words(kind, field) {
                assert!(
                    fold(group).contains(&format!("{word}`")),
                    "{word} for {field}"
                );
            }
        }
    }
}

#[test]
fn the_templates_of_the_program_load() {
    let folder = TempDir::new().expect("a temporary directory");
    for file in ["companies", "signals"] {
        let output = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(["fields", file, "--template"])
            .output();
        fs::write(folder.path().join(file), output.expect("a program").stdout)
            .expect("a writable file");
    }
    let path = |name: &str| folder.path().join(name).display().to_string();
    let args = [
        "--companies".to_owned(),
        path("companies"),
        "--signals".to_owned(),
        path("signals"),
    ];
    let outcome = Outcome::of(".", &args);
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    let fields = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .arg("fields")
        .output()
        .expect("a program");
    let shown = String::from_utf8(fields.stdout).expect("text");
    for kind in [RecordKind::Company, RecordKind::Signal] {
        assert!(kind.fields().all(|field| shown.contains(field)), "{shown}");
    }
}
