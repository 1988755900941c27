//! Charges under faults: a locked, deleted or full state, clients that leave, two processes.

use std::io::Write;
use std::net::Shutdown;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rusqlite::Connection;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};
use signaldex_server::{Limits, NewKey, Quotas};

use crate::client;
use crate::fixture::{Fixture, Settings};
use crate::overload::{ask_aside, hold_charges, with_limits};

const NAME: (&str, &str) = ("idempotency-key", "order-4711");
/// Longer than the service needs to write what waits once a lock is released.
const SETTLING: Duration = Duration::from_millis(1500);

fn with_request_time(milliseconds: u64) -> Fixture {
    with_limits(Limits {
        request_time: Duration::from_millis(milliseconds),
        ..Limits::default()
    })
}

fn with_quota(signals: u64) -> Fixture {
    let quotas = Quotas {
        signals: Some(signals),
        ..Quotas::default()
    };
    Fixture::with(Settings {
        key: NewKey {
            quotas,
            ..Settings::default().key
        },
        ..Settings::default()
    })
}

fn number_of(state: &Path, sql: &str) -> i64 {
    let connection = Connection::open(state).expect("the state");
    let number = connection.query_row(sql, [], |row| row.get(0));
    number.expect("a number")
}

#[test]
fn a_request_that_waits_too_long_is_answered_503_and_never_charged() {
    let fixture = with_request_time(1000);
    let blocker = hold_charges(&fixture);
    let started = Instant::now();
    let answer = fixture.search("limit=3");
    let waited = started.elapsed();
    assert_eq!((answer.status, answer.charged()), (503, 0));
    assert_eq!(answer.json()["code"], "overloaded");
    assert!(
        waited > Duration::from_millis(900) && waited < client::WAIT_MAX,
        "{waited:?}"
    );
    drop(blocker);
    std::thread::sleep(SETTLING);
    assert_eq!(fixture.recorded(), 0, "503 means that nothing was charged");
    assert_eq!(fixture.search("limit=3").charged(), 3);
}

#[test]
fn a_request_that_was_answered_503_can_be_sent_again_at_once() {
    let fixture = with_request_time(1000);
    let blocker = hold_charges(&fixture);
    for _ in 0..2 {
        let answer = fixture.send("GET", "/api/v1/signals?limit=3", &[NAME]);
        assert_eq!(answer.status, 503, "the name is free again: {answer:?}");
    }
    drop(blocker);
    std::thread::sleep(SETTLING);
    let answer = fixture.send("GET", "/api/v1/signals?limit=3", &[NAME]);
    assert_eq!((answer.status, answer.charged()), (200, 3));
}

#[test]
fn a_client_that_leaves_before_its_charge_is_written_is_not_charged() {
    let fixture = Fixture::start();
    let blocker = hold_charges(&fixture);
    let mut socket = client::connect(fixture.address);
    let request = format!(
        "GET /api/v1/signals?limit=3 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n",
        fixture.key.as_str()
    );
    socket.write_all(request.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_millis(300));
    socket.shutdown(Shutdown::Both).expect("left");
    drop(socket);
    std::thread::sleep(Duration::from_millis(300));
    drop(blocker);
    std::thread::sleep(SETTLING);
    assert_eq!(fixture.recorded(), 0);
}

#[test]
fn requests_that_wait_for_a_lock_are_charged_when_it_is_released() {
    let fixture = Fixture::start();
    let blocker = hold_charges(&fixture);
    let waiting = std::thread::spawn(ask_aside(&fixture, &[]));
    std::thread::sleep(Duration::from_millis(500));
    drop(blocker);
    let answer = waiting.join().expect("an answer");
    assert_eq!((answer.status, answer.charged()), (200, 3));
    fixture.note(3);
}

/// Fifty signals whose evidence alone is 12.5 MB, and compresses little.
fn large_records() -> Index {
    let mut builder = IndexBuilder::in_memory();
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a company");
    for number in 1..=50 {
        let id: SignalId = number.to_string().parse().expect("an id");
        let mut signal = Signal::new(id, "acme", "Acme raises");
        let evidence: String = (0..50_000)
            .map(|word: u64| format!("{:05}", (word * number * 2_654_435_761) % 99_991))
            .collect();
        signal.evidence = Some(evidence.into());
        builder.add_signal(&signal).expect("a signal");
    }
    builder.finish().expect("an index")
}

