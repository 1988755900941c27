//! The example that sends alerts: whatever its endpoint does, each event arrives, under one id.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use signaldex::{Company, Filter, Index, SavedSearches, Signal, SignalId};

use crate::random::Random;

#[path = "../../examples/alerts.rs"]
#[allow(dead_code)]
mod example;

/// Signals of a commit; more than are delivered before a position is stored.
const COMMIT: u64 = 150;

/// What an endpoint took in: the bodies under each `webhook-id`.
type Received = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// Reads a request; its headers by name, and its body.
fn read(socket: &TcpStream) -> (BTreeMap<String, String>, String) {
    let mut reader = BufReader::new(socket);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.trim_end().split_once(": ") {
            headers.insert(name.to_lowercase(), value.to_owned());
        }
    }
    let length = headers["content-length"].parse().expect("a length");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (headers, String::from_utf8(body).expect("UTF-8"))
}

/// An endpoint that refuses one event in a hundred, loses it, or takes it in without saying so.
fn receive(listener: &TcpListener, secret: &[u8], received: &Received) {
    let mut random = Random::new(27);
    for socket in listener.incoming() {
        let mut socket = socket.expect("a connection");
        let fate = random.below(1000);
        if fate < 3 {
            continue;
        }
        let (headers, body) = read(&socket);
        let (id, timestamp) = (&headers["webhook-id"], &headers["webhook-timestamp"]);
        let timestamp = timestamp.parse().expect("seconds");
        let signature = example::signature(secret, id, timestamp, body.as_bytes());
        assert_eq!(headers["webhook-signature"], signature);
        if fate >= 6 {
            let mut received = received.lock().expect("no panic");
            received.entry(id.clone()).or_default().push(body);
        }
        let status = match fate {
            3..6 => "500 Internal Server Error",
            6..10 => continue,
            _ => "204 No Content",
        };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        // A client that has gone sends the event again.
        let _ = socket.write_all(answer.as_bytes());
    }
}

#[test]
fn every_event_arrives_under_one_id_whatever_fails() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let mut endpoint = example::Endpoint::new(&url, "whsec_c2VjcmV0").expect("a secret");
    // Each failure is the end of the host, which then starts again.
    endpoint.attempts_max = 1;
    let (received, secret) = (Received::default(), endpoint.secret.clone());
    let endpoint_has = Arc::clone(&received);
    thread::spawn(move || receive(&listener, &secret, &endpoint_has));

    let folder = tempfile::tempdir().expect("a folder");
    let mut searches = SavedSearches::new();
    for (name, query) in [
        ("jobs", "q=hires"),
        ("everything", ""),
        ("moves", "q=moves"),
    ] {
        searches.insert(name, Filter::from_query_string(query).expect("valid"));
    }
    let alerts = example::Alerts {
        searches,
        endpoint,
        position_file: folder.path().join("position"),
    };
    let index = Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("nobody else writes");
    let acme = Company::new("acme", "Acme");
    writer.upsert_company(&acme).expect("a slug");
    let (mut expected, mut failures) = (BTreeSet::new(), 0);
    for commit in 0..3 {
        for number in 0..COMMIT {
            let id = SignalId::new(number * (commit + 1) + 1).expect("an id");
            let (search, title) = match number % 2 {
                0 => ("jobs", format!("Acme hires {commit}")),
                _ => ("moves", format!("Acme moves {commit}")),
            };
            let signal = Signal::new(id, "acme", &*title);
            writer.upsert_signal(&signal).expect("a known company");
            for search in [search, "everything"] {
                expected.insert((search.to_owned(), id.to_string(), title.clone()));
            }
        }
        writer.commit().expect("committed");
        while let Err(error) = alerts.deliver(&index.snapshot()) {
            failures += 1;
            assert!(failures < 1000, "{error}");
        }
    }
    assert_eq!(
        alerts.deliver(&index.snapshot()).expect("nothing to send"),
        0
    );

    let received = received.lock().expect("no panic");
    let mut events = BTreeSet::new();
    for (id, bodies) in received.iter() {
        assert!(
            bodies.iter().all(|body| *body == bodies[0]),
            "{id} is one event"
        );
        let event: Value = serde_json::from_str(&bodies[0]).expect("JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let data = &event["data"];
        let signal = &data["signal"];
        let seen = (
            text(&data["search"]),
            text(&signal["id"]),
            text(&signal["title"]),
        );
        assert!(events.insert(seen.clone()), "{seen:?} has one id");
    }
    assert_eq!(events, expected);
    assert!(failures > 20, "{failures}");
}
