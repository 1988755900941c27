//! `signaldex serve --sql-addr`: which options it takes, and where it listens.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::ended::{refused, run, text};

/// Standard error of a service that must not start.
fn refusal(folder: &Path, options: &[&str]) -> String {
    let state = folder.join("state.db");
    let state = state.to_str().expect("UTF-8");
    let common = [
        "--addr",
        "127.0.0.1:0",
        "--admin-addr",
        "127.0.0.1:0",
        "--state",
        state,
    ];
    refused(1, &[&["serve"], &common[..], options].concat())
}

#[test]
fn other_machines_need_a_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let message = refusal(folder.path(), &["--sql-addr", "0.0.0.0:0"]);
    for expected in ["--sql-cert", "--sql-key", "127.0.0.1"] {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn files_are_read_before_anything_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let message = refusal(
        folder.path(),
        &[
            "--sql-addr",
            ":0",
            "--sql-cert",
            "no.pem",
            "--sql-key",
            "no.key",
        ],
    );
    assert!(
        message.contains("no.pem: cannot read the file"),
        "{message}"
    );
    assert!(!folder.path().join("state.db").exists());
    for options in [
        &["--sql-addr", ":0", "--sql-cert", "a.pem"][..],
        &["--sql-addr", ":0", "--sql-key", "a.key"],
        &["--sql-cert", "a.pem", "--sql-key", "a.key"],
        &["--sql-addr", ":0", "--sql-queries", "0"],
        &["--sql-addr", ":0", "--sql-memory", "64"],
    ] {
        let output = run(&[&["serve"], options].concat());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{options:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn the_address_is_said_and_listened_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut service = Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args([
            "serve",
            "--addr",
            "127.0.0.1:0",
            "--admin-addr",
            "127.0.0.1:0",
        ])
        .args(["--sql-addr", ":0", "--state"])
        .arg(folder.path().join("state.db"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the service starts");
    let errors = BufReader::new(service.stderr.take().expect("standard error"));
    let line = errors.lines().map_while(Result::ok);
    let address = line
        .filter_map(|line| Some(line.split_once("SQL on grpc://")?.1.to_owned()))
        .next();
    let address = address.expect("the address of SQL");
    let end = address.find(|letter: char| !(letter.is_ascii_digit() || ".:".contains(letter)));
    let address = &address[..end.unwrap_or(address.len())];
    let connected = TcpStream::connect(address);
    service.kill().expect("killed");
    service.wait().expect("gone");
    connected.expect("SQL is listened on");
}
