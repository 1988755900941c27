//! What a command writes is never a file that it reads, nor one that is there and that nobody named to be replaced.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::ended::{printed, refused};

const COMPANIES: &str = "slug,name\nacme,Acme\n";
const SIGNALS: &str = "id,slug,title,companySlug\n1,acme-hires,Acme hires,acme\n";

/// A folder with tables, a list of deletions and an index.
struct Tables(TempDir);

impl Tables {
    fn new() -> Tables {
        let tables = Tables(TempDir::new().expect("a temporary directory"));
        for (name, text) in [
            ("c.csv", COMPANIES),
            ("s.csv", SIGNALS),
            ("gone.txt", "1\n"),
            ("names.txt", "headline=title\n"),
        ] {
            fs::write(tables.path(name), text).expect("a writable directory");
        }
        printed(&tables.words(&[
            "build",
            "--out",
            "/index",
            "--companies",
            "/c.csv",
            "--signals",
            "/s.csv",
        ]));
        tables
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Words of a command, in which a slash stands for the folder.
    fn words(&self, words: &[&str]) -> Vec<String> {
        let word = |word: &&str| match word.split_once('/') {
            Some((before, name)) => format!("{before}{}", self.path(name)),
            None => (*word).to_owned(),
        };
        words.iter().map(word).collect()
    }

    fn refuses(&self, words: &[&str]) -> String {
        let words = self.words(words);
        let message = refused(1, &words);
        for (name, text) in [
            ("c.csv", COMPANIES),
            ("s.csv", SIGNALS),
            ("gone.txt", "1\n"),
        ] {
            let kept = fs::read_to_string(self.path(name)).expect("a file");
            assert_eq!(kept, text, "{words:?}");
        }
        message
    }
}

#[test]
fn a_summary_or_report_is_not_written_over_what_is_read() {
    let tables = Tables::new();
    let build = [
        "build",
        "--out",
        "/new",
        "--companies",
        "/c.csv",
        "--signals",
        "/s.csv",
    ];
    let check = [
        "build",
        "--check",
        "--companies",
        "/c.csv",
        "--signals",
        "/s.csv",
    ];
    let update = ["update", "/index", "--signals", "/s.csv"];
    let delete = ["update", "/index", "--delete-signals", "/gone.txt"];
    let cases: [(&[&str], &[&str]); 7] = [
        (&build, &["--summary", "/s.csv"]),
        (&build, &["--summary", "/index/../s.csv"]),
        (&build, &["--skip-invalid", "--report", "/c.csv"]),
        (
            &build,
            &["--map", "signals:@/names.txt", "--summary", "/names.txt"],
        ),
        (&check, &["--summary", "/c.csv"]),
        (&update, &["--skip-invalid", "--report", "/s.csv"]),
        (&delete, &["--summary", "/gone.txt"]),
    ];
    for (command, more) in cases {
        let words = [command, more].concat();
        let message = tables.refuses(&words);
        assert!(
            message.contains("this file is read; name another"),
            "{words:?}: {message}"
        );
        assert!(
            !fs::exists(tables.path("new")).expect("a folder"),
            "{words:?}"
        );
    }
    let both = [
        &build[..],
        &["--skip-invalid", "--report", "/r", "--summary", "/r"],
    ]
    .concat();
    assert!(tables.refuses(&both).contains("need a file each"));
    // An earlier summary is replaced.
    fs::write(tables.path("summary.json"), "earlier").expect("a writable directory");
    printed(&tables.words(&[&check[..], &["--summary", "/summary.json"]].concat()));
    let summary = fs::read_to_string(tables.path("summary.json")).expect("a file");
    assert!(summary.starts_with('{'), "{summary}");
}

#[test]
fn an_export_is_a_new_file() {
    let tables = Tables::new();
    let before = fs::read(tables.path("index/manifest")).expect("a manifest");
    let message = tables.refuses(&["export", "/index", "--out", "/index/manifest"]);
    assert!(
        message.contains("exists and is not replaced: remove it, or choose another --out"),
        "{message}"
    );
    assert_eq!(
        fs::read(tables.path("index/manifest")).expect("a manifest"),
        before
    );
    printed(&tables.words(&["export", "/index", "--out", "/all.ndjson"]));
    let all = fs::read_to_string(tables.path("all.ndjson")).expect("an export");
    assert!(all.contains("Acme hires"), "{all}");
    let names = fs::read_dir(tables.0.path()).expect("a folder");
    let is_unfinished = |name: &str| name.contains("unfinished");
    let mut names = names.map(|entry| entry.expect("an entry").file_name());
    assert!(!names.any(|name| is_unfinished(&name.to_string_lossy())));
}

#[test]
fn a_generated_corpus_replaces_no_file() {
    let tables = Tables::new();
    let own = tables.path("signals.jsonl");
    fs::write(&own, "my own").expect("a writable directory");
    let message = tables.refuses(&["generate", "--signals", "10", "--out", "/"]);
    assert!(
        message.contains("signals.jsonl exists and is not replaced"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&own).expect("a file"), "my own");
    assert!(!fs::exists(tables.path("companies.jsonl")).expect("a folder"));
}

#[test]
fn standard_input_holds_one_file() {
    let tables = Tables::new();
    let mut build = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    build.args(tables.words(&[
        "build",
        "--out",
        "/new",
        "--companies",
        "-",
        "--signals",
        "-",
    ]));
    let output = build
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("--companies and --signals are both -"),
        "{message}"
    );
}
