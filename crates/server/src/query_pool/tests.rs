//! White-box tests of `query_pool.rs`.

use std::sync::mpsc;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use signaldex::query::Order;
use signaldex::{Filter, sample};

use super::*;
use crate::{Limits, NewKey, Service, State, Today};

#[test]
fn keys_take_turns_and_run_two_at_once() {
    let mut turns = Turns::default();
    for number in 0..5 {
        turns.push(1, ('a', number), 100).expect("room");
    }
    turns.push(2, ('b', 0), 100).expect("room");
    turns.push(3, ('c', 0), 100).expect("room");
    let mut next = || turns.next().map(|(_, job)| job);
    let started = [next(), next(), next(), next(), next()];
    let expected = [
        Some(('a', 0)),
        Some(('b', 0)),
        Some(('c', 0)),
        Some(('a', 1)),
        None,
    ];
    assert_eq!(started, expected, "a third of key 1 has to wait");
    turns.finish(2);
    assert_eq!(turns.next(), None);
    turns.finish(1);
    assert_eq!(turns.next(), Some((1, ('a', 2))));
}

#[test]
fn what_waits_is_bounded_by_key_and_can_be_given_up() {
    let mut turns = Turns::default();
    let tickets: Vec<u64> = (0..WAITING_PER_KEY_MAX)
        .map(|number| turns.push(1, number, 100).expect("room"))
        .collect();
    assert_eq!(turns.push(1, 99, 100), None);
    assert_eq!(turns.push(2, 99, WAITING_PER_KEY_MAX), None, "of all keys");
    assert!(turns.push(2, 0, 100).is_some());
    assert_eq!(turns.remove(1, tickets[0]), Some(0));
    assert_eq!(turns.remove(1, tickets[0]), None);
    assert!(turns.push(1, 16, 100).is_some());
    assert_eq!(turns.next(), Some((1, 1)));
    for &ticket in &tickets[2..] {
        turns.remove(1, ticket);
    }
    turns.remove(1, 17);
    assert_eq!(turns.next(), Some((2, 0)));
    assert_eq!(turns.next(), None);
    assert!(turns.order.is_empty() && turns.waiting.is_empty());
}

/// More than any query waits that gets its turn at once.
const WAIT: Duration = Duration::from_millis(100);

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

#[test]
fn a_query_that_does_not_get_its_turn_in_time_is_not_run() {
    let pool = Arc::new(QueryPool::new(1, WAIT, 100));
    let (release, blocked) = mpsc::channel::<()>();
    runtime().block_on(async {
        let other = Arc::clone(&pool);
        let (start, has_started) = oneshot::channel();
        let held = async move { start.send(()).is_ok() && blocked.recv().is_err() };
        let first = tokio::spawn(async move { other.run(1, held).await });
        has_started.await.expect("it runs");
        let late = pool.run(2, async { unreachable!("it has been given up") });
        assert_eq!(late.await, Err::<(), NotRun>(NotRun::Busy));
        drop(release);
        assert_eq!(first.await.expect("no panic"), Ok(true));
        assert_eq!(pool.run(2, async { 7 }).await, Ok(7));
    });
}

#[test]
fn a_query_that_panics_fails_alone() {
    let pool = QueryPool::new(1, Duration::from_secs(10), 100);
    runtime().block_on(async {
        let panicking = pool.run(1, async { panic!("for a test") });
        assert_eq!(panicking.await, Err::<(), NotRun>(NotRun::Failed));
        assert_eq!(pool.run(1, async { 7 }).await, Ok(7));
    });
    // The answer is sent before the thread notes that the query is over.
    let started = std::time::Instant::now();
    while !pool.shared.lock().running.is_empty() {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The status of an answer, and its code if it is a problem.
async fn ask(service: Service, bearer: String, target: String) -> (u16, String) {
    let request = Request::get(target)
        .header("host", "test")
        .header("authorization", bearer)
        .body(Body::empty())
        .expect("a request");
    let router = TowerToHyperService::new(service.catch_all_router());
    let response = router.call(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await;
    let body = serde_json::from_slice::<Value>(&body.expect("a body")).unwrap_or_default();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

/// Waits until a key has that number of queries in the queue.
async fn queued(service: &Service, key: i64, expected: usize) {
    let waiting = || {
        let turns = service.0.query_pool.shared.lock();
        turns.waiting.get(&key).map_or(0, VecDeque::len)
    };
    while waiting() < expected {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The test holds the only thread of the pool, so nothing depends on how fast the machine is.
#[test]
fn expensive_queries_of_one_key_leave_those_of_others_alone() {
    const HEAVY: &str = "/api/v1/signals?countOnly=true&any=%22series+a+funding%22+raises";
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    let create = |name| {
        let new = NewKey {
            rate: 1000,
            burst: 1000,
            ..NewKey::named(name)
        };
        let (_, key) = state.create_key(&new).expect("a key");
        format!("Bearer {}", key.as_str())
    };
    let [one, other] = ["one", "other"].map(create);
    let limits = Limits {
        cheap_query_cost: 0,
        query_threads: 1,
        query_wait: Duration::from_secs(600),
        request_time: Duration::from_secs(600),
        ..Limits::default()
    };
    let index = sample::index().expect("the sample corpus");
    let snapshot = index.snapshot();
    let mut ids = snapshot
        .matches(&Filter::default(), sample::AS_OF, Order::NewestFirst)
        .ids();
    let id = ids.next().expect("a signal").expect("a whole index");
    let cheap = format!("/api/v1/signals/{id}");
    let service = Service::new(index, state, Today::Fixed(sample::AS_OF), limits);
    let service = service.expect("a service");
    runtime().block_on(async {
        let (release, held) = mpsc::channel::<()>();
        let (start, has_started) = oneshot::channel();
        let pool = service.clone();
        let holding = tokio::spawn(async move {
            let hold = async move { start.send(()).is_ok() && held.recv().is_err() };
            pool.0.query_pool.run(0, hold).await
        });
        has_started.await.expect("it runs");
        let ask =
            |bearer: &String, target: &str| ask(service.clone(), bearer.clone(), target.to_owned());

        let fill = (0..WAITING_PER_KEY_MAX).map(|_| tokio::spawn(ask(&one, HEAVY)));
        let fill: Vec<_> = fill.collect();
        queued(&service, 1, WAITING_PER_KEY_MAX).await;
        let refused = ask(&one, HEAVY).await;
        assert_eq!(refused, (429, "rate_limited".to_owned()));
        for target in [cheap.as_str(), "/healthz"] {
            assert_eq!(ask(&other, target).await.0, 200, "{target}");
        }
        let last = tokio::spawn(ask(&other, HEAVY));
        queued(&service, 2, 1).await;
        let next = service.0.query_pool.shared.lock().order.get(1).copied();
        assert_eq!(next, Some(2), "it has its turn after one of the other key");

        drop(release);
        assert_eq!(holding.await.expect("no panic"), Ok(true));
        for answer in fill.into_iter().chain([last]) {
            assert_eq!(answer.await.expect("no panic").0, 200);
        }
    });
}
