//! White-box tests of `admission.rs`.

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;

/// Work that lasts until the sender is used or dropped.
fn start(admission: &Arc<Admission>) -> (oneshot::Sender<()>, JoinHandle<Option<()>>) {
    let (end, ended) = oneshot::channel();
    let admission = Arc::clone(admission);
    let work = async move {
        let _ = ended.await;
    };
    let task = tokio::spawn(async move { admission.run(work).await });
    (end, task)
}

#[tokio::test]
async fn work_is_bounded_and_what_waits_too_long_or_in_vain_is_refused() {
    let admission = Arc::new(Admission::new(2, 2, Duration::from_millis(100)));
    let (first, first_task) = start(&admission);
    let (second, second_task) = start(&admission);
    tokio::task::yield_now().await;
    let (_third, third_task) = start(&admission);
    let (fourth, fourth_task) = start(&admission);
    tokio::task::yield_now().await;
    assert!(admission.run(async {}).await.is_none(), "the queue is full");
    assert_eq!(admission.shed(), 1);
    drop(first);
    assert_eq!(first_task.await.expect("a result"), Some(()));
    // The third has its turn, and the wait of the fourth ends before another does.
    assert_eq!(fourth_task.await.expect("a result"), None);
    assert!(fourth.is_closed(), "it never ran");
    assert!(!third_task.is_finished());
    drop(second);
    assert_eq!(second_task.await.expect("a result"), Some(()));
    assert_eq!(admission.run(async { 7 }).await, Some(7));
    assert_eq!(admission.shed(), 2);
}

#[tokio::test]
async fn work_that_is_given_up_leaves_its_turn_to_others() {
    let admission = Arc::new(Admission::new(1, 0, Duration::from_secs(10)));
    for _ in 0..3 {
        let (_end, task) = start(&admission);
        tokio::task::yield_now().await;
        assert!(admission.run(async {}).await.is_none());
        task.abort();
        assert!(task.await.is_err());
    }
    assert!(admission.run(async {}).await.is_some());
}
