//! A clock that jumps while the service runs, by days in both directions.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::client::{self, Response};

/// Where Debian's package `faketime` puts the library that shifts the clock of a program.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

struct Shifted {
    service: Child,
    address: SocketAddr,
    directory: tempfile::TempDir,
    key: String,
}

impl Shifted {
    fn start() -> Shifted {
        assert!(Path::new(LIBRARY).exists(), "{LIBRARY} is not installed");
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("shift"), "+0\n").expect("written");
        let state = directory.path().join("state.db");
        let create = ["keys", "create", "--name", "mine", "--state"];
        let made = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(create)
            .arg(&state)
            .output()
            .expect("the program runs");
        let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
        let mut service = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(["serve", "@sample", "--log", "off", "--addr", "127.0.0.1:0"])
            .args(["--admin-addr", "127.0.0.1:0", "--state"])
            .arg(&state)
            .env("LD_PRELOAD", LIBRARY)
            .env("FAKETIME_TIMESTAMP_FILE", directory.path().join("shift"))
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let mut line = String::new();
        let errors = service.stderr.as_mut().expect("standard error");
        BufReader::new(errors).read_line(&mut line).expect("a line");
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split([',', '/']).next())
            .expect("an address");
        Shifted {
            address: address.parse().expect("an address"),
            service,
            directory,
            key: format!("Bearer {}", made["key"].as_str().expect("a key")),
        }
    }

    fn set(&self, shift: &str) {
        fs::write(self.directory.path().join("shift"), format!("{shift}\n")).expect("written");
        // The service looks at the month and the keys four times a second.
        std::thread::sleep(Duration::from_millis(1500));
    }

    fn ask(&self, name: &str) -> Response {
        let headers = [
            ("authorization", self.key.as_str()),
            ("idempotency-key", name),
        ];
        let answer = client::request(self.address, "GET", "/api/v1/signals?limit=3", &headers);
        assert_eq!(
            answer.status,
            200,
            "{:?}",
            String::from_utf8_lossy(&answer.body)
        );
        answer
    }

    fn units(&self) -> u64 {
        let usage = Command::new(env!("CARGO_BIN_EXE_signaldex"))
            .args(["usage", "--state"])
            .arg(self.directory.path().join("state.db"))
            .output()
            .expect("the program runs");
        let usage: Value = serde_json::from_slice(&usage.stdout).expect("JSON");
        let lines = usage.as_array().expect("a list").iter();
        lines
            .map(|line| line["signals"].as_u64().expect("a number"))
            .sum()
    }
}

impl Drop for Shifted {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

#[test]
#[ignore = "needs Debian's faketime"]
fn a_clock_that_jumps_loses_no_charge_and_makes_none_twice() {
    let shifted = Shifted::start();
    assert_eq!(shifted.ask("first-request").charged(), 3);
    assert_eq!(shifted.ask("first-request").charged(), 0, "a repetition");

    // A day and two hours on, what was kept has expired, so the same name is a new request.
    shifted.set("+26h");
    assert_eq!(shifted.ask("first-request").charged(), 3);
    assert_eq!(shifted.ask("later-request").charged(), 3);

    // Set back, answers kept "in the future" are still repeated.
    shifted.set("-40d");
    assert_eq!(shifted.ask("later-request").charged(), 0);
    assert_eq!(shifted.ask("early-request").charged(), 3);
    assert_eq!(shifted.ask("early-request").charged(), 0);
    let ready = client::request(shifted.address, "GET", "/readyz", &[]);
    assert_eq!(ready.status, 200);

    // The usage of both months is there.
    shifted.set("+0");
    assert_eq!(shifted.units(), 12);
}
