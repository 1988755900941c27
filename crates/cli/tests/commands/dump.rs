//! Dumps by the program: whole or not there, of one moment, and built again the same index.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// A folder with an index of several segments, with updates and deletions.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new(signals: u64) -> Fixture {
        let fixture = Fixture {
            folder: TempDir::new().expect("a temporary directory"),
        };
        let some = (signals / 4).max(1).to_string();
        fixture.done(&[
            "generate",
            "--signals",
            &signals.to_string(),
            "--seed",
            "1",
            "--out",
            "corpus",
        ]);
        fixture.done(&[
            "generate",
            "--signals",
            &some,
            "--seed",
            "2",
            "--out",
            "changes",
        ]);
        fixture.build("corpus", "", "index");
        fixture.update(
            "index",
            &[
                "--companies",
                "changes/companies.jsonl",
                "--signals",
                "changes/signals.jsonl",
            ],
        );
        let corpus = fs::read_to_string(fixture.path("corpus/signals.jsonl")).expect("a corpus");
        let ids = corpus.lines().step_by(10).map(|line| {
            let signal: serde_json::Value = serde_json::from_str(line).expect("JSON");
            format!("{}\n", signal["id"].to_string().trim_matches('"'))
        });
        fs::write(fixture.path("gone"), ids.collect::<String>()).expect("a writable file");
        fixture.update("index", &["--delete-signals", "gone"]);
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("the program can be started")
    }

    /// What a command prints that has to succeed.
    fn done(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {message}");
        output.stdout
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    }

    fn build(&self, from: &str, ending: &str, out: &str) {
        let companies = format!("{from}/companies.jsonl{ending}");
        let signals = format!("{from}/signals.jsonl{ending}");
        self.done(&[
            "build",
            "--companies",
            &companies,
            "--signals",
            &signals,
            "--out",
            out,
            "--strict",
        ]);
    }

    fn update(&self, index: &str, files: &[&str]) {
        self.done(&[&["update", index], files].concat());
    }

    fn started(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program can be started")
    }

    /// The names of what is in the folder and begins so.
    fn names(&self, start: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("a readable folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.into_string().expect("text"));
        names.filter(|name| name.starts_with(start)).collect()
    }
}

/// The bytes of both files of a dump.
fn files(folder: &Path, ending: &str) -> [Vec<u8>; 2] {
    ["companies.jsonl", "signals.jsonl"].map(|name| {
        fs::read(folder.join(format!("{name}{ending}"))).expect("a whole dump has both files")
    })
}

#[test]
fn an_index_built_of_a_dump_answers_the_same_and_dumps_the_same() {
    let fixture = Fixture::new(2000);
    fixture.done(&["dump", "index", "--out", "dump"]);
    fixture.build("dump", "", "rebuilt");
    fixture.done(&["verify", "rebuilt"]);
    fixture.done(&["dump", "rebuilt", "--out", "again"]);
    assert!(files(&fixture.path("dump"), "") == files(&fixture.path("again"), ""));
    let same = |arguments: &[&str]| {
        let of = |index: &str| fixture.done(&[&[arguments[0], index], &arguments[1..]].concat());
        assert!(of("index") == of("rebuilt"), "{arguments:?}");
    };
    same(&["export"]);
    same(&["export", "--companies", "--format", "csv"]);
    let all = "id,title,hiring.seniority,hiring.hiringType,company.country,company.employees";
    same(&["export", "--columns", all, "--format", "csv"]);
    same(&["options"]);
    for query in [
        "q=raises",
        "q=\"series a\"&country=Germany",
        "days=30&size=1-49",
        "limit=7",
    ] {
        same(&["search", query, "--as-of", "2026-06-30"]);
        same(&["search", query, "countOnly=true", "--as-of", "2026-06-30"]);
        same(&[
            "options",
            query.split("limit").next().expect("a start"),
            "--as-of",
            "2026-06-30",
        ]);
    }
}

