//! Answers that clients have not read: beyond the bound further ones are refused before they are charged.

use std::net::TcpStream;
use std::time::{Duration, Instant};
use std::{io::Write, thread};

use serde_json::json;
use signaldex_server::Limits;

use crate::client;
use crate::fixture::{Fixture, Settings};
use crate::large_signals::index_of;
use crate::mcp::content;

const SIGNALS: usize = 20;

fn service(unsent_bytes: u64) -> Fixture {
    Fixture::with(Settings {
        index: Some(index_of(&[1_000_000; SIGNALS])),
        limits: Limits {
            unsent_bytes,
            ..Limits::default()
        },
        ..Settings::default()
    })
}

/// Asks on a connection of its own and reads only that the answer has begun.
fn ask_and_leave(fixture: &Fixture, target: &str) -> TcpStream {
    let mut socket = client::connect(fixture.address);
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let headers = [("authorization", authorization.as_str())];
    let text = client::text_of(fixture.address, "GET", target, &headers);
    socket.write_all(&text).expect("sent");
    socket.peek(&mut [0]).expect("the first byte");
    socket
}

#[test]
fn answers_over_the_bound_are_told_to_come_back_and_charged_nothing() {
    // Room for two pages of eight megabytes, and for little more.
    let fixture = service(17 << 20);
    let name = [("idempotency-key", "unsent-4711")];
    let kept = "/api/v1/signals?limit=3&q=acme";
    assert_eq!(fixture.send("GET", kept, &name).charged(), 3);
    let page = "/api/v1/signals?limit=50";
    let unread = [ask_and_leave(&fixture, page), ask_and_leave(&fixture, page)];
    fixture.note(16);
    for (target, headers) in [
        (page, &[][..]),
        ("/api/v1/signals?limit=2", &[]),
        ("/api/v1/changes?since=start", &[]),
        ("/api/v1/export", &[]),
        (kept, &name),
    ] {
        let answer = fixture.send("GET", target, headers);
        assert_eq!(answer.status, 503, "{target}");
        assert_eq!(answer.json()["code"], "overloaded");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    // What is small is answered.
    for target in [
        "/healthz",
        "/api/v1/signals?countOnly=true",
        "/api/v1/filter-options",
    ] {
        assert_eq!(fixture.get(target).status, 200, "{target}");
    }
    let found = content(&fixture.call("search", json!({"limit": 5})));
    assert_eq!(found["usage"]["charged"], 5);
    let head = fixture.send("HEAD", page, &[]);
    assert_eq!(head.status, 200);

    drop(unread);
    let started = Instant::now();
    while fixture.search("limit=8").status != 200 {
        assert!(
            started.elapsed() < client::WAIT_MAX,
            "room is not given back"
        );
        thread::sleep(Duration::from_millis(20));
    }
    let repeated = fixture.send("GET", kept, &name);
    assert_eq!((repeated.status, repeated.charged()), (200, 0));
}

/// The only answer is given, however small the bound is: otherwise no client could ever have it.
#[test]
fn an_answer_above_the_bound_is_given_alone() {
    let fixture = Fixture::with(Settings {
        index: Some(index_of(&[1_000_000; 2])),
        limits: Limits {
            unsent_bytes: 1,
            ..Limits::default()
        },
        ..Settings::default()
    });
    assert_eq!(fixture.search("limit=2").charged(), 2);
    let export = fixture.get("/api/v1/export");
    assert!(export.is_whole);
    fixture.note(2);
}

/// An export under way waits until its client has read enough, and then goes on.
#[test]
fn an_export_under_way_waits_for_room() {
    // A slice has two records of a megabyte.
    let fixture = service(3 << 20);
    let mut export = ask_and_leave(&fixture, "/api/v1/export");
    thread::sleep(Duration::from_millis(500));
    let answer = client::parse(&client::read_to_end(&mut export));
    assert!(answer.is_whole);
    let lines = answer.body.iter().filter(|&&byte| byte == b'\n');
    assert_eq!(lines.count(), SIGNALS);
    fixture.note(SIGNALS as u64);
}