#[test]
fn an_answer_of_8_mb_is_repeated_as_any_other() {
    let fixture = Fixture::with(Settings {
        index: Some(large_records()),
        ..Settings::default()
    });
    let first = fixture.send("GET", "/api/v1/signals", &[NAME]);
    assert_eq!(first.status, 200);
    assert!(first.body.len() > 8_000_000, "{} bytes", first.body.len());
    let again = fixture.send("GET", "/api/v1/signals", &[NAME]);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert!(again.body == first.body, "the same bytes");
}

#[test]
fn expired_answers_are_removed_also_while_nothing_is_asked() {
    let fixture = Fixture::start();
    fixture.send("GET", "/api/v1/signals?limit=1", &[NAME]);
    let copies = "CREATE TEMP TABLE copies AS SELECT * FROM replays;
        UPDATE copies SET answered_at = answered_at - 25 * 60 * 60, bytes = 0;
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000)
        INSERT INTO copies SELECT copies.* FROM copies, numbers;
        UPDATE copies SET name = 'expired-' || rowid;
        INSERT INTO replays SELECT * FROM copies;";
    let connection = Connection::open(fixture.state_path()).expect("the state");
    connection.execute_batch(copies).expect("expired answers");
    drop(connection);
    let kept = || number_of(&fixture.state_path(), "SELECT count(*) FROM replays");
    assert_eq!(kept(), 3002);
    let started = Instant::now();
    while kept() > 1 && started.elapsed() < client::WAIT_MAX {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(kept(), 1, "only what has not expired is left");
}

#[test]
fn counts_and_empty_pages_are_not_kept() {
    let fixture = Fixture::start();
    for query in ["countOnly=true", "country=Nowhere"] {
        let answer = fixture.send("GET", &format!("/api/v1/signals?{query}"), &[NAME]);
        assert_eq!((answer.status, answer.charged()), (200, 0), "{query}");
        let again = fixture.send("GET", &format!("/api/v1/signals?{query}"), &[NAME]);
        assert_eq!(again.header("idempotency-replayed"), None, "{query}");
    }
    let kept = number_of(&fixture.state_path(), "SELECT count(*) FROM replays");
    assert_eq!(kept, 0);
}

