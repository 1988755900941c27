//! What happens when something takes too long or too much: bounds of time, of queues, of memory.

use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};
use signaldex_server::{Limits, ServerLimits};

use crate::client::{self, Response, read_to_end};
use crate::fixture::{Fixture, Settings};

/// Holds the one lock that charges need, until it is dropped.
pub(crate) fn hold_charges(fixture: &Fixture) -> Connection {
    let blocker = Connection::open(fixture.state_path()).expect("the state");
    blocker
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the only writer");
    blocker
}

/// Asks on a connection and a thread of its own.
pub(crate) fn ask_aside(
    fixture: &Fixture,
    headers: &[(&'static str, &str)],
) -> impl FnOnce() -> Response + Send + use<> {
    let address = fixture.address;
    let authorization = format!("Bearer {}", fixture.key.as_str());
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

pub(crate) fn with_limits(limits: Limits) -> Fixture {
    Fixture::with(Settings {
        limits,
        ..Settings::default()
    })
}

/// The answer to a request whose name another request holds that waits for its charge.
pub(crate) fn request_in_progress() -> Response {
    let fixture = Fixture::start();
    let name = ("idempotency-key", "golden-4712");
    let blocker = hold_charges(&fixture);
    let answers = ask_at_once(&fixture, 2, &[name]);
    // Whichever is read first holds the name and waits for its charge, so the other is answered first.
    let second = answers.recv().expect("an answer");
    drop(blocker);
    fixture.note(answers.recv().expect("an answer").charged());
    second
}

/// Asks on connections of their own; the answers come in the order in which they are given.
fn ask_at_once(
    fixture: &Fixture,
    requests: usize,
    headers: &[(&'static str, &str)],
) -> mpsc::Receiver<Response> {
    let (tell, told) = mpsc::channel();
    for _ in 0..requests {
        let (tell, ask) = (tell.clone(), ask_aside(fixture, headers));
        // The test may have seen enough.
        std::thread::spawn(move || tell.send(ask()).is_ok());
    }
    told
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
    let fixture = Fixture::with(Settings {
        index: Some(Index::open(&path).expect("records are checked as they are read")),
        ..Settings::default()
    });
    fixture.search("")
}

#[test]
fn charges_over_the_bound_of_the_queue_are_refused_at_once() {
    let fixture = with_limits(Limits {
        charge_queue: 2,
        ..Limits::default()
    });
    let blocker = hold_charges(&fixture);
    let told = ask_at_once(&fixture, 8, &[]);
    // Nothing is charged yet, so the first answer is a refusal.
    let first = told.recv().expect("an answer");
    drop(blocker);
    let answers: Vec<Response> = std::iter::once(first).chain(told).collect();
    let refused: Vec<&Response> = answers.iter().filter(|a| a.status == 503).collect();
    // The writer holds one batch and the queue two charges; what a batch takes is not bounded here.
    assert!(!refused.is_empty() && refused.len() < answers.len());
    for answer in refused {
        let detail = answer.json()["detail"].to_string();
        assert!(detail.contains("Too many charges"), "{detail}");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    fixture.note(answers.iter().map(Response::charged).sum());
}

#[test]
fn a_client_that_does_not_read_is_left() {
    const REQUESTS: usize = 500;
    let server = ServerLimits {
        min_send_rate: 1 << 20,
        send_window: Duration::from_millis(400),
        header_time: Duration::from_secs(20),
        ..ServerLimits::default()
    };
    let fixture = Fixture::with(Settings {
        server,
        ..Settings::default()
    });
    let mut socket = client::connect(fixture.address);
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
        started.elapsed() < Duration::from_secs(60),
        "the connection ended by itself"
    );
}

#[test]
fn expensive_queries_are_answered_as_cheap_ones_are() {
    let fixture = |cheap_query_cost| {
        Fixture::with(Settings {
            limits: Limits {
                cheap_query_cost,
                ..Limits::default()
            },
            ..Settings::default()
        })
    };
    let (cheap, expensive) = (fixture(u64::MAX), fixture(0));
    for target in [
        "signals?q=raises&limit=7",
        "signals?q=raises&countOnly=true",
        "signals?any=%22series+a+funding%22+raises&limit=3&page=2",
        "signals?country=Germany&days=90",
        "signals?q=nothing+of+the+kind",
        "filter-options?q=raises&country=Germany",
        "aggregates?q=raises&by=month,countries&measures=companies,sum,p25",
        "aggregates?by=company&limit=3",
        "companies?has=(q=raises),(categories=hiring;min=2)&order=-latest&limit=3",
        "companies?hasNot=(q=raises)&countOnly=true&facets=countries,sizes",
    ] {
        let target = format!("/api/v1/{target}");
        let (one, other) = (cheap.get(&target), expensive.get(&target));
        assert_eq!(one.status, 200, "{target}");
        assert_eq!((one.status, one.charged()), (other.status, other.charged()));
        assert_eq!(one.json(), other.json(), "{target}");
    }
}
