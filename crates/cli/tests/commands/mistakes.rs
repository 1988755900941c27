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
    &[
        "search",
        "@sample",
        "q=gnuu+C+",
        "limit=1",
        "--format",
        "ids",
    ],
    &["search", "@sample", "q=AT&T"],
    &["search", "@sample", "limit=1000"],
    &["search", "@sample", "q=robotics", "q=drones"],
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

/// Mistakes whose answer is a command to type, and the exit status of each.
const ANSWERED: [(i32, &[&str]); 17] = [
    (2, &["search", "@sample", "robotics", "--limit", "5"]),
    (
        2,
        &["search", "@sample", "--country", "Germany", "--limit=5"],
    ),
    (2, &["search", "@sample", "--company-slug", "cpp-foundry"]),
    (2, &["search", "@sample", "robotics", "--json"]),
    (2, &["export", "@sample", "robotics", "--limit", "3"]),
    (2, &["export", "@sample", "robotics", "--json"]),
    (2, &["options", "@sample", "--facets", "country"]),
    (2, &["stats", "@sample", "--json"]),
    (1, &["export", "@sample", "robotics", "limit=3"]),
    (1, &["search", "@sample", "title=robotics"]),
    (1, &["search", "@sample", "date=2026-06-12"]),
    (1, &["search", "@sample", "funding=Series A"]),
    (1, &["search", "@sample", "funding=true&limit=2"]),
    (1, &["options", "@sample", "facets=country"]),
    (
        1,
        &[
            "search",
            "@sample",
            "contry=Germany",
            "company_slug=cpp-foundry",
        ],
    ),
    (1, &["search", "@sample", "q=AT&T"]),
    (1, &["explain", "@sample", "category=funding"]),
];

/// Runs what a shell makes of a command that was printed.
fn typed(command: &str) -> (i32, String, String) {
    let program = env!("CARGO_BIN_EXE_signaldex");
    let rest = command
        .strip_prefix("signaldex ")
        .expect("a command of the program");
    let output = Command::new("sh")
        .args(["-c", &format!("{program} {rest}")])
        .output();
    let output = output.expect("a shell");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code().expect("an exit"),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The command to type, on a line of its own.
fn command_in(message: &str) -> &str {
    let mut lines = message
        .lines()
        .filter_map(|line| line.strip_prefix("  signaldex "));
    let line = lines
        .next()
        .unwrap_or_else(|| panic!("no command in {message}"));
    &message[line.as_ptr() as usize - message.as_ptr() as usize - "signaldex ".len()..]
        [..line.len() + "signaldex ".len()]
}

#[test]
fn what_is_answered_to_a_mistake_can_be_typed() {
    for (status, mistake) in ANSWERED {
        let output = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(mistake)
            .output();
        let output = output.expect("the program can be started");
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(status), "{mistake:?}: {message}");
        assert!(!message.contains("-- "), "{message}");
        let command = command_in(&message);
        let (status, printed, message) = typed(command);
        assert_eq!(status, 0, "{mistake:?} is answered by {command}: {message}");
        assert!(!printed.is_empty(), "{command}");
    }
    let unknown = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args(["stats", "@sample", "--zzz"])
        .output();
    let message = String::from_utf8(unknown.expect("an exit").stderr).expect("text");
    assert!(
        message.contains("--zzz") && !message.contains("-- "),
        "{message}"
    );
}

#[test]
fn words_whose_quotes_the_shell_took_are_answered_with_the_phrase() {
    let counted = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(arguments)
            .output();
        let output = output.expect("the program can be started");
        (
            String::from_utf8(output.stdout).expect("text"),
            String::from_utf8(output.stderr).expect("text"),
        )
    };
    for typed_word in ["a series", "q=a series"] {
        let (found, message) = counted(&["search", "@sample", typed_word, "countOnly=true"]);
        let command = message
            .split("as a phrase: ")
            .nth(1)
            .expect("a command")
            .trim_end();
        let (status, phrase, message) = typed(command);
        assert!(status == 0 && message.is_empty(), "{message}");
        assert_ne!(found, phrase, "the words are in titles, the phrase is not");
    }
}

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
