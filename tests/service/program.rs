//! The commands `serve`, `keys` and `usage`, as a person or a supervisor runs them.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::client;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
}

fn run(state: &Path, arguments: &[&str]) -> Output {
    program()
        .args(arguments)
        .arg("--state")
        .arg(state)
        .output()
        .expect("the program runs")
}

fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Starts a service over the sample corpus and waits until it listens.
pub(crate) fn serve(
    state: &Path,
    limits: &[&str],
) -> (Child, SocketAddr, BufReader<std::process::ChildStderr>) {
    let mut service = program()
        .args([
            "serve",
            "--addr",
            "127.0.0.1:0",
            "--metrics-addr",
            "127.0.0.1:0",
            "--state",
        ])
        .arg(state)
        .args(limits)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the service starts");
    let mut errors = BufReader::new(service.stderr.take().expect("standard error"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    let address = line
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split(',').next())
        .expect("an address");
    (service, address.parse().expect("an address"), errors)
}

#[test]
fn keys_are_made_listed_and_revoked_while_the_service_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut service, address, mut errors) = serve(&state, &[]);

    let made = json(&run(
        &state,
        &["keys", "create", "--name", "mine", "--quota-signals", "100"],
    ));
    let (id, key) = (
        made["id"].as_str().expect("an id"),
        made["key"].as_str().expect("a key"),
    );
    let bearer = format!("Bearer {key}");
    let ask = || {
        client::request(
            address,
            "GET",
            "/api/v1/signals?limit=2",
            &[("authorization", &bearer)],
        )
    };
    let answer = ask();
    assert_eq!(
        (answer.status, answer.header("x-usage-remaining")),
        (200, Some("98"))
    );

    let listed = json(&run(&state, &["keys", "list"]));
    assert!(
        listed
            .as_array()
            .expect("a list")
            .iter()
            .any(|line| line["id"] == id && line["name"] == "mine")
    );
    assert!(!listed.to_string().contains(key));
    let usage = json(&run(&state, &["usage"]));
    let line = &usage.as_array().expect("a list")[0];
    assert_eq!(
        (
            line["keyId"].as_str(),
            line["name"].as_str(),
            line["signals"].as_u64()
        ),
        (Some(id), Some("mine"), Some(2))
    );
    assert_eq!(
        json(&run(&state, &["usage", "--month", "2001-01"])),
        Value::Array(Vec::new())
    );
    assert!(run(&state, &["keys", "revoke", id]).status.success());
    assert_eq!(run(&state, &["keys", "revoke", id]).status.code(), Some(1));
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(ask().status, 401);

    let stop = Command::new("kill")
        .args(["-TERM", &service.id().to_string()])
        .status();
    assert!(stop.expect("kill").success());
    assert_eq!(service.wait().expect("an exit status").code(), Some(0));
    let mut logs = String::new();
    errors.read_to_string(&mut logs).expect("logs");
    assert!(logs.contains(answer.header("x-request-id").expect("an id")));
    assert!(!logs.contains("sdx_"), "no key in the logs");
}

#[test]
fn without_a_directory_a_line_to_paste_is_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut service, address, _errors) = serve(&directory.path().join("state.db"), &[]);
    let lines = BufReader::new(service.stdout.take().expect("standard output")).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("curl "))
        .expect("a curl line");
    let key = line
        .split("Bearer ")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a key");
    let target = line
        .split(&address.to_string())
        .nth(1)
        .expect("a target")
        .trim_end_matches('\'');
    let answer = client::request(
        address,
        "GET",
        target,
        &[("authorization", &format!("Bearer {key}"))],
    );
    assert_eq!((answer.status, answer.items().len()), (200, 3));
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut service, address, _errors) = serve(&directory.path().join("state.db"), &[]);
    let address = address.to_string();
    let second = run(
        &directory.path().join("other.db"),
        &["serve", "--addr", &address],
    );
    let said = String::from_utf8(second.stderr).expect("text");
    assert_eq!(second.status.code(), Some(1));
    assert!(said.contains(&address) && said.contains("--addr"), "{said}");
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn wrong_settings_of_a_key_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    for arguments in [
        ["--scopes", "signals:write"],
        ["--rate", "0"],
        ["--burst", "0"],
        ["--expires", "2026-02-30"],
        ["--quota-signals", "-1"],
    ] {
        let output = run(&state, &["keys", "create", arguments[0], arguments[1]]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn every_stop_signal_ends_the_service_gracefully() {
    for name in ["-TERM", "-INT", "-HUP"] {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut service, _, _errors) = serve(&directory.path().join("state.db"), &[]);
        let stop = Command::new("kill")
            .args([name, &service.id().to_string()])
            .status();
        assert!(stop.expect("kill").success());
        let status = service.wait().expect("an exit status");
        assert_eq!(status.code(), Some(0), "{name}");
    }
}
