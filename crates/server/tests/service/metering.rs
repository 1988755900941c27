//! Idempotency and metering: over repetition, concurrency and restarts.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use signaldex::IndexBuilder;
use signaldex_server::{Counter, NewKey, Quotas};

use crate::client::WAIT_MAX;
use crate::fixture::{Fixture, Settings};

const NAME: (&str, &str) = ("idempotency-key", "order-4711");

#[test]
fn a_repeated_request_returns_the_same_and_is_charged_once() {
    let fixture = Fixture::start();
    let first = fixture.send("GET", "/api/v1/signals?limit=4", &[NAME]);
    assert_eq!(
        (
            first.status,
            first.charged(),
            first.header("idempotency-replayed")
        ),
        (200, 4, None)
    );
    let again = fixture.send("GET", "/api/v1/signals?limit=4", &[NAME]);
    assert_eq!(
        (
            again.status,
            again.charged(),
            again.header("idempotency-replayed")
        ),
        (200, 0, Some("true"))
    );
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("etag"), first.header("etag"));
}

#[test]
fn an_idempotency_key_is_bound_to_parameters_and_api_key() {
    let fixture = Fixture::start();
    assert_eq!(
        fixture
            .send("GET", "/api/v1/signals?limit=4", &[NAME])
            .status,
        200
    );
    let other = fixture.send("GET", "/api/v1/signals?limit=5", &[NAME]);
    assert_eq!(
        (other.status, other.json()["code"].as_str()),
        (422, Some("idempotency_key_reused"))
    );
    let key = fixture.other_key(&NewKey::named("other"));
    let bearer = format!("Bearer {}", key.as_str());
    let theirs = fixture.send_as_is(
        "GET",
        "/api/v1/signals?limit=4",
        &[("authorization", &bearer), NAME],
    );
    assert_eq!((theirs.status, theirs.charged()), (200, 4));
}

#[test]
fn an_idempotency_key_has_8_to_128_visible_characters() {
    let fixture = Fixture::start();
    for (name, status) in [
        ("a".repeat(7), 400),
        ("a".repeat(8), 200),
        ("a".repeat(128), 200),
        ("a".repeat(129), 400),
        ("a b c d e f".into(), 400),
    ] {
        let answer = fixture.send(
            "GET",
            "/api/v1/signals?limit=1",
            &[("idempotency-key", &name)],
        );
        assert_eq!(answer.status, status, "{name}");
    }
}

#[test]
fn what_is_free_stays_free_with_an_idempotency_key() {
    let fixture = Fixture::start();
    let count = fixture.send(
        "GET",
        "/api/v1/signals?countOnly=true",
        &[("idempotency-key", "count-4711")],
    );
    assert_eq!((count.status, count.charged()), (200, 0));
    let empty = fixture.send(
        "GET",
        "/api/v1/signals?country=Nowhere",
        &[("idempotency-key", "empty-4711")],
    );
    assert_eq!(
        (empty.status, empty.charged(), empty.items().len()),
        (200, 0, 0)
    );
    assert_eq!(
        fixture
            .send("HEAD", "/api/v1/signals?limit=4", &[NAME])
            .status,
        200
    );
    let first = fixture.send("GET", "/api/v1/signals?limit=4", &[NAME]);
    assert_eq!(
        first.header("idempotency-replayed"),
        None,
        "a HEAD does not answer for a GET"
    );
}

#[test]
fn concurrent_requests_of_one_name_are_charged_once() {
    let fixture = Fixture::start();
    let together = Barrier::new(16);
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let (address, together, authorization) = (fixture.address, &together, &authorization);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(move || {
                    together.wait();
                    let headers = [("authorization", authorization.as_str()), NAME];
                    crate::client::request(address, "GET", "/api/v1/signals?limit=9", &headers)
                })
            })
            .collect();
        asking
            .into_iter()
            .map(|thread| thread.join().expect("an answer"))
            .collect()
    });
    assert!(
        answers
            .iter()
            .all(|answer| [200, 409].contains(&answer.status))
    );
    assert_eq!(
        answers.iter().map(|answer| answer.charged()).sum::<u64>(),
        9
    );
    fixture.note(9);
}

#[test]
fn concurrent_requests_share_a_quota_exactly() {
    let quotas = Quotas {
        signals: Some(100),
        ..Quotas::default()
    };
    let key = NewKey {
        quotas,
        rate: 1000,
        burst: 1000,
        ..NewKey::named("shared")
    };
    let fixture = Fixture::with(Settings {
        key,
        ..Settings::default()
    });
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let (address, authorization) = (fixture.address, &authorization);
    let charged: u64 = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..24)
            .map(|_| {
                scope.spawn(move || {
                    let headers = [("authorization", authorization.as_str())];
                    crate::client::request(address, "GET", "/api/v1/signals?limit=7", &headers)
                        .charged()
                })
            })
            .collect();
        asking
            .into_iter()
            .map(|thread| thread.join().expect("an answer"))
            .sum()
    });
    assert_eq!(charged, 100);
    fixture.note(charged);
}

