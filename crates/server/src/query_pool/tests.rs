//! White-box tests of `query_pool.rs`.

use super::*;
use std::sync::mpsc;

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
    let pool = Arc::new(QueryPool::new(1, Duration::from_millis(100), 100));
    let (release, blocked) = mpsc::channel::<()>();
    runtime().block_on(async {
        let other = Arc::clone(&pool);
        let first =
            tokio::spawn(async move { other.run(1, async move { blocked.recv().is_err() }).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
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
