//! What `serve` checks before it does anything, and where it listens.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use crate::client;
use crate::program::{launch_with_admin, program};

#[test]
fn an_index_that_is_not_there_is_refused_before_anything_is_opened_or_created() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let damaged = directory.path().join("damaged");
    std::fs::create_dir(&damaged).expect("a folder");
    std::fs::write(damaged.join("manifest"), "no manifest").expect("a writable file");
    for index in ["missing", "damaged"] {
        let output = program()
            .args([
                "serve",
                index,
                "--addr",
                "127.0.0.1:0",
                "--admin-addr",
                "127.0.0.1:0",
            ])
            .arg("--state")
            .arg(&state)
            .current_dir(directory.path())
            .output()
            .expect("the program runs");
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(
            message.contains(index) && !message.contains("listening"),
            "{message}"
        );
        assert!(output.stdout.is_empty());
        let left = std::fs::read_dir(directory.path())
            .expect("a folder")
            .count();
        assert_eq!(left, 1, "only the damaged index is there");
    }
}

/// Serves the sample with these addresses, and returns the lines of the start.
fn lines_of_start(state: &Path, addr: &str, admin_addr: &str) -> Vec<String> {
    let mut command = program();
    command.args([
        "serve",
        "--addr",
        addr,
        "--admin-addr",
        admin_addr,
        "--log",
        "off",
    ]);
    command.arg("--state").arg(state);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut service = command.spawn().expect("the service starts");
    // The token is printed after all warnings.
    let output = BufReader::new(service.stdout.take().expect("a pipe"));
    let token = output
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with("Admin token"));
    assert!(token.is_some());
    service.kill().expect("killed");
    let output = service.wait_with_output().expect("an exit");
    let text = String::from_utf8(output.stderr).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_name_and_a_port_alone_are_addresses() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let mut command = program();
    command.args(["serve", "--addr", "localhost:0", "--admin-addr", ":0"]);
    command.arg("--state").arg(&state);
    let (mut service, [address, admin], _errors) = launch_with_admin(command);
    assert!(address.ip().is_loopback() && admin.ip().is_loopback());
    let answer = client::request(address, "GET", "/readyz", &[]);
    service.kill().expect("killed");
    service.wait().expect("gone");
    assert_eq!(answer.status, 200);
    for wrong in ["8080", "localhost", "::1:8080", "http://localhost:80"] {
        let output = program()
            .args(["serve", "--addr", wrong])
            .output()
            .expect("the program runs");
        let message = String::from_utf8(output.stderr).expect("text");
        assert!(
            output.status.code() == Some(2) && message.contains("localhost:8080"),
            "{message}"
        );
    }
}

#[test]
fn an_admin_address_that_others_reach_gets_a_warning() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let warnings = |admin_addr| {
        let lines = lines_of_start(&state, "127.0.0.1:0", admin_addr);
        let warnings = lines
            .iter()
            .filter(|line| line.contains("warning: the dashboard"));
        warnings.count()
    };
    assert_eq!(warnings("0.0.0.0:0"), 1);
    assert_eq!(warnings("127.0.0.1:0"), 0);
    assert_eq!(warnings("[::1]:0"), 0);
}
