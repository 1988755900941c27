//! What is new: the command line and the library at its edges. That copies which follow are right is
//! seen in random histories (`src/index/tests/copies.rs`).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use signaldex::{
    Change, Company, Filter, Index, IndexBuilder, Position, PositionError, Signal, SignalId, Writer,
};
use tempfile::TempDir;
use time::macros::date;

const TODAY: time::Date = date!(2026 - 06 - 30);

fn signal(id: u64, title: &str) -> Signal<'_> {
    let id = SignalId::new(id).expect("an id");
    Signal::new(id, "acme", title)
}

/// An index of three signals.
fn built(directory: &Path) -> Index {
    let mut builder = IndexBuilder::in_directory(directory).expect("an empty directory");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a company");
    for id in 1..=3 {
        builder
            .add_signal(&signal(id, "Acme hires"))
            .expect("added");
    }
    builder.finish().expect("an index")
}

fn commit(index: &Index, change: impl FnOnce(&mut Writer)) {
    let mut writer = index.writer().expect("nobody else writes");
    change(&mut writer);
    writer.commit().expect("committed");
    writer.wait_for_merges();
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    command.arg("changes").arg(directory).args(arguments);
    command
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let lines = output.stdout.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect()
}

fn run(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let mut command = command(directory, arguments);
    lines(&command.output().expect("the program can be started"))
}

fn next(lines: &[Value]) -> String {
    let next = lines.last().and_then(|line| line["next"].as_str());
    next.expect("the last line has the position").to_owned()
}

/// What a change does, and to which signal.
fn change(line: &Value) -> (&str, &str) {
    let id = line.get("id").unwrap_or(&line["signal"]["id"]);
    (
        line["op"].as_str().expect("an operation"),
        id.as_str().expect("an id"),
    )
}

#[test]
fn the_command_line_prints_changes_and_the_next_position() {
    let folder = TempDir::new().expect("a folder");
    let index = built(folder.path());
    let start = run(folder.path(), &[]);
    assert_eq!(
        start.len(),
        1,
        "without a position there is only the present one"
    );
    let since = next(&start);
    assert_eq!(run(folder.path(), &["--since", &since]), start);

    commit(&index, |writer| {
        writer
            .upsert_signal(&signal(4, "Acme raises"))
            .expect("known company");
        writer
            .upsert_signal(&signal(2, "Acme moves"))
            .expect("known company");
        writer.delete_signal(SignalId::MIN).expect("a whole index");
    });
    let all = run(folder.path(), &["--since", &since]);
    let changes: Vec<_> = all[..3].iter().map(change).collect();
    assert_eq!(changes, [("remove", "1"), ("upsert", "2"), ("upsert", "4")]);
    assert_eq!(all[1]["signal"]["title"], "Acme moves");
    assert_eq!(all[1]["signal"]["companyName"], "Acme");

    // One that matched before is removed, and one that never did is not mentioned.
    let hiring = run(folder.path(), &["hires", "--since", &since]);
    let changes: Vec<_> = hiring[..2].iter().map(change).collect();
    assert_eq!(changes, [("remove", "1"), ("remove", "2")]);
    assert_eq!(next(&hiring), next(&all));
    assert_eq!(run(folder.path(), &["--since", &next(&all)]).len(), 1);
}

#[test]
fn the_command_line_follows_commits() {
    let folder = TempDir::new().expect("a folder");
    let index = built(folder.path());
    let since = next(&run(folder.path(), &[]));
    let mut child = command(folder.path(), &["--since", &since, "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut line = || -> Value {
        let line = lines.next().expect("a line").expect("text");
        serde_json::from_str(&line).expect("JSON")
    };
    assert_eq!(line(), json!({ "next": since }));
    for id in 10..13 {
        commit(&index, |writer| {
            writer
                .upsert_signal(&signal(id, "New"))
                .expect("known company");
        });
        assert_eq!(change(&line()), ("upsert", &*id.to_string()));
        assert_eq!(
            line(),
            json!({ "next": index.snapshot().position() .to_string()})
        );
    }
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
}

#[test]
fn positions_that_cannot_be_followed_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let index = built(folder.path());
    let other = Index::in_memory().expect("memory");
    let refused = |position: &str| {
        let output = command(folder.path(), &["--since", position]).output();
        let output = output.expect("the program can be started");
        assert!(!output.status.success() && output.stdout.is_empty());
        String::from_utf8(output.stderr).expect("text")
    };
    let foreign = other.snapshot().position().to_string();
    assert!(refused(&foreign).contains("is of another index; copy everything again"));
    assert!(refused("yesterday").contains("is not a position in an index"));
    let position = index.snapshot().position().to_string();
    assert!(refused(&position[1..]).contains("is not a position in an index"));
    let other = if &position[20..21] == "A" { "B" } else { "A" };
    let damaged = format!("{}{other}{}", &position[..20], &position[21..]);
    assert!(refused(&damaged).contains("is damaged"));
}

#[test]
fn a_position_is_refused_once_deletions_since_are_forgotten() {
    let builder = IndexBuilder::in_memory().remember_deletions(2);
    let index = builder.finish().expect("an index");
    let positions: Vec<Position> = (1..=5)
        .map(|number| {
            let position = index.snapshot().position();
            commit(&index, |writer| {
                let company = Company::new("acme", format!("Acme {number}"));
                writer.upsert_company(&company).expect("a slug");
            });
            position
        })
        .collect();
    let snapshot = index.snapshot();
    let filter = Filter::default();
    let outcome = |position: &Position| snapshot.changes(&filter, TODAY, position).map(drop);
    let outcomes: Vec<_> = positions.iter().map(outcome).collect();
    let expired = Err(PositionError::Expired);
    assert_eq!(outcomes, [expired, expired, expired, Ok(()), Ok(())]);
}