/// Waits until the state holds a number of free answers, which are recorded once a second.
fn wait_for_free_answers(fixture: &Fixture, expected: u64) {
    let started = Instant::now();
    let recorded = || {
        let usage = fixture.state().usage(None).expect("usage");
        let counts = usage.iter().map(|line| line.counts);
        counts
            .map(|counts| counts[Counter::FreeAnswers as usize])
            .sum::<u64>()
    };
    while recorded() != expected && started.elapsed() < WAIT_MAX {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(recorded(), expected);
}

#[test]
fn free_answers_are_counted_and_not_billed() {
    let mut fixture = Fixture::start();
    for target in [
        "/api/v1/signals?countOnly=true&q=raises",
        "/api/v1/filter-options",
        "/api/v1/filter-options?country=Germany",
        "/api/v1/aggregates",
        "/api/v1/aggregates?by=month,countries&measures=median",
        "/api/v1/companies?has=(q=raises)&countOnly=true&facets=sizes",
    ] {
        assert_eq!(fixture.get(target).status, 200, "{target}");
        assert_eq!(fixture.send("HEAD", target, &[]).status, 200, "{target}");
    }
    fixture.search("q=no+such+signal");
    assert_eq!(fixture.get("/api/v1/filter-options?country=").status, 400);
    assert_eq!(fixture.get("/api/v1/aggregates?by=month,month").status, 400);
    // Groups that are charged are not free, nor is an answer without any.
    assert_eq!(
        fixture
            .get("/api/v1/aggregates?by=company&limit=2")
            .charged(),
        2
    );
    let none = fixture.get("/api/v1/aggregates?by=company&country=Nowhere");
    assert_eq!((none.status, none.charged()), (200, 0));
    wait_for_free_answers(&fixture, 6);
    fixture.search("countOnly=true");
    // What was gathered is recorded before the service ends.
    fixture.restart(signaldex::sample::index().expect("the sample corpus"));
    wait_for_free_answers(&fixture, 7);
}

#[test]
fn a_quota_of_free_answers_leaves_paid_ones_alone() {
    let quotas = Quotas {
        free_answers: Some(2),
        ..Quotas::default()
    };
    let fixture = Fixture::with(Settings {
        key: NewKey {
            quotas,
            ..Settings::default().key
        },
        ..Settings::default()
    });
    let invalid = fixture.get("/api/v1/filter-options?country=");
    assert_eq!(invalid.status, 400, "what is refused does not count");
    assert_eq!(fixture.search("countOnly=true").status, 200);
    assert_eq!(fixture.get("/api/v1/filter-options").status, 200);
    for target in [
        "signals?countOnly=true",
        "filter-options",
        "aggregates",
        "companies?countOnly=true",
    ] {
        let answer = fixture.get(&format!("/api/v1/{target}"));
        assert_eq!(answer.status, 402, "{target}");
        assert_eq!(answer.json()["code"], "quota_exceeded");
    }
    assert_eq!(fixture.search("limit=2").charged(), 2);
    wait_for_free_answers(&fixture, 2);
}

#[test]
fn usage_names_key_month_and_counters() {
    let fixture = Fixture::start();
    let id = fixture.search("limit=3").items().remove(0);
    fixture.get(&format!("/api/v1/signals/{id}"));
    fixture.get("/api/v1/companies/pomelora");
    let usage = fixture.state().usage(None).expect("usage");
    assert_eq!(usage.len(), 1);
    assert_eq!(
        (usage[0].name.as_str(), usage[0].counts),
        ("test", [3, 1, 1, 0])
    );
    assert_eq!(
        fixture.state().usage(Some(usage[0].month)).expect("usage"),
        usage
    );
}

#[test]
fn a_replay_outlives_restarts_and_the_records_it_shows() {
    let mut fixture = Fixture::start();
    let first = fixture.send("GET", "/api/v1/signals?limit=4", &[NAME]);
    let nothing = IndexBuilder::in_memory().finish().expect("an empty index");
    fixture.restart(nothing);
    assert_eq!(fixture.search("limit=4").items().len(), 0);
    let again = fixture.send("GET", "/api/v1/signals?limit=4", &[NAME]);
    assert_eq!(
        (again.header("idempotency-replayed"), &again.body),
        (Some("true"), &first.body)
    );
}

#[test]
fn an_answer_is_repeated_for_24_hours() {
    let fixture = Fixture::start();
    assert_eq!(
        fixture
            .send("GET", "/api/v1/signals?limit=4", &[NAME])
            .charged(),
        4
    );
    let age = |seconds: i64| {
        let state = rusqlite::Connection::open(fixture.state_path()).expect("the state");
        state
            .execute(
                "UPDATE replays SET answered_at = answered_at - ?1",
                [seconds],
            )
            .expect("aged");
    };
    age(24 * 60 * 60 - 60);
    assert_eq!(
        fixture
            .send("GET", "/api/v1/signals?limit=4", &[NAME])
            .charged(),
        0
    );
    age(60);
    assert_eq!(
        fixture
            .send("GET", "/api/v1/signals?limit=4", &[NAME])
            .charged(),
        4
    );
}

#[test]
fn nothing_is_delivered_that_cannot_be_charged() {
    let fixture = Fixture::start();
    let blocker = rusqlite::Connection::open(fixture.state_path()).expect("the state");
    blocker
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the only writer");
    let answer = fixture.search("limit=4");
    assert_eq!(
        (answer.status, answer.json()["data"].is_null()),
        (503, true)
    );
    assert!(answer.header("retry-after").is_some());
    let ready = fixture.get("/readyz");
    assert_eq!(ready.status, 503, "charges cannot be written");
    blocker.execute_batch("ROLLBACK").expect("done");
    let started = std::time::Instant::now();
    while fixture.get("/readyz").status != 200 {
        assert!(
            started.elapsed() < WAIT_MAX,
            "it is found out without a charge"
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(fixture.search("limit=4").status, 200);
}
