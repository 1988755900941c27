//! `publish` and `serve --follow` as an operator runs them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, build, change, titles};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
}

fn publish(directory: &Path, store: &Path, arguments: &[&str]) -> Command {
    let mut command = program();
    command
        .arg("publish")
        .arg(directory)
        .arg(store)
        .args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Serves on ports that are free.
const SERVE: [&str; 5] = [
    "serve",
    "--addr",
    "127.0.0.1:0",
    "--admin-addr",
    "127.0.0.1:0",
];

/// A service that is killed with the test.
struct Served {
    process: Child,
    address: String,
}

impl Served {
    fn start(fixture: &Fixture) -> Served {
        let mut process = program()
            .args(SERVE)
            .args(["--follow-interval", "0.05", "--log", "off", "--state"])
            .arg(fixture.path("state.db"))
            .arg("--cache")
            .arg(fixture.path("cache"))
            .arg("--follow")
            .arg(fixture.path("store"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let mut line = String::new();
        let errors = process.stderr.take().expect("standard error");
        BufReader::new(errors).read_line(&mut line).expect("a line");
        let address = line.split("http://").nth(1);
        let address = address.and_then(|rest| rest.split(',').next());
        Served {
            address: address.expect("an address").to_owned(),
            process,
        }
    }

    fn readiness(&self) -> Option<String> {
        let mut socket = TcpStream::connect(&self.address).ok()?;
        let request = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        socket.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
    }

    /// Waits until `/readyz` answers 200 with this in its body.
    fn await_readiness(&self, expected: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut last = None;
        while Instant::now() < deadline {
            last = self.readiness();
            if last.as_ref().is_some_and(|body| body.contains(expected)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{expected} never came; the last answer was {last:?}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn what_is_published_is_served_and_what_is_damaged_is_told_in_readyz() {
    let fixture = Fixture::new();
    let output = publish(&fixture.index(), &fixture.path("store"), &[]).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    let served = Served::start(&fixture);
    served.await_readiness("\"generation\":1,\"following\":{\"newest\":1,\"error\":null,");

    change(&fixture.index(), 1);
    fs::create_dir_all(fixture.path("aside")).expect("made");
    assert!(
        run(publish(&fixture.index(), &fixture.path("aside"), &[]))
            .status
            .success()
    );
    // The manifest without its objects, as no publisher would write it.
    let name = "manifests/00000000000000000002";
    fs::copy(
        fixture.path("aside").join(name),
        fixture.path("store").join(name),
    )
    .expect("copied");
    served.await_readiness("\"generation\":1,\"following\":{\"newest\":2,\"error\":\"objects/");
    let repair = publish(&fixture.index(), &fixture.path("store"), &["--repair"]);
    assert!(run(repair).status.success());
    served.await_readiness("\"generation\":2,\"following\":{\"newest\":2,\"error\":null,");
}

#[test]
fn of_eight_processes_one_publishes_and_seven_say_why_not() {
    let fixture = Fixture::new();
    let directories: Vec<_> = (0..8)
        .map(|number| fixture.path(&format!("index-{number}")))
        .collect();
    for (number, directory) in directories.iter().enumerate() {
        build(directory, &number.to_string());
    }
    for generation in 1..=5 {
        let generation = generation.to_string();
        let started = directories.iter().map(|directory| {
            let arguments = ["--generation", generation.as_str()];
            let mut command = publish(directory, &fixture.path("store"), &arguments);
            command.spawn().expect("the program runs")
        });
        let started: Vec<Child> = started.collect();
        let ended = started.into_iter().map(|child| child.wait_with_output());
        let ended: Vec<Output> = ended.map(|output| output.expect("an end")).collect();
        let codes: Vec<_> = ended.iter().map(|output| output.status.code()).collect();
        let winners = codes.iter().filter(|code| **code == Some(0)).count();
        let refused = codes.iter().filter(|code| **code == Some(1)).count();
        assert_eq!((winners, refused), (1, 7), "{codes:?}");
        for output in ended.iter().filter(|output| !output.status.success()) {
            let reason = String::from_utf8_lossy(&output.stderr);
            assert!(reason.contains("published with other content"), "{reason}");
        }
    }
}

/// Pauses of 0 to 60 ms: before, in the middle of and after what a publisher or a replica does.
fn pauses(seed: u64) -> impl Iterator<Item = Duration> {
    let step = move |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed),
        )
    };
    std::iter::successors(Some(seed), step).map(|state| Duration::from_millis((state >> 33) % 60))
}

#[test]
fn publishers_that_are_killed_leave_nothing_that_a_replica_could_misread() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let mut killed = 0;
    for (number, pause) in (1..=20).zip(pauses(7)) {
        change(&fixture.index(), number);
        let mut publisher = publish(&fixture.index(), &fixture.path("store"), &[])
            .spawn()
            .expect("the program runs");
        std::thread::sleep(pause);
        publisher.kill().expect("killed");
        killed += u32::from(!publisher.wait().expect("an end").success());
        let progress = fixture.sync(&mut replica);
        assert!(progress.error.is_none(), "{:?}", progress.error);
        if progress.changed {
            assert_eq!(titles(&replica.index().snapshot()), fixture.published());
        }
    }
    assert!(killed > 0, "no publisher was killed in time");
    fixture.publish();
    assert!(fixture.sync(&mut replica).error.is_none());
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
}

#[test]
fn replicas_that_are_killed_go_on_from_what_they_have() {
    let fixture = Fixture::new();
    fixture.publish();
    // The first start makes the state file, so that the later ones take as long as each other.
    Served::start(&fixture).await_readiness("\"error\":null");
    for (number, pause) in (1..=12).zip(pauses(11)) {
        change(&fixture.index(), number);
        fixture.publish();
        let mut served = Served::start(&fixture);
        // It listens first and then fetches.
        std::thread::sleep(pause / 3);
        served.process.kill().expect("killed");
        served.process.wait().expect("an end");
        let verified = program().arg("verify").arg(fixture.path("cache")).output();
        let verified = verified.expect("the program runs");
        assert!(verified.status.success(), "{verified:?}");
    }
    let generation = format!("\"newest\":{}", fixture.publish().generation);
    Served::start(&fixture).await_readiness(&generation);
    let copy = signaldex::Index::open(fixture.path("cache")).expect("the copy");
    assert_eq!(titles(&copy.snapshot()), fixture.published());
}

#[test]
fn wrong_usage_and_stores_that_are_none_are_refused() {
    let fixture = Fixture::new();
    let refused = run(publish(&fixture.index(), Path::new("ftp://host/path"), &[]));
    assert_eq!(refused.status.code(), Some(1));
    let reason = String::from_utf8_lossy(&refused.stderr);
    assert!(
        reason.contains("STORE-URL") && reason.contains("s3://bucket/path"),
        "{reason}"
    );
    let both = program()
        .args(["serve", "DIR", "--follow", "store"])
        .output()
        .expect("the program runs");
    assert_eq!(both.status.code(), Some(2));
    let empty = program()
        .args(SERVE)
        .arg("--follow")
        .arg(fixture.path("store"))
        .arg("--cache")
        .arg(fixture.path("cache"))
        .arg("--state")
        .arg(fixture.path("state.db"))
        .output()
        .expect("the program runs");
    assert_eq!(empty.status.code(), Some(1));
    let reason = String::from_utf8_lossy(&empty.stderr);
    assert!(reason.contains("nothing is published"), "{reason}");
}

fn run(mut command: Command) -> Output {
    command.output().expect("the program runs")
}
