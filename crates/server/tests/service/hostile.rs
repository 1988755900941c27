//! Bytes that no client should send: a 4xx or a close, and one answer a request.

use std::io::Write;
use std::time::{Duration, Instant};

use signaldex_server::ServerLimits;

use crate::client::{self, parse, raw, read_to_end};
use crate::fixture::{Fixture, Settings};

/// A request after which the server closes the connection.
const CLOSING: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

fn answers(bytes: &[u8]) -> usize {
    bytes
        .windows(9)
        .filter(|window| *window == b"HTTP/1.1 ")
        .count()
}

/// Sends bytes and checks that at most one answer comes, and that it is a 4xx.
fn assert_refused(fixture: &Fixture, what: &str, bytes: &[u8]) {
    let answer = raw(fixture.address, bytes);
    assert!(
        answers(&answer) <= 1,
        "{what}: {}",
        String::from_utf8_lossy(&answer)
    );
    if !answer.is_empty() {
        let status = parse(&answer).status;
        assert!((400..500).contains(&status), "{what}: {status}");
    }
}

#[test]
fn doubtful_requests_are_refused() {
    let fixture = Fixture::start();
    let many: String = (0..101)
        .map(|number| format!("x-{number}: 1\r\n"))
        .collect();
    let large = format!("x: {}\r\n", "a".repeat(1 << 20));
    let cases = [
        ("no host", "GET /healthz HTTP/1.1\r\n\r\n".to_owned()),
        ("two hosts", "GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n".to_owned()),
        ("a host that is none", "GET /healthz HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n".to_owned()),
        ("two lengths", "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab".to_owned()),
        ("two equal lengths", "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na".to_owned()),
        ("length and chunks", "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned()),
        ("chunks and length", "GET /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n".to_owned()),
        ("a folded header", "GET /healthz HTTP/1.1\r\nhost: a\r\nx: b\r\n c\r\nconnection: close\r\n\r\n".to_owned()),
        ("101 headers", format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{many}\r\n")),
        ("a header of 1 MB", format!("GET /healthz HTTP/1.1\r\nhost: a\r\n{large}\r\n")),
        ("no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n".to_owned()),
        ("a body", "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc".to_owned()),
    ];
    for (what, bytes) in cases {
        assert_refused(&fixture, what, bytes.as_bytes());
    }
}

#[test]
fn a_body_is_not_taken_for_the_next_request() {
    let fixture = Fixture::start();
    let hidden = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    let bytes = format!(
        "GET /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{hidden}",
        hidden.len()
    );
    assert_refused(&fixture, "a request within a body", bytes.as_bytes());
}

#[test]
fn pipelined_requests_are_answered_once_each() {
    let fixture = Fixture::start();
    let one = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let answer = raw(fixture.address, format!("{one}{one}{last}").as_bytes());
    assert_eq!(answers(&answer), 3);
}

#[test]
fn unfinished_headers_and_idle_connections_are_closed_in_time() {
    let fixture = Fixture::start();
    for start in [
        "",
        "GET /healthz HTTP/1.1\r\nhost: a\r\n",
        "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n",
    ] {
        let mut socket = client::connect(fixture.address);
        socket.write_all(start.as_bytes()).expect("sent");
        let started = Instant::now();
        let answer = read_to_end(&mut socket);
        let waited = started.elapsed();
        assert!(answers(&answer) <= 1, "{start}");
        assert!(
            waited > Duration::from_millis(500) && waited < client::WAIT_MAX,
            "{start}: {waited:?}"
        );
    }
}

#[test]
fn uris_are_bounded() {
    let fixture = Fixture::start();
    let long = |length: usize| {
        let start = "/api/v1/signals?limit=1&q=a";
        format!("{start}{}", "&".repeat(length - start.len()))
    };
    assert_eq!(fixture.get(&long(9_000)).status, 200, "9 KB have to work");
    assert_eq!(fixture.get(&long(64_000)).status, 200);
    for length in [64_001, 65_534, 65_535, 70_000, 500_000] {
        let answer = fixture.get(&long(length));
        assert_eq!(answer.status, 414, "{length}");
        let problem: serde_json::Value = serde_json::from_slice(&answer.body).expect("a problem");
        assert_eq!(problem["code"], "invalid_request", "{length}");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains("64000"), "{detail}");
    }
    assert_eq!(fixture.get("/api/v1/signals?limit=1").status, 200);
}

#[test]
fn connections_over_the_bound_are_told_to_come_back() {
    let server = ServerLimits {
        connections: 2,
        header_time: Duration::from_secs(5),
        ..ServerLimits::default()
    };
    let fixture = Fixture::with(Settings {
        server,
        ..Settings::default()
    });
    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut socket = client::connect(fixture.address);
            socket
                .write_all(b"GET /healthz HTTP/1.1\r\n")
                .expect("sent");
            socket
        })
        .collect();
    // Connections are accepted in the order in which they were opened.
    let answer = parse(&raw(fixture.address, b""));
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    drop(held);
    let dropped = Instant::now();
    while parse(&raw(fixture.address, CLOSING)).status != 200 {
        let waited = dropped.elapsed();
        assert!(waited < client::WAIT_MAX, "connections are not given back");
    }
}

#[test]
fn requests_over_the_bound_are_told_to_come_back_and_charged_nothing() {
    let limits = signaldex_server::Limits {
        in_flight: 0,
        ..Default::default()
    };
    let fixture = Fixture::with(Settings {
        limits,
        ..Settings::default()
    });
    let answer = fixture.search("limit=1");
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("1"))
    );
    assert_eq!(answer.json()["code"], "overloaded");
    // A supervisor still sees that the process is well.
    for probe in ["/healthz", "/readyz"] {
        assert_eq!(fixture.get(probe).status, 200, "{probe}");
    }
}
