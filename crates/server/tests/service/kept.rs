//! What is kept for `Idempotency-Key`s is bounded, per key and in all, and whatever exceeds a bound costs nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use signaldex::Index;
use signaldex_server::{Limits, NewKey};

use crate::changes::commit;
use crate::client::{self, Response};
use crate::export::{export, id_of, lines};
use crate::fixture::{Fixture, Settings};

const SEARCH: &str = "/api/v1/signals?limit=2";

fn bounded(bytes_per_key: u64, bytes: u64) -> Settings {
    Settings {
        limits: Limits {
            kept_bytes_per_key: bytes_per_key,
            kept_bytes: bytes,
            ..Limits::default()
        },
        ..Settings::default()
    }
}

fn named(fixture: &Fixture, target: &str, name: &str) -> Response {
    fixture.send("GET", target, &[("idempotency-key", name)])
}

/// What is counted of all keys.
fn kept(state: &Path) -> u64 {
    let connection = Connection::open(state).expect("the state");
    let sql = "SELECT coalesce(sum(bytes), 0) FROM kept_bytes WHERE key = 0";
    let bytes = connection.query_row(sql, [], |row| row.get(0));
    bytes.expect("a number")
}

/// The bytes that the answer to [`SEARCH`] takes under a name of ten characters.
fn bytes_of_search() -> u64 {
    let fixture = Fixture::start();
    assert_eq!(named(&fixture, SEARCH, "a-name-000").charged(), 2);
    let bytes = kept(&fixture.state_path());
    assert!((300..2000).contains(&bytes), "{bytes}");
    bytes
}

fn assert_refused(answer: &Response, status: u16) {
    assert_eq!(answer.status, status);
    let code = if status == 429 {
        "rate_limited"
    } else {
        "overloaded"
    };
    assert_eq!(answer.json()["code"], code);
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("without an Idempotency-Key"), "{detail}");
    let seconds = answer.header("retry-after").expect("a time");
    let seconds: u64 = seconds.parse().expect("seconds");
    let day = 24 * 60 * 60;
    assert!((day - 5..=day + 60 * 60).contains(&seconds), "{seconds}");
}

#[test]
fn a_key_keeps_as_much_as_it_may_and_then_only_names_are_refused() {
    let bytes = bytes_of_search();
    for (bound, second) in [(2 * bytes, 200), (2 * bytes - 1, 429)] {
        let fixture = Fixture::with(bounded(bound, u64::MAX));
        let first = named(&fixture, SEARCH, "a-name-001");
        assert_eq!((first.status, first.charged()), (200, 2));
        assert_eq!(named(&fixture, SEARCH, "a-name-002").status, second);
        // Where a few bytes are left, a smaller answer would fit.
        let targets = match second {
            200 => &[
                SEARCH,
                "/api/v1/changes?since=start&limit=2",
                "/api/v1/export?maxItems=2",
            ][..],
            _ => &[SEARCH],
        };
        for target in targets {
            assert_refused(&named(&fixture, target, "a-name-003"), 429);
        }
        assert!(kept(&fixture.state_path()) <= bound);
        let again = named(&fixture, SEARCH, "a-name-001");
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.body, first.body);
        assert_eq!(
            named(&fixture, "/api/v1/signals?limit=3", "a-name-001").status,
            422
        );
        assert_eq!(fixture.get(SEARCH).charged(), 2);
        let other = fixture.other_key(&NewKey::named("other"));
        let authorization = format!("Bearer {}", other.as_str());
        let headers = [
            ("authorization", &*authorization),
            ("idempotency-key", "a-name-001"),
        ];
        assert_eq!(fixture.send_as_is("GET", SEARCH, &headers).charged(), 2);
    }
}

