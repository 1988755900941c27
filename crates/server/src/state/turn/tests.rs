//! Two writers at one file: neither waits for many commits of the other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::super::{State, schema};
use super::Turn;

/// How long the busy writer holds the lock each time.
const COMMIT: Duration = Duration::from_millis(1);
const ROUNDS: u64 = 50;

#[test]
fn a_writer_waits_for_few_commits_of_a_busy_one() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("state.db");
    State::open(&path).expect("a state");
    let (is_over, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let waited = thread::scope(|scope| {
        scope.spawn(|| {
            let (turn, connection) = (Turn::at(&path), schema::open(&path).expect("a connection"));
            while !is_over.load(Ordering::Relaxed) {
                let transaction = turn.begin(&connection).expect("begun");
                thread::sleep(COMMIT);
                transaction.commit().expect("committed");
                commits.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (turn, connection) = (Turn::at(&path), schema::open(&path).expect("a connection"));
        let mut waited = 0;
        for _ in 0..ROUNDS {
            thread::sleep(2 * COMMIT);
            let before = commits.load(Ordering::Relaxed);
            let transaction = turn.begin(&connection).expect("begun");
            waited += commits.load(Ordering::Relaxed) - before;
            transaction.commit().expect("committed");
        }
        is_over.store(true, Ordering::Relaxed);
        waited
    });
    assert!(commits.into_inner() > ROUNDS, "the other was busy");
    assert!(
        waited <= 3 * ROUNDS,
        "{waited} commits of the other in {ROUNDS} waits"
    );
}

#[test]
fn a_writer_that_was_stopped_in_its_turn_holds_up_nobody_for_long() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("state.db");
    State::open(&path).expect("a state");
    let stopped = Turn::at(&path);
    let _next = stopped.next();
    let (turn, connection) = (Turn::at(&path), schema::open(&path).expect("a connection"));
    turn.begin(&connection).expect("begun without its turn");
}