/// Waits for what `/readyz` says.
fn becomes(fixture: &Fixture, status: u16) -> bool {
    let started = Instant::now();
    while fixture.get("/readyz").status != status {
        if started.elapsed() > client::WAIT_MAX {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn nothing_is_delivered_while_the_state_file_is_gone() {
    for suffix in ["", "-wal", "-shm"] {
        let fixture = Fixture::start();
        let first = fixture.send("GET", "/api/v1/signals?limit=2", &[NAME]);
        assert_eq!(first.status, 200);
        let path = format!("{}{suffix}", fixture.state_path().display());
        let aside = format!("{path}.aside");
        std::fs::rename(&path, &aside).expect("moved aside");
        assert!(becomes(&fixture, 503), "{path}");
        let detail = fixture.get("/readyz").json()["detail"].to_string();
        assert!(detail.contains("deleted"), "{detail}");
        for target in [
            "/api/v1/signals?limit=2",
            "/api/v1/signals?countOnly=true",
            "/api/v1/filter-options",
            "/api/v1/aggregates?by=month",
            "/api/v1/aggregates?by=company&limit=1",
            "/api/v1/companies?limit=1",
            "/api/v1/companies?countOnly=true",
        ] {
            assert_eq!(fixture.get(target).status, 503, "{target}");
        }
        let again = fixture.send("GET", "/api/v1/signals?limit=2", &[NAME]);
        assert_eq!(again.status, 503);
        std::fs::rename(&aside, &path).expect("moved back");
        assert!(becomes(&fixture, 200), "{path}");
        assert_eq!(fixture.search("limit=3").status, 200);
    }
}

#[test]
fn another_file_in_the_place_of_the_state_is_not_charged() {
    let fixture = Fixture::start();
    assert_eq!(fixture.search("limit=2").status, 200);
    let (path, aside) = (
        fixture.state_path(),
        fixture.state_path().with_extension("aside"),
    );
    std::fs::rename(&path, &aside).expect("moved aside");
    std::fs::write(&path, std::fs::read(&aside).expect("a copy")).expect("a copy");
    assert_eq!(
        fixture.search("limit=2").status,
        503,
        "before any look at it"
    );
    assert!(becomes(&fixture, 503));
    let detail = fixture.get("/readyz").json()["detail"].to_string();
    assert!(detail.contains("replaced"), "{detail}");
    std::fs::rename(&aside, &path).expect("moved back");
    assert!(becomes(&fixture, 200));
}

#[test]
fn two_processes_deliver_exactly_the_quota() {
    let fixture = with_quota(60);
    let (first, second) = (fixture.address, fixture.start_other());
    assert_eq!(fixture.search_at(first, "limit=1").charged(), 1);
    assert_eq!(fixture.search_at(second, "limit=45").charged(), 45);
    let rest = fixture.search_at(first, "limit=50");
    assert_eq!((rest.status, rest.items().len()), (200, 14), "what is left");
    assert_eq!(rest.charged(), 14);
    assert_eq!(rest.header("x-usage-remaining"), Some("0"));
    for address in [first, second] {
        let refused = fixture.search_at(address, "limit=1");
        assert_eq!(refused.status, 402);
        assert_eq!(refused.json()["code"], "quota_exceeded");
    }
}

#[test]
fn a_page_that_a_quota_cuts_is_repeated_and_continued_as_delivered() {
    let fixture = with_quota(20);
    let other = fixture.start_other();
    assert_eq!(fixture.search_at(fixture.address, "limit=1").charged(), 1);
    assert_eq!(fixture.search_at(other, "limit=5").charged(), 5);
    let cut = fixture.send("GET", "/api/v1/signals?limit=50", &[NAME]);
    assert_eq!((cut.items().len(), cut.charged()), (14, 14));
    let again = fixture.send("GET", "/api/v1/signals?limit=50", &[NAME]);
    assert_eq!(again.body, cut.body);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let whole = client::request(
        fixture.address,
        "GET",
        "/api/v1/signals?limit=50",
        &[(
            "authorization",
            &format!(
                "Bearer {}",
                fixture.other_key(&NewKey::named("other")).as_str()
            ),
        )],
    );
    fixture.note(whole.charged());
    assert_eq!(whole.items()[..14], cut.items()[..]);
    assert_ne!(whole.header("etag"), cut.header("etag"));
    let cursor = cut.json()["data"]["nextCursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    let key = fixture.other_key(&NewKey::named("third"));
    let next = client::request(
        fixture.address,
        "GET",
        &format!("/api/v1/signals?limit=1&cursor={cursor}"),
        &[("authorization", &format!("Bearer {}", key.as_str()))],
    );
    fixture.note(next.charged());
    assert_eq!(next.items()[0], whole.items()[14]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6) })]

    /// Whatever two processes are asked at once, the quota is delivered and no unit more, and no
    /// request is refused while a unit is left.
    #[test]
    fn any_interleaving_over_two_processes_delivers_the_quota(
        quota in 1_u64..200,
        asked in prop::collection::vec((0_usize..2, 1_u64..=50), 20..60),
    ) {
        let fixture = with_quota(quota);
        let addresses = [fixture.address, fixture.start_other()];
        let authorization = format!("Bearer {}", fixture.key.as_str());
        let state = fixture.state_path();
        let (authorization, state) = (&authorization, &state);
        let wanted: u64 = asked.iter().map(|(_, limit)| limit).sum();
        let charged: Vec<u64> = std::thread::scope(|scope| {
            let clients: Vec<_> = asked
                .chunks(6)
                .map(|chunk| scope.spawn(move || {
                    chunk
                        .iter()
                        .map(|(process, limit)| {
                            let target = format!("/api/v1/signals?limit={limit}");
                            let headers = [("authorization", authorization.as_str())];
                            let answer = client::request(addresses[*process], "GET", &target, &headers);
                            if answer.status == 402 {
                                let used = number_of(state, "SELECT signals FROM usage");
                                assert_eq!(used.unsigned_abs(), quota, "402 while something is left");
                            } else {
                                assert_eq!(answer.status, 200);
                                assert_eq!(answer.items().len() as u64, answer.charged());
                                assert!(answer.charged() > 0);
                            }
                            answer.charged()
                        })
                        .sum()
                }))
                .collect();
            clients.into_iter().map(|client| client.join().expect("answers")).collect()
        });
        let charged: u64 = charged.iter().sum();
        fixture.note(charged);
        prop_assert_eq!(charged, quota.min(wanted));
    }
}