#[test]
fn all_keys_together_keep_as_much_as_they_may() {
    let bytes = bytes_of_search();
    for (bound, second) in [(2 * bytes, 200), (2 * bytes - 1, 503)] {
        let fixture = Fixture::with(bounded(u64::MAX, bound));
        assert_eq!(named(&fixture, SEARCH, "a-name-001").charged(), 2);
        let other = fixture.other_key(&NewKey::named("other"));
        let authorization = format!("Bearer {}", other.as_str());
        let headers = [
            ("authorization", &*authorization),
            ("idempotency-key", "a-name-001"),
        ];
        let answer = fixture.send_as_is("GET", SEARCH, &headers);
        assert_eq!(answer.status, second);
        assert_refused(&named(&fixture, SEARCH, "a-name-003"), 503);
        assert_eq!(fixture.get(SEARCH).charged(), 2);
    }
}

#[test]
fn the_bounds_hold_over_restarts_and_processes() {
    let bytes = bytes_of_search();
    let settings = || bounded(2 * bytes, u64::MAX);
    let mut fixture = Fixture::with(settings());
    let other = fixture.start_other_with(settings());
    assert_eq!(named(&fixture, SEARCH, "a-name-001").charged(), 2);
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let there = |name| {
        let headers = [
            ("authorization", &*authorization),
            ("idempotency-key", name),
        ];
        client::request(other, "GET", SEARCH, &headers)
    };
    let second = there("a-name-002");
    assert_eq!((second.status, second.charged()), (200, 2));
    fixture.note(2);
    assert_refused(&there("a-name-003"), 429);
    assert_refused(&named(&fixture, SEARCH, "a-name-003"), 429);
    fixture.restart_with(settings());
    assert_eq!(kept(&fixture.state_path()), 2 * bytes);
    assert_refused(&named(&fixture, SEARCH, "a-name-003"), 429);
}

#[test]
fn what_expires_makes_room() {
    let bytes = bytes_of_search();
    let fixture = Fixture::with(bounded(2 * bytes, u64::MAX));
    for name in ["a-name-001", "a-name-002"] {
        assert_eq!(named(&fixture, SEARCH, name).charged(), 2);
    }
    assert_refused(&named(&fixture, SEARCH, "a-name-003"), 429);
    let connection = Connection::open(fixture.state_path()).expect("the state");
    let age = "UPDATE replays SET answered_at = answered_at - 25 * 60 * 60;
        UPDATE kept_bytes SET hour = hour - 25;";
    connection.execute_batch(age).expect("aged");
    drop(connection);
    let started = Instant::now();
    while kept(&fixture.state_path()) > 0 {
        assert!(started.elapsed() < client::WAIT_MAX, "nothing is removed");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(named(&fixture, SEARCH, "a-name-003").charged(), 2);
}

#[test]
fn an_export_pays_for_what_can_be_kept_and_no_more() {
    const SIGNALS: u64 = 2500;
    let name = [("idempotency-key", "export-4711")];
    let index = Index::in_memory().expect("memory");
    let signals = |ids: std::ops::RangeInclusive<u64>| ids.map(|id| (id, "Acme hires"));
    commit(&index, signals(1..=SIGNALS), &[]);
    // Two slices of 1,000: a byte for each id but the first, the name twice, the rest of the row.
    let settings = Settings {
        index: Some(index.clone()),
        ..bounded(2 * (999 + 22 + 160), u64::MAX)
    };
    let fixture = Fixture::with(settings);
    let broken_off = export(&fixture, "", &name);
    assert_eq!((broken_off.status, broken_off.is_whole), (200, false));
    let delivered: Vec<u64> = lines(&broken_off.body).into_iter().map(id_of).collect();
    assert_eq!((delivered.len() as u64, fixture.recorded()), (2000, 2000));
    fixture.note(2000);
    // What was paid can be downloaded again; what was not is refused before the first byte.
    let again = export(&fixture, "maxItems=2000", &name);
    assert_eq!((again.status, again.is_whole), (200, true));
    for query in ["", "after=501"] {
        assert_refused(&export(&fixture, query, &name), 429);
    }
    let unnamed = export(&fixture, "after=501", &[]);
    assert_eq!(lines(&unnamed.body).len(), 500);
    fixture.note(500);
    assert_eq!(fixture.recorded(), SIGNALS);
}
