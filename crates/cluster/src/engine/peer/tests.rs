//! Plans that end while questions are under way.

use datafusion::arrow::array::RecordBatch;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::Stream;

use super::super::rows::SCHEMA;
use super::*;

/// Delivers these answers. Returns why a question that waits for another one has none.
async fn ended_by(
    answers: impl Stream<Item = EngineResult<RecordBatch>> + Send + 'static,
) -> String {
    let under_way = Arc::<UnderWay>::default();
    let reply = under_way.add(1).expect("a plan that runs");
    let answers = RecordBatchStreamAdapter::new(Arc::clone(&SCHEMA), answers);
    let delivery = Arc::clone(&under_way).deliver(Box::pin(answers));
    // A panic ends the task alone.
    let _ = tokio::spawn(delivery).await;
    reply.await.expect_err("no answer");
    let next = under_way.add(2).expect_err("a plan that has ended");
    assert_eq!(next.to_string(), under_way.why_ended().to_string());
    next.to_string()
}

#[tokio::test]
async fn questions_of_a_plan_that_ends_are_not_waited_for() {
    let ended = ended_by(futures_util::stream::empty()).await;
    assert_eq!(ended, "the other side has ended the plan");
    let broken = futures_util::stream::iter([Err(exec_datafusion_err!("it broke"))]);
    assert!(ended_by(broken).await.contains("it broke"));
    let panicking = futures_util::stream::poll_fn(|_| panic!("bytes that the engine cannot read"));
    assert_eq!(ended_by(panicking).await, "an answer could not be read");
}
