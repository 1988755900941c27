//! What happens when something takes too long or too much: bounds of time, of queues, of memory.

use std::io::Write;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use signaldex::http::{Limits, ServerLimits};
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};

use crate::client::{self, Response, read_to_end};
use crate::rig::{Rig, Settings};

/// Holds the one lock that charges need, until it is dropped.
pub(crate) fn hold_charges(rig: &Rig) -> Connection {
    let blocker = Connection::open(rig.state_path()).expect("the state");
    blocker
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the only writer");
    blocker
}

/// Asks on a connection and a thread of its own.
pub(crate) fn ask_aside(
    rig: &Rig,
    headers: &[(&'static str, &str)],
) -> impl FnOnce() -> Response + Send + use<> {
    let address = rig.address;
    let authorization = format!("Bearer {}", rig.key.as_str());
    let headers: Vec<(&str, String)> = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .chain([("authorization", authorization)])
        .collect();
    move || {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        client::request(address, "GET", "/api/v1/signals?limit=3", &headers)
    }
}

pub(crate) fn with_limits(limits: Limits) -> Rig {
    Rig::with(Settings {
        limits,
        ..Settings::default()
    })
}

/// The answer to a request whose name another request holds that waits for its charge.
pub(crate) fn request_in_progress() -> Response {
    let rig = Rig::start();
    let name = ("idempotency-key", "golden-4712");
    let blocker = hold_charges(&rig);
    let first = std::thread::spawn(ask_aside(&rig, &[name]));
    let started = Instant::now();
    // The first request holds the name from the moment it is read.
    let second = loop {
        let probe = ask_aside(&rig, &[name]);
        std::thread::sleep(Duration::from_millis(20));
        let answer = probe();
        if answer.status == 409 || started.elapsed() > Duration::from_secs(3) {
            break answer;
        }
    };
    drop(blocker);
    rig.note(first.join().expect("an answer").charged());
    second
}

/// The answer to a request for a record that has been damaged on the disk.
pub(crate) fn damaged_record() -> Response {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("index");
    let mut builder = IndexBuilder::in_directory(&path).expect("a directory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a company");
    let evidence = "evidence that is nowhere but in the record";
    let mut signal = Signal::new(SignalId::MIN, "acme", "Acme raises");
    signal.evidence = Some(evidence.into());
    builder.add_signal(&signal).expect("a signal");
    builder.finish().expect("an index");
    let file = std::fs::read_dir(&path)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("segment"))
        .expect("a segment");
    let mut bytes = std::fs::read(&file).expect("a segment");
    let place = bytes
        .windows(evidence.len())
        .position(|window| window == evidence.as_bytes())
        .expect("the evidence");
    bytes[place] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let rig = Rig::with(Settings {
        index: Some(Index::open(&path).expect("records are checked as they are read")),
        ..Settings::default()
    });
    rig.search("")
}

#[test]
fn charges_over_the_bound_of_the_queue_are_refused_at_once() {
    let rig = with_limits(Limits {
        charge_queue: 2,
        ..Limits::default()
    });
    let blocker = hold_charges(&rig);
    let waiting: Vec<_> = (0..8)
        .map(|_| std::thread::spawn(ask_aside(&rig, &[])))
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    drop(blocker);
    let answers: Vec<Response> = waiting
        .into_iter()
        .map(|thread| thread.join().expect("an answer"))
        .collect();
    let refused: Vec<&Response> = answers.iter().filter(|a| a.status == 503).collect();
    // The writer holds one batch and the queue two charges; what a batch takes is not bounded here.
    assert!(!refused.is_empty() && refused.len() < answers.len());
    for answer in refused {
        let detail = answer.json()["detail"].to_string();
        assert!(detail.contains("Too many charges"), "{detail}");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    rig.note(answers.iter().map(Response::charged).sum());
}

#[test]
fn a_client_that_does_not_read_is_left() {
    const REQUESTS: usize = 500;
    let server = ServerLimits {
        write_time: Duration::from_millis(400),
        header_time: Duration::from_secs(20),
        ..ServerLimits::default()
    };
    let rig = Rig::with(Settings {
        server,
        ..Settings::default()
    });
    let mut socket = client::connect(rig.address);
    // Answers of 47 MB: more than the buffers of both sides of a socket hold.
    let request = "GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n".repeat(REQUESTS);
    socket.write_all(request.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_secs(2));
    let started = Instant::now();
    let answers = read_to_end(&mut socket);
    let count = answers
        .windows(9)
        .filter(|window| *window == b"HTTP/1.1 ")
        .count();
    assert!(count < REQUESTS, "all {count} answers came");
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "the connection ended by itself"
    );
}

/// The most memory that a process has had resident, in bytes.
#[cfg(all(target_os = "linux", feature = "cli"))]
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a figure");
    let kilobytes: u64 = line
        .trim_end_matches("kB")
        .trim()
        .parse()
        .expect("a number");
    kilobytes * 1024
}

/// Headers without end, on as many connections as are let in, again and again. Each may hold 128
/// KiB; while its buffer doubles and in what the allocator keeps for the next there are as many
/// again, and what one wave has left has to do for the next.
#[test]
#[cfg(all(target_os = "linux", feature = "cli"))]
fn memory_stays_within_its_bound_under_headers_without_end() {
    const CONNECTIONS: usize = 128;
    const WAVES: usize = 4;
    const BYTES_A_CONNECTION: u64 = 512 * 1024;
    let directory = tempfile::tempdir().expect("a directory");
    let limits = ["--max-connections", "128"];
    let (mut service, address, _errors) =
        crate::program::serve(&directory.path().join("state.db"), &limits);
    // The code that a flood runs through is mapped memory as well, but not the connections'.
    flood(address);
    let before = peak_memory(service.id());
    for _ in 0..WAVES {
        let flooding: Vec<_> = (0..CONNECTIONS)
            .map(|_| std::thread::spawn(move || flood(address)))
            .collect();
        for thread in flooding {
            thread.join().expect("a flood ends");
        }
    }
    let used = peak_memory(service.id()) - before;
    service.kill().expect("a process");
    service.wait().expect("a process");
    let bound = CONNECTIONS as u64 * BYTES_A_CONNECTION;
    assert!(used <= bound, "{used} bytes, {bound} are allowed");
}

/// Sends a megabyte of one header, or as much as is taken.
#[cfg(all(target_os = "linux", feature = "cli"))]
fn flood(address: std::net::SocketAddr) {
    let mut socket = client::connect(address);
    let _ = socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: ");
    for _ in 0..256 {
        if socket.write_all(&[b'a'; 4096]).is_err() {
            return;
        }
    }
    read_to_end(&mut socket);
}