#[test]
fn a_snapshot_refuses_positions_after_it() {
    let index = Index::in_memory().expect("memory");
    let before = index.snapshot();
    commit(&index, |writer| {
        writer
            .upsert_company(&Company::new("acme", "Acme"))
            .expect("a slug");
    });
    let filter = Filter::default();
    let changes = before.changes(&filter, TODAY, &index.snapshot().position());
    assert_eq!(changes.map(drop), Err(PositionError::Ahead));
}

#[test]
fn changes_go_on_from_any_change() {
    let index = Index::in_memory().expect("memory");
    let since = index.snapshot().position();
    commit(&index, |writer| {
        writer
            .upsert_company(&Company::new("acme", "Acme"))
            .expect("a slug");
        for id in 1..=2_000 {
            writer
                .upsert_signal(&signal(id, "Acme hires"))
                .expect("known company");
        }
    });
    let snapshot = index.snapshot();
    let filter = Filter::default();
    let id_of = |change: Change<'_>| match change {
        Change::Upsert { item, is_new: true } => item.signal.id.get(),
        other => panic!("{other:?}"),
    };
    let (mut ids, mut position) = (Vec::new(), since);
    while position != snapshot.position() {
        let mut changes = snapshot
            .changes(&filter, TODAY, &position)
            .expect("a position");
        let some = changes.by_ref().take(7);
        ids.extend(some.map(|change| id_of(change.expect("a record"))));
        position = changes.position();
    }
    assert!(ids.into_iter().eq(1..=2_000));
    let changes = snapshot
        .changes(&filter, TODAY, &since)
        .expect("a position");
    assert_eq!(changes.count(), 2_000);
}

/// Copies the files of a directory to another, which it replaces.
pub(crate) fn copy_over(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).expect("a writable folder");
    for entry in fs::read_dir(from).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        fs::copy(&path, to.join(name)).expect("a copy");
    }
}

/// An index that was put back to a backup and changed otherwise.
pub(crate) struct Restored {
    folder: TempDir,
    pub(crate) index: Index,
    /// The position at the backup.
    pub(crate) before: Position,
    /// Positions after the commit that was lost, and half way through its changes.
    pub(crate) lost: [Position; 2],
}

impl Restored {
    /// Makes a backup, commits, restores it, and makes as many commits as were lost.
    pub(crate) fn new() -> Restored {
        let folder = TempDir::new().expect("a folder");
        let (directory, backup) = (folder.path().join("index"), folder.path().join("backup"));
        let index = built(&directory);
        let before = index.snapshot().position();
        copy_over(&directory, &backup);
        let rewrite = |title: &'static str| {
            move |writer: &mut Writer| {
                for id in [1, 3] {
                    let signal = signal(id, title);
                    writer.upsert_signal(&signal).expect("known company");
                }
            }
        };
        commit(&index, rewrite("Acme raises"));
        let snapshot = index.snapshot();
        let filter = Filter::default();
        let changes = snapshot.changes(&filter, TODAY, &before);
        let mut changes = changes.expect("a position");
        changes.next().expect("a change").expect("a record");
        let lost = [snapshot.position(), changes.position()];
        assert_ne!(lost[0], lost[1]);
        copy_over(&backup, &directory);
        index.refresh().expect("the backup");
        let ahead = index.snapshot().changes(&filter, TODAY, &lost[1]).map(drop);
        assert_eq!(ahead, Err(PositionError::Ahead));
        commit(&index, rewrite("Acme moves"));
        Restored {
            folder,
            index,
            before,
            lost,
        }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("index")
    }
}

#[test]
fn a_position_of_commits_that_a_restored_backup_lost_is_refused() {
    let restored = Restored::new();
    let filter = Filter::default();
    let mut snapshot = restored.index.snapshot();
    // Neither more commits nor merges bring the lost one back.
    for id in 10..20 {
        for lost in &restored.lost {
            let changes = snapshot.changes(&filter, TODAY, lost);
            assert_eq!(changes.map(drop), Err(PositionError::Diverged));
        }
        let changes = snapshot.changes(&filter, TODAY, &restored.before);
        assert_eq!(changes.expect("a position").count(), id - 8);
        commit(&restored.index, |writer| {
            let signal = signal(id as u64, "New");
            writer.upsert_signal(&signal).expect("known company");
            writer.compact().expect("compacted");
        });
        snapshot = restored.index.snapshot();
    }
}

#[test]
fn the_command_line_refuses_a_position_that_a_restored_backup_lost() {
    let restored = Restored::new();
    for lost in &restored.lost {
        let arguments = ["--since", &lost.to_string()];
        let output = command(&restored.directory(), &arguments).output();
        let output = output.expect("the program can be started");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let error = String::from_utf8(output.stderr).expect("text");
        assert!(error.contains("a backup was restored"), "{error}");
        assert!(output.stdout.is_empty());
    }
    let since = restored.before.to_string();
    assert_eq!(run(&restored.directory(), &["--since", &since]).len(), 3);
}
