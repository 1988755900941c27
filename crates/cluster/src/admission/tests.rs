//! White-box tests of `admission.rs`.

use std::sync::Arc;

use super::*;

#[tokio::test]
async fn work_is_bounded_and_what_waits_too_long_or_in_vain_is_refused() {
    let admission = Arc::new(Admission::new(2, 2, Duration::from_millis(100)));
    let first = admission.enter().await.expect("a turn");
    let second = admission.enter().await.expect("a turn");
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let admission = Arc::clone(&admission);
            tokio::spawn(async move { admission.enter().await.is_some() })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(admission.enter().await.is_none(), "the queue is full");
    drop(first);
    let mut turns = Vec::new();
    for waiting in waiting {
        turns.push(waiting.await.expect("a result"));
    }
    // The first ends at once, and so the second has its turn.
    assert_eq!(turns, [true, true]);
    let _third = admission.enter().await.expect("a turn");
    assert!(admission.enter().await.is_none(), "its wait is over");
    drop(second);
    assert!(admission.enter().await.is_some());
}
