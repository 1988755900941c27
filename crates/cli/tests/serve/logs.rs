//! What an unwritable standard error or standard output may cost: lines, and nothing else.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, pipe};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::client::{self, Response};

/// Longer than a service takes to stop, however its log is.
const STOP_TIME: Duration = Duration::from_secs(60);
/// Requests whose log lines exceed the 64 KiB that a pipe holds.
const REQUESTS: usize = 1_000;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
}

/// A standard error on which every write fails: the disk is full.
fn full_disk() -> Stdio {
    let full = File::options().write(true).open("/dev/full");
    Stdio::from(full.expect("a device"))
}

/// A pipe whose reader has gone.
fn closed_pipe() -> Stdio {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    Stdio::from(writer)
}

/// A service over the sample corpus, and what it printed to be tried with.
struct Service {
    process: Child,
    address: SocketAddr,
    dashboard: SocketAddr,
    bearer: String,
}

impl Service {
    fn start(state: &Path, errors: Stdio) -> Service {
        Service::start_with(state, errors, &[])
    }

    fn start_with(state: &Path, errors: Stdio, options: &[&str]) -> Service {
        let mut process = program()
            .args(["serve", "--addr", "127.0.0.1:0"])
            .args(options)
            .args(["--admin-addr", "127.0.0.1:0", "--state"])
            .arg(state)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the service starts");
        let output = process.stdout.take().expect("standard output");
        let (mut example, mut dashboard) = (String::new(), String::new());
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.starts_with("curl ") {
                example = line;
            } else if line.starts_with("Dashboard") {
                dashboard = line;
                break;
            }
        }
        let between = |text: &str, start: &str, end: char| {
            let rest = text.split(start).nth(1).expect("what was printed");
            rest.split(end).next().expect("what was printed").to_owned()
        };
        let address_in = |text: &str| between(text, "http://", '/').parse().expect("an address");
        Service {
            process,
            address: address_in(&example),
            dashboard: address_in(&dashboard),
            bearer: format!("Bearer {}", between(&example, "Bearer ", '\'')),
        }
    }

    fn get(&self, target: &str) -> Option<Response> {
        let authorization = [("authorization", self.bearer.as_str())];
        client::try_request(self.address, "GET", target, &authorization)
    }

    /// Searches until a request gets no answer, and returns how many answers came and what they
    /// charged. Some may be over the rate limit of the trial key.
    fn search(&self, requests: usize) -> (usize, u64) {
        let ask = |_| self.get("/api/v1/signals?limit=1");
        let answers: Vec<Response> = (0..requests).map_while(ask).collect();
        for answer in &answers {
            assert!(matches!(answer.status, 200 | 429), "{}", answer.status);
        }
        (answers.len(), answers.iter().map(Response::charged).sum())
    }

    fn dropped_lines(&self) -> u64 {
        let metrics = client::request(self.dashboard, "GET", "/metrics", &[]);
        let text = String::from_utf8(metrics.body).expect("text");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("signaldex_log_lines_dropped_total "));
        line.expect("the metric").parse().expect("a number")
    }

    fn stop(&mut self) -> ExitStatus {
        let stop = Command::new("kill")
            .args(["-TERM", &self.process.id().to_string()])
            .status();
        assert!(stop.expect("kill").success());
        let started = Instant::now();
        while started.elapsed() < STOP_TIME {
            if let Some(status) = self.process.try_wait().expect("a process") {
                return status;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the service does not stop");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has usually stopped by now.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Units of all keys, as `usage` prints them.
fn recorded(state: &Path) -> u64 {
    let output = program().args(["usage", "--state"]).arg(state).output();
    let lines: serde_json::Value =
        serde_json::from_slice(&output.expect("the program runs").stdout).expect("JSON");
    let lines = lines.as_array().expect("a list");
    lines
        .iter()
        .map(|line| line["signals"].as_u64().expect("a number"))
        .sum()
}

fn assert_served(errors: Stdio, what: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let mut service = Service::start(&state, errors);
    let (answers, charged) = service.search(REQUESTS);
    assert_eq!(answers, REQUESTS, "{what}: every request is answered");
    let health = service.get("/healthz").map(|answer| answer.status);
    assert_eq!(health, Some(200), "{what}");
    assert!(service.dropped_lines() > 0, "{what}");
    assert_eq!(service.stop().code(), Some(0), "{what}");
    assert_eq!(recorded(&state), charged, "{what}");
}

#[test]
fn a_log_on_a_full_disk_costs_no_request() {
    assert_served(full_disk(), "a full disk");
}

#[test]
fn a_log_whose_reader_has_gone_costs_no_request() {
    assert_served(closed_pipe(), "a closed pipe");
}

#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut unread, writer) = pipe().expect("a pipe");
    let mut service = Service::start(&state, Stdio::from(writer));
    let (answers, charged) = service.search(REQUESTS);
    assert_eq!(answers, REQUESTS, "every request is answered");
    let health = service.get("/healthz").map(|answer| answer.status);
    assert_eq!(health, Some(200));
    assert_eq!(service.stop().code(), Some(0));
    assert_eq!(recorded(&state), charged);
    let mut written = Vec::new();
    unread.read_to_end(&mut written).expect("what was written");
    // A page of the pipe that a line does not fit into stays short of it.
    assert!(written.len() >= 60 * 1024, "{} bytes", written.len());
}

/// Runs a command with each standard error that cannot be written and checks its exit status.
fn assert_exits(arguments: &[&str], expected: i32) {
    for (what, errors) in [
        ("a full disk", full_disk()),
        ("a closed pipe", closed_pipe()),
    ] {
        let mut command = program();
        let status = command.args(arguments).stderr(errors).status();
        let code = status.expect("the program runs").code();
        assert_eq!(code, Some(expected), "{arguments:?}, {what}");
    }
    let closed = Command::new("sh")
        .args([
            "-c",
            "exec \"$0\" \"$@\" 2>&-",
            env!("CARGO_BIN_EXE_signaldex"),
        ])
        .args(arguments)
        .status();
    let code = closed.expect("the program runs").code();
    assert_eq!(code, Some(expected), "{arguments:?}, closed");
}

#[test]
fn commands_end_with_the_exit_status_of_their_work() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (corpus, index) = (path("corpus"), path("index"));
    let (companies, signals) = (path("corpus/companies.jsonl"), path("corpus/signals.jsonl"));
    let records = ["--companies", &companies, "--signals", &signals];
    let generate = ["generate", "--signals", "200", "--out", &corpus];
    let build = [&["build"], &records[..], &["--out", &index]].concat();
    // Neither replaces what is there.
    for command in [&generate[..], &build] {
        let status = program().args(command).stderr(full_disk()).status();
        let code = status.expect("the program runs").code();
        assert_eq!(code, Some(0), "{command:?}");
    }
    assert_exits(&[&["update", index.as_str()], &records[..]].concat(), 0);
    assert_exits(&["compact", &index], 0);
    assert_exits(&["verify", &index], 0);
    assert_exits(&["verify", &path("nothing")], 1);
    assert_exits(&["search", &index, "limit=0"], 1);
    assert_exits(&["no-such-command"], 2);
}

#[test]
fn a_reader_of_the_output_that_has_gone_is_no_fault() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db").display().to_string();
    for arguments in [
        &["search", "@sample", "limit=50"][..],
        &["search", "@sample", "limit=50", "--table"],
        &["explain", "@sample", "q=raises"],
        &["options", "@sample"],
        &["stats", "@sample"],
        &["keys", "create", "--state", &state],
        &["keys", "list", "--state", &state],
        &["usage", "--state", &state],
        &["admin-token", "--state", &state],
    ] {
        let output = program().args(arguments).stdout(closed_pipe()).output();
        let output = output.expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), said.as_ref()),
            (Some(0), ""),
            "{arguments:?}"
        );
        let output = program().args(arguments).stdout(full_disk()).output();
        let output = output.expect("the program runs");
        assert_eq!(
            output.status.code(),
            Some(1),
            "{arguments:?} on a full disk"
        );
    }
}

