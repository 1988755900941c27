//! The program over directories that something else has touched, or on a disk that is full.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a command may take that has to refuse a file at once.
const REFUSAL_MAX: Duration = Duration::from_secs(60);

fn program(arguments: &[&Path]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    command.args(arguments);
    command
}

/// What a command prints, unless it takes too long.
fn output(mut command: Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let since = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if since.elapsed() > REFUSAL_MAX {
            child.kill().expect("a child that runs");
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("a child that has ended")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with a corpus and an index of it.
struct Built(TempDir);

impl Built {
    fn new(signals: u64) -> Built {
        let built = Built(TempDir::new().expect("a temporary directory"));
        fs::create_dir(built.path("corpus")).expect("a writable directory");
        let company = r#"{"slug":"acme","name":"Acme"}"#;
        fs::write(built.path("corpus/companies.jsonl"), company).expect("a writable directory");
        let title = "Acme hires a head of robotics ".repeat(40);
        let line = |id: u64| {
            format!(r#"{{"id":"{id}","slug":"s{id}","title":"{title}","companySlug":"acme"}}"#)
        };
        let lines: Vec<String> = (1..=signals).map(line).collect();
        fs::write(built.path("corpus/signals.jsonl"), lines.join("\n"))
            .expect("a writable directory");
        let output = output(built.build("index"));
        assert!(output.status.success(), "{}", errors(&output));
        built
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn build(&self, out: &str) -> Command {
        let mut command = program(&["build".as_ref()]);
        command
            .arg("--companies")
            .arg(self.path("corpus/companies.jsonl"));
        command
            .arg("--signals")
            .arg(self.path("corpus/signals.jsonl"));
        command.arg("--out").arg(self.path(out));
        command
    }

    fn update(&self) -> Command {
        let mut command = program(&["update".as_ref(), &self.path("index")]);
        command
            .arg("--signals")
            .arg(self.path("corpus/signals.jsonl"));
        command
    }

    fn segments(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).expect("a readable directory");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("segment-")).collect();
        names.sort();
        names
    }
}

/// What can stand in the place of a file and is none.
const KINDS: [&str; 3] = ["FIFO", "socket", "device"];

fn put(kind: &str, path: &Path) {
    match kind {
        "FIFO" => {
            let made = Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo runs").success());
        }
        "socket" => drop(UnixListener::bind(path).expect("a writable directory")),
        _ => symlink("/dev/zero", path).expect("a writable directory"),
    }
}

#[test]
fn what_is_no_regular_file_is_refused_by_name_and_at_once() {
    let built = Built::new(3);
    let index = built.path("index");
    for name in ["manifest", "segment-00000000000000000001", "lock"] {
        let path = index.join(name);
        let aside = built.path("aside");
        fs::rename(&path, &aside).expect("a writable directory");
        for kind in KINDS {
            put(kind, &path);
            let mut commands = vec![built.update(), program(&["compact".as_ref(), &index])];
            if name != "lock" {
                commands.push(program(&["verify".as_ref(), &index]));
                commands.push(program(&["search".as_ref(), &index]));
            }
            for command in commands {
                let context = format!("{command:?} with a {kind} as {name}");
                let output = output(command);
                let message = errors(&output);
                assert_eq!(output.status.code(), Some(1), "{context}: {message}");
                let names_it = message.contains(&path.display().to_string());
                let says_why = message.contains("not a regular file");
                assert!(names_it && says_why, "{context}: {message}");
            }
            fs::remove_file(&path).expect("a writable directory");
        }
        fs::rename(&aside, &path).expect("a writable directory");
    }
    let output = output(built.update());
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn a_list_of_deletions_within_the_directory_is_read_and_kept() {
    let built = Built::new(3);
    let list = built.path("index/deleted-2026-11-22.txt");
    fs::write(&list, "2\n").expect("a writable directory");
    let mut command = program(&["update".as_ref(), &built.path("index")]);
    command.arg("--delete-signals").arg(&list);
    let output = output(command);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("deleted 1 signal and"));
    assert!(list.is_file());
}

#[test]
fn a_refused_build_leaves_nothing() {
    let built = Built::new(3);
    let signals = built.path("corpus/signals.jsonl");
    let whole = fs::read_to_string(&signals).expect("a readable file");
    fs::write(&signals, format!("{whole}\n{{\"id\":0}}")).expect("a writable file");
    let output = output(built.build("refused"));
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(!built.path("refused").exists());
}

/// The command in a shell in which no file may grow past 16 KiB: writing then fails as on a full
/// disk, and the signal that would end the process is ignored.
fn on_a_full_disk(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh"]);
    limited.arg(command.get_program()).args(command.get_args());
    limited
}

#[test]
fn an_update_and_a_build_on_a_full_disk_leave_no_segment() {
    let built = Built::new(100);
    let before = built.segments("index");
    let update = output(on_a_full_disk(&built.update()));
    assert_eq!(update.status.code(), Some(1), "{}", errors(&update));
    assert_eq!(built.segments("index"), before);
    let build = output(on_a_full_disk(&built.build("new")));
    assert_eq!(build.status.code(), Some(1), "{}", errors(&build));
    assert!(!built.path("new").exists());
    // With room again both succeed.
    for command in [built.update(), built.build("new")] {
        let output = output(command);
        assert!(output.status.success(), "{}", errors(&output));
    }
}

#[test]
fn verify_names_a_segment_of_another_index() {
    let (built, other) = (Built::new(3), Built::new(3));
    let signals = other.path("corpus/signals.jsonl");
    let text = fs::read_to_string(&signals).expect("a readable file");
    fs::write(&signals, text.replace("robotics", "robotica")).expect("a writable file");
    fs::remove_dir_all(other.path("index")).expect("a writable directory");
    assert!(output(other.build("index")).status.success());

    let segment = "index/segment-00000000000000000001";
    let (own, foreign) = (built.path(segment), other.path(segment));
    let length = |path: &Path| fs::metadata(path).expect("a file").len();
    assert_eq!(length(&own), length(&foreign));
    fs::copy(&foreign, &own).expect("a writable directory");
    let verified = output(program(&["verify".as_ref(), &built.path("index")]));
    let message = errors(&verified);
    assert_eq!(verified.status.code(), Some(1), "{message}");
    let is_named = message.contains(&own.display().to_string());
    assert!(is_named && message.contains("another index"), "{message}");
}
