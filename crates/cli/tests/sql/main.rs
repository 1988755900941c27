//! `signaldex sql`, run as a user would.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

#[path = "../commands/ended.rs"]
mod ended;
#[cfg(feature = "serve")]
mod serve;

use ended::{printed, refused, run, text};

const BY_SIZE: &str = "SELECT size, count(*) AS signals FROM signals GROUP BY size ORDER BY size";

#[test]
fn every_format_has_the_same_rows() {
    let csv = printed(&["sql", "@sample", BY_SIZE, "--format", "csv"]);
    assert_eq!(csv.lines().next(), Some("size,signals"));
    let lines = printed(&["sql", "@sample", BY_SIZE]);
    assert_eq!(lines.lines().count() + 1, csv.lines().count());
    assert!(
        lines.starts_with("{\"size\":\"1-49\",\"signals\":"),
        "{lines}"
    );
    let table = printed(&["sql", "@sample", BY_SIZE, "--format", "table"]);
    assert!(table.contains("| 1-49"), "{table}");
    let output = run(&["sql", "@sample", BY_SIZE, "--format", "arrow"]);
    assert!(output.status.success() && output.stdout.len() > 100);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sizes.parquet");
    let out = path.to_str().expect("UTF-8");
    printed(&[
        "sql", "@sample", BY_SIZE, "--format", "parquet", "--out", out,
    ]);
    let parquet = fs::read(&path).expect("the file");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn a_statement_comes_from_standard_input() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args(["sql", "@sample", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut input = program.stdin.take().expect("standard input");
    input
        .write_all(b"SELECT count(*) AS n\nFROM signals -- all\n")
        .expect("it is read");
    drop(input);
    let output = program.wait_with_output().expect("it ends");
    assert_eq!(text(&output.stdout), "{\"n\":2000}\n");
}

#[test]
fn a_file_is_new_or_there_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sizes.csv");
    let out = path.to_str().expect("UTF-8");
    let csv =
        |statement: &str| run(&["sql", "@sample", statement, "--format", "csv", "--out", out]);
    let failed = csv("SELECT nosuch FROM signals");
    assert_eq!(failed.status.code(), Some(1));
    let late = run(&[
        "sql",
        "@sample",
        "SELECT sum(a.id % 7 + b.id % 5 + c.id % 3) FROM signals a, signals b, signals c",
        "--timeout",
        "1",
        "--out",
        out,
    ]);
    assert_eq!(late.status.code(), Some(1), "{}", text(&late.stderr));
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 0);
    assert!(csv(BY_SIZE).status.success());
    let bytes = fs::read(&path).expect("the file");
    assert!(bytes.starts_with(
        b"size,signals
"
    ));
    let again = csv(BY_SIZE);
    assert!(
        text(&again.stderr).contains("exists and is not replaced"),
        "{}",
        text(&again.stderr)
    );
    assert_eq!(fs::read(&path).expect("the file"), bytes);
    let left = fs::read_dir(folder.path()).expect("the folder").count();
    assert_eq!(left, 1);
}

/// What a killed program leaves has another name.
#[test]
fn a_killed_program_leaves_no_file_of_that_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.csv");
    let mut program = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args(["sql", "@sample", "SELECT a.* FROM signals a, signals b"])
        .args(["--format", "csv", "--out"])
        .arg(&path)
        .stderr(Stdio::null())
        .spawn()
        .expect("the program can be started");
    // It writes some gigabytes, so it is not done when the first bytes are there.
    let has_bytes = || {
        let entries = fs::read_dir(folder.path()).expect("the folder");
        let mut sizes =
            entries.map(|entry| entry.expect("an entry").metadata().expect("a file").len());
        sizes.any(|size| size > 0)
    };
    while !has_bytes() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(program.try_wait().expect("its state").is_none());
    }
    program.kill().expect("it runs");
    program.wait().expect("it ends");
    assert!(!path.exists());
}