#[test]
fn a_line_of_a_request_names_its_key_and_not_its_secret() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut reader, writer) = pipe().expect("a pipe");
    let mut service = Service::start(&directory.path().join("state.db"), Stdio::from(writer));
    assert_eq!(service.search(1), (1, 1));
    assert!(service.stop().success());
    let mut log = String::new();
    reader.read_to_string(&mut log).expect("a log");
    let line = log.lines().find(|line| line.contains("\"answered\""));
    let line: serde_json::Value = serde_json::from_str(line.expect("a line")).expect("JSON");
    assert_eq!(line["key"], "key_trial");
    let secret = service.bearer.trim_start_matches("Bearer ");
    let hint = format!("{}…{}", &secret[..8], &secret[secret.len() - 4..]);
    assert_eq!(line["key_hint"], hint);
    assert!(!log.contains(secret));
}

/// The lines of a log, each of which is an object with a level and a message.
fn json_lines(log: &str) -> Vec<serde_json::Value> {
    let lines = log.lines().map(|line| {
        let line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        for member in ["timestamp", "level", "message"] {
            assert!(line[member].is_string(), "{member}: {line}");
        }
        line
    });
    lines.collect()
}

#[test]
fn a_json_log_is_json_from_the_first_line_to_the_last() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut reader, writer) = pipe().expect("a pipe");
    let options = ["--log-format", "json"];
    let mut service = Service::start_with(&state, Stdio::from(writer), &options);
    assert_eq!(service.search(1), (1, 1));
    assert!(service.stop().success());
    let mut log = String::new();
    reader.read_to_string(&mut log).expect("a log");
    let lines = json_lines(&log);
    let message = lines[0]["message"].as_str().expect("a message");
    let listening = format!("signaldex: listening on http://{}", service.address);
    assert!(message.starts_with(&listening), "{message}");
    assert!(lines.iter().any(|line| line["message"] == "answered"));

    // The reason for not starting is such a line as well.
    for refused in [
        vec!["serve", "nowhere"],
        vec!["serve", "@sample", "--addr", "192.0.2.1:80"],
    ] {
        let output = program()
            .args(&refused)
            .args([
                "--log-format",
                "json",
                "--admin-addr",
                "127.0.0.1:0",
                "--state",
            ])
            .arg(directory.path().join("other.db"))
            .output()
            .expect("the program runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{said}");
        let lines = json_lines(&said);
        let last = lines.last().expect("a line");
        assert_eq!(last["level"], "ERROR", "{said}");
    }
}

#[test]
fn a_turn_that_cannot_be_had_is_logged_with_its_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut reader, writer) = pipe().expect("a pipe");
    let mut service = Service::start(&state, Stdio::from(writer));
    let turn = directory.path().join("state.db-turn");
    let turn = File::options().write(true).open(turn).expect("the file");
    turn.lock().expect("locked");
    assert_eq!(service.search(3), (3, 3), "without its turn");
    turn.unlock().expect("unlocked");
    assert_eq!(service.search(1), (1, 1));
    assert!(service.stop().success());
    let mut log = String::new();
    reader.read_to_string(&mut log).expect("a log");
    let lines = json_lines(&log);
    let of = |level: &str| -> Vec<String> {
        let lines = lines.iter().filter(|line| line["level"] == level);
        let about = lines.filter(|line| line.to_string().contains("state.db-turn"));
        about.map(ToString::to_string).collect()
    };
    // Once for the thread that charges, and once where another write falls into these seconds.
    assert!((1..=2).contains(&of("WARN").len()), "{log}");
    assert!(of("WARN")[0].contains("another process holds it"), "{log}");
    assert_eq!(of("INFO").len(), 1, "and when it is well again: {log}");
}
