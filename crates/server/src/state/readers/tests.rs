//! Reads that stall, pile up and fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::{NotRead, Readers, THREADS, WAITING_MAX};

/// Readers of which each thread waits in a read, until the sender is dropped.
fn stalled(runtime: &Runtime) -> (Readers, mpsc::Sender<()>) {
    let readers = Readers::start().expect("threads");
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(std::sync::Mutex::new(released));
    let began = Arc::new(AtomicUsize::new(0));
    for _ in 0..THREADS {
        let (began, released) = (Arc::clone(&began), Arc::clone(&released));
        let read = move || {
            began.fetch_add(1, Ordering::SeqCst);
            let _ = released.lock().map(|released| released.recv());
        };
        let given_up = runtime.block_on(async { readers.run(soon(), read).await });
        assert_eq!(given_up, Err(NotRead::TimedOut));
    }
    assert_eq!(began.load(Ordering::SeqCst), THREADS);
    (readers, release)
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(50)
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[test]
fn a_read_that_nobody_waits_for_any_more_is_not_begun() {
    let runtime = Runtime::new().expect("a runtime");
    let (readers, release) = stalled(&runtime);
    let runs = Arc::new(AtomicUsize::new(0));
    let count = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        move || runs.fetch_add(1, Ordering::SeqCst)
    };
    let read = count(&runs);
    let given_up = runtime.block_on(async { readers.run(soon(), read).await });
    assert_eq!(given_up, Err(NotRead::TimedOut));
    assert_eq!(readers.waiting(), 1);
    drop(release);
    let read = count(&runs);
    let result = runtime.block_on(async { readers.run(later(), read).await });
    assert_eq!(result, Ok(0), "the first to run");
    assert_eq!(readers.waiting(), 0);
}

#[test]
fn the_queue_is_bounded_and_abandoned_reads_make_room() {
    let runtime = Runtime::new().expect("a runtime");
    let (readers, _release) = stalled(&runtime);
    let readers = Arc::new(readers);
    let fill = |until: fn() -> Instant| {
        let reads: Vec<_> = (0..=WAITING_MAX)
            .map(|_| {
                let readers = Arc::clone(&readers);
                runtime.spawn(async move { readers.run(until(), || ()).await })
            })
            .collect();
        while readers.waiting() < WAITING_MAX {
            std::thread::yield_now();
        }
        reads
    };
    let results = |reads: Vec<tokio::task::JoinHandle<_>>| -> Vec<_> {
        let reads = reads.into_iter();
        reads
            .map(|read| runtime.block_on(read).expect("no panic"))
            .collect()
    };
    let first = results(fill(|| Instant::now() + Duration::from_millis(500)));
    let full = |results: &[Result<(), NotRead>]| {
        let full = results
            .iter()
            .filter(|result| **result == Err(NotRead::QueueFull));
        full.count()
    };
    assert_eq!(full(&first), 1);
    assert_eq!(readers.waiting(), WAITING_MAX, "abandoned");
    let second = results(fill(|| Instant::now() + Duration::from_millis(500)));
    assert_eq!(full(&second), 1, "there was room again");
}

#[test]
fn a_panic_ends_one_read_alone() {
    let runtime = Runtime::new().expect("a runtime");
    let readers = Readers::start().expect("threads");
    for _ in 0..2 * THREADS {
        let read = || -> u8 { panic!("a failure that a test has asked for") };
        let failed = runtime.block_on(async { readers.run(later(), read).await });
        assert_eq!(failed, Err(NotRead::Failed));
    }
    let read = runtime.block_on(async { readers.run(later(), || 7).await });
    assert_eq!(read, Ok(7));
}