#[test]
fn compressed_dumps_hold_the_same_and_are_the_same_each_time() {
    let fixture = Fixture::new(300);
    fixture.done(&["dump", "index", "--out", "plain"]);
    let kinds: &[(&str, &str)] = if cfg!(feature = "serve") {
        &[("gzip", ".gz"), ("zstd", ".zst")]
    } else {
        let message = fixture.refused(&["dump", "index", "--out", "zstd", "--compress", "zstd"]);
        assert!(message.contains("feature `serve`"), "{message}");
        assert!(fixture.names("zstd").is_empty());
        &[("gzip", ".gz")]
    };
    for (kind, ending) in kinds {
        let again = format!("{kind}-again");
        for out in [*kind, &again] {
            fixture.done(&["dump", "index", "--out", out, "--compress", kind]);
        }
        assert!(files(&fixture.path(kind), ending) == files(&fixture.path(&again), ending));
        let index = format!("{kind}-index");
        fixture.build(kind, ending, &index);
        let out = format!("{kind}-plain");
        fixture.done(&["dump", &index, "--out", &out]);
        assert!(files(&fixture.path(&out), "") == files(&fixture.path("plain"), ""));
    }
}

#[test]
fn a_dump_replaces_nothing() {
    let fixture = Fixture::new(50);
    fs::create_dir(fixture.path("taken")).expect("a folder");
    fs::write(fixture.path("taken/note"), "mine").expect("a writable file");
    fs::write(fixture.path("file"), "mine").expect("a writable file");
    for out in ["taken", "file", "index", "taken/note"] {
        let message = fixture.refused(&["dump", "index", "--out", out]);
        assert!(message.contains("a dump replaces nothing"), "{message}");
    }
    assert!(
        fixture
            .refused(&["dump", "index", "--out", ".."])
            .contains("name of a new folder")
    );
    let left = fs::read_dir(fixture.path("taken"))
        .expect("a folder")
        .count();
    assert_eq!(left, 1);
    // An empty folder, and one that is not there yet.
    fs::create_dir(fixture.path("empty")).expect("a folder");
    fixture.done(&["dump", "index", "--out", "empty"]);
    fixture.done(&["dump", "index", "--out", "new/folder/"]);
    assert!(files(&fixture.path("empty"), "") == files(&fixture.path("new/folder"), ""));
    fixture.refused(&["dump", "index", "--out", "empty"]);
    assert!(
        fixture
            .names("")
            .iter()
            .all(|name| !name.contains("unfinished"))
    );
}

#[cfg(unix)]
#[test]
fn a_killed_dump_leaves_no_folder_or_a_whole_one() {
    let fixture = Fixture::new(20_000);
    let started = std::time::Instant::now();
    fixture.done(&["dump", "index", "--out", "whole"]);
    let whole = started.elapsed();
    let expected = files(&fixture.path("whole"), "");
    let (mut killed, mut points) = (0, 0);
    // Points from the start to past the end of a dump.
    for point in 1..=15 {
        points += 1;
        let mut running = fixture.started(&["dump", "index", "--out", "out"]);
        std::thread::sleep(whole * point / 12);
        // It may have ended.
        let _ = running.kill();
        let status = running.wait().expect("an exit");
        killed += u32::from(!status.success());
        let out = fixture.path("out");
        if out.exists() {
            assert!(files(&out, "") == expected, "killed at point {point}");
            fs::remove_dir_all(out).expect("a removable folder");
        } else {
            assert!(!status.success(), "a dump that succeeds is there");
        }
    }
    assert!(killed > 0, "{points} dumps, and none was killed");
    // What they leave is no obstacle to another dump.
    fixture.done(&["dump", "index", "--out", "out"]);
    assert!(files(&fixture.path("out"), "") == expected);
}

#[test]
fn a_dump_beside_a_writer_is_of_one_moment() {
    let fixture = Fixture::new(3000);
    // Each update replaces all signals of the changes by ones of its own number.
    let changes = fs::read_to_string(fixture.path("changes/signals.jsonl")).expect("changes");
    let titled = |number: usize| {
        let line = |line: &str| {
            line.replacen("\"title\":\"", &format!("\"title\":\"Round{number} "), 1) + "\n"
        };
        changes.lines().map(line).collect::<String>()
    };
    for number in 0..6 {
        fs::write(fixture.path(&format!("round{number}")), titled(number))
            .expect("a writable file");
    }
    fixture.update("index", &["--signals", "round0"]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 1..6 {
                fixture.update("index", &["--signals", &format!("round{number}")]);
            }
        });
        let mut dumps = 0;
        while !writer.is_finished() || dumps < 2 {
            let out = format!("dump{dumps}");
            fixture.done(&["dump", "index", "--out", &out]);
            dumps += 1;
            let [_, signals] = files(&fixture.path(&out), "");
            let signals = String::from_utf8(signals).expect("text");
            let rounds = (0..6).filter(|number| signals.contains(&format!("\"Round{number} ")));
            assert_eq!(rounds.count(), 1, "a dump has the signals of one commit");
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
