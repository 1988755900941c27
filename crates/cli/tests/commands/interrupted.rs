//! Loads that are interrupted leave nothing, and the same command again gives what an undisturbed one gives.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Enough for files of the index to have been written.
const SIGNALS: u64 = 10_000;

/// How long a build may take to write the first bytes.
const START_MAX: Duration = Duration::from_secs(60);

/// A folder with the companies of a load, whose signals come through a pipe.
struct Load {
    folder: TempDir,
    /// The command and its options.
    command: &'static [&'static str],
}

impl Load {
    fn new(command: &'static [&'static str]) -> Load {
        let folder = TempDir::new().expect("a temporary directory");
        let company = r#"{"slug":"acme","name":"Acme"}"#;
        fs::write(folder.path().join("companies"), company).expect("a writable directory");
        Load { folder, command }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn start(&self, out: &Path) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
        command.args(self.command).args(["--signals", "-"]);
        command
            .arg("--companies")
            .arg(self.folder.path().join("companies"));
        command.arg("--out").arg(out);
        command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program can be started")
    }

    /// Loads everything. Returns the files of the result.
    fn finish(&self, out: &Path) -> BTreeSet<PathBuf> {
        let mut child = self.start(out);
        send(&mut child, 1..=SIGNALS);
        drop(child.stdin.take());
        let status = child.wait().expect("a child");
        assert!(status.success(), "{:?}", self.command);
        files(out)
    }
}

/// Passes signals to a load.
fn send(child: &mut Child, ids: impl Iterator<Item = u64>) {
    let title = "Acme hires a head of robotics ".repeat(40);
    let line = |id: u64| {
        format!(
            "{{\"id\":\"{id}\",\"slug\":\"s{id}\",\"title\":\"{title}\",\"companySlug\":\"acme\"}}\n"
        )
    };
    let text: String = ids.map(line).collect();
    let input = child.stdin.as_mut().expect("a pipe");
    input.write_all(text.as_bytes()).expect("a load that reads");
}

/// The files below a folder, relative to it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let path = path.strip_prefix(folder).expect("a path below the folder");
                found.insert(path.to_owned());
            }
        }
    }
    found
}

/// Waits until a load has written records.
fn await_records(folder: &Path) {
    let since = Instant::now();
    let has_records = || {
        let sizes = files(folder).into_iter();
        let mut sizes = sizes.filter_map(|file| fs::metadata(folder.join(file)).ok());
        sizes.any(|file| file.len() > 0)
    };
    while !has_records() {
        assert!(since.elapsed() < START_MAX, "nothing is written");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Interrupts a load while it reads, in three ways, and repeats it.
fn check(load: &Load) {
    let expected = load.finish(&load.folder.path().join("undisturbed"));
    // An interrupt ends a process as TERM does, unless what started the tests ignores it.
    for (signal, has_folder) in [("TERM", false), ("TERM", true), ("KILL", false)] {
        if has_folder {
            fs::create_dir(load.out()).expect("a writable directory");
        }
        let mut child = load.start(&load.out());
        send(&mut child, 1..=SIGNALS);
        await_records(&load.out());
        let sent = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
        let status = child.wait().expect("a child");
        if signal == "TERM" {
            assert_eq!(
                status.signal(),
                Some(15),
                "as if nothing had been done before"
            );
            assert_eq!(load.out().exists(), has_folder);
            assert_eq!(files(&load.out()), BTreeSet::new());
        }
        assert!(!status.success(), "{signal}");
        assert_eq!(load.finish(&load.out()), expected, "after {signal}");
        fs::remove_dir_all(load.out()).expect("a writable directory");
    }
}

#[test]
fn an_interrupted_build_is_repeated_by_the_same_command() {
    check(&Load::new(&["build"]));
}

#[cfg(feature = "cluster")]
#[test]
fn interrupted_shards_are_repeated_by_the_same_command() {
    let load = Load::new(&["shard", "--shards", "3"]);
    check(&load);
    // Nothing else is taken for what an interrupted command left.
    fs::create_dir_all(load.out().join("0")).expect("a writable directory");
    let mut child = load.start(&load.out());
    drop(child.stdin.take());
    assert!(!child.wait().expect("a child").success());
    assert!(load.out().join("0").exists());
}

#[cfg(feature = "cluster")]
#[test]
fn shards_that_are_refused_leave_nothing() {
    let load = Load::new(&["shard", "--shards", "3"]);
    let mut child = load.start(&load.out());
    let input = child.stdin.as_mut().expect("a pipe");
    input.write_all(b"{\"id\":1}\n").expect("a load that reads");
    drop(child.stdin.take());
    assert!(!child.wait().expect("a child").success());
    assert!(!load.out().exists());
}