#[test]
fn mistakes_name_the_word_and_the_option() {
    for (arguments, expected) in [
        (
            &["sql", "@sample", "DROP TABLE signals"][..],
            "DROP is refused",
        ),
        (
            &["sql", "@sample", "COPY signals TO 'x'"],
            "COPY is refused",
        ),
        (
            &["sql", "@sample", "SELECT contry FROM signals"],
            "did you mean country?",
        ),
        (
            &["sql", "@sample", "SELECT * FROM 'x.csv'"],
            "there is no table x.csv",
        ),
        (&["sql", "@sample"], "signaldex sql DIR"),
        (
            &["sql", "@sample", BY_SIZE, "--format", "parquet"],
            "--format parquet needs --out FILE",
        ),
        (
            &["sql", "@sample", "SET datafusion.execution.batch_size = 1"],
            "SET is refused",
        ),
        (
            &["sql", "@sample", "CREATE TABLE t AS SELECT 1"],
            "CREATE is refused",
        ),
        (
            &["sql", "@sample", "INSERT INTO signals (id) VALUES (1)"],
            "INSERT is refused",
        ),
        (&["sql", "/nowhere", "SELECT 1"], "/nowhere"),
        (
            &[
                "sql",
                "@sample",
                "SELECT a.id, b.title FROM signals a, signals b ORDER BY 2, 1",
                "--memory",
                "1MiB",
            ],
            "--memory 1MiB",
        ),
        (
            &[
                "sql",
                "@sample",
                "SELECT sum(a.id % 7 + b.id % 5 + c.id % 3) FROM signals a, signals b, signals c",
                "--timeout",
                "1",
            ],
            "--timeout allows more",
        ),
    ] {
        let message = refused(1, arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
        assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    }
    for (arguments, expected) in [
        (
            &["sql", "@sample", "SELECT 1", "--memory", "1"][..],
            "such as 512MiB",
        ),
        (
            &["sql", "@sample", "SELECT 1", "--memory", "99999999999GiB"],
            "such as 512MiB",
        ),
        (
            &["sql", "@sample", "SELECT 1", "--timeout", "0"],
            "--timeout",
        ),
        (
            &["sql", "@sample", "SELECT 1", "--threads", "0"],
            "from 1 to 256",
        ),
        (&["sql", "@sample", "SELECT 1", "--format", "xml"], "ndjson"),
        (
            &["sql", "@sample", "SELECT 1", "--explain", "--out", "x"],
            "--out",
        ),
    ] {
        let message = refused(2, arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn today_is_a_day_of_choice() {
    let count = |day: &str| {
        let statement = "SELECT count(*) AS n FROM signals WHERE query = 'days=7'";
        printed(&["sql", "@sample", statement, "--as-of", day])
    };
    assert_ne!(count("2026-06-30"), "{\"n\":0}\n");
    assert_eq!(count("1999-01-01"), "{\"n\":0}\n");
}

#[test]
fn a_plan_shows_what_the_index_does() {
    let statement = "SELECT title FROM signals WHERE query = 'q=robots'";
    let plan = printed(&["sql", "@sample", statement, "--explain"]);
    assert!(
        plan.contains("SignalsScan: columns=[title], index=[all=robots]"),
        "{plan}"
    );
}

#[test]
fn a_reader_may_leave() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args([
            "sql",
            "@sample",
            "SELECT a.title FROM signals a, signals b",
            "--format",
            "csv",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut output = program.stdout.take().expect("standard output");
    let mut first = [0; 6];
    output.read_exact(&mut first).expect("the header");
    drop(output);
    let output = program.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

#[cfg(feature = "cluster")]
#[test]
fn shards_are_asked_as_one_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (corpus, whole, shards) = (path("corpus"), path("whole"), path("shards"));
    printed(&[
        "generate",
        "--signals",
        "3000",
        "--seed",
        "7",
        "--out",
        &corpus,
    ]);
    let companies = format!("{corpus}/companies.jsonl");
    let signals = format!("{corpus}/signals.jsonl");
    let files = ["--companies", &companies, "--signals", &signals];
    printed(&[&["build"], &files[..], &["--out", &whole]].concat());
    printed(&[&["shard"], &files[..], &["--shards", "5", "--out", &shards]].concat());
    for statement in [
        "SELECT * FROM signals ORDER BY id",
        "SELECT * FROM companies ORDER BY slug",
        "SELECT country, count(*) FROM signals GROUP BY country ORDER BY 2, 1",
        "SELECT count(*) FROM signals WHERE query = 'q=raises'",
        "SELECT id FROM signals ORDER BY id DESC LIMIT 20",
    ] {
        let one = printed(&["sql", &whole, statement]);
        assert_eq!(
            printed(&["sql", "--shards", &shards, statement]),
            one,
            "{statement}"
        );
        assert!(one.lines().count() > 0);
    }
    let message = refused(1, &["sql", "--shards", &shards, &whole, "SELECT 1"]);
    assert!(message.contains("not both"), "{message}");
}
