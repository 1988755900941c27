//! Typical mistakes on the command line, each with its message: what is wrong, what is allowed, and
//! the next step.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::golden_file::compare_with_golden;

/// Files that the mistakes are made with.
const FILES: [(&str, &str); 7] = [
    (
        "c.jsonl",
        "{\"slug\":\"acme\",\"name\":\"Acme\",\"country\":\"Germany\"}\n",
    ),
    (
        "s.jsonl",
        "{\"id\":1,\"slug\":\"s\",\"title\":\"Acme hires\",\"companySlug\":\"acme\"}\n",
    ),
    ("array.json", "[{\"slug\":\"acme\",\"name\":\"Acme\"}]\n"),
    (
        "indented.json",
        "{\n  \"slug\": \"acme\",\n  \"name\": \"Acme\"\n}\n",
    ),
    (
        "misspelt.csv",
        "\u{feff}slug,name,contry\nacme,Acme,Germany\n",
    ),
    (
        "negative.jsonl",
        "{\"slug\":\"acme\",\"name\":\"Acme\",\"employees\":-1}\n",
    ),
    ("notes.txt", "These are notes.\n"),
];

const MISTAKES: [&[&str]; 30] = [
    &["serach", "@sample", "q=a"],
    &["search", "@sample", "contry=Germany"],
    &["search", "@sample", "company_slug=acme"],
    &["search", "@sample", "size=1-50"],
    &["search", "@sample", "days=31"],
    &["search", "@sample", "fundingCurrency=USDD"],
    &["search", "@sample", "dateRanges=7,oldr"],
    &["search", "@sample", "country=Germny", "--format", "ids"],
    &[
        "search",
        "@sample",
        "categories=funding, fundng",
        "--format",
        "ids",
    ],
    &["search", "@sample", "q=C+", "limit=1", "--format", "ids"],
    &["search", "@sample", "q=AT&T"],
    &["search", "@sample", "limit=1000"],
    &["search", "@sample", "q=robotics", "robotics"],
    &["search", "@sample", "q=!!!"],
    &["search", "@sample", "dateFrom=30.06.2026"],
    &["search", "@sample", "cursor=abc"],
    &["search", "@sampel", "q=a"],
    &["search", "robotics"],
    &["options", "@sample", "limit=1"],
    &["export", "@sample", "page=2"],
    &["signal", "@sample", "7"],
    &[
        "build",
        "--companies",
        "array.json",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
    ],
    &[
        "build",
        "--companies",
        "indented.json",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
    ],
    &[
        "build",
        "--companies",
        "misspelt.csv",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
        "--strict",
    ],
    &[
        "build",
        "--companies",
        "negative.jsonl",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
    ],
    &[
        "build",
        "--companies",
        "notes.txt",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
    ],
    &[
        "build",
        "--companies",
        "missing.csv",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
    ],
    &[
        "build",
        "--companies",
        "c.jsonl",
        "--signals",
        "s.jsonl",
        "--out",
        "index",
    ],
    &[
        "build",
        "--companies",
        "c.jsonl",
        "--signals",
        "s.jsonl",
        "--out",
        "new",
        "--map",
        "a=titel",
    ],
    &["update", "index"],
];

#[test]
fn typical_mistakes_get_the_messages_on_record() {
    let folder = TempDir::new().expect("a temporary directory");
    for (name, content) in FILES {
        fs::write(folder.path().join(name), content).expect("a writable file");
    }
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(arguments)
            .current_dir(folder.path())
            .output()
            .expect("the program can be started");
        let message = String::from_utf8(output.stderr).expect("text");
        (output.status.code().expect("an exit"), message)
    };
    let built = run(&[
        "build",
        "--companies",
        "c.jsonl",
        "--signals",
        "s.jsonl",
        "--out",
        "index",
    ]);
    assert_eq!(built.0, 0, "{}", built.1);
    let mut text = String::new();
    for mistake in MISTAKES {
        let (status, message) = run(mistake);
        writeln!(
            text,
            "$ signaldex {}\n[{status}] {message}",
            mistake.join(" ")
        )
        .expect("memory");
        assert!(!message.is_empty(), "{mistake:?}");
    }
    compare_with_golden("mistakes.txt", &text);
}
