//! White-box tests of `cluster/engine/leaf.rs`.

use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use futures_util::StreamExt;

use super::*;
use crate::SignalId;
use crate::cluster::question::{Answer, Row};

/// Answers every question with one row of 64 KiB.
struct Large;

impl Shards for Large {
    fn answer(&self, _: &Question, _: u32) -> crate::Result<Answer> {
        let bytes = vec![0; 1 << 16];
        Ok(Answer::Rows(vec![Row { id: 1, bytes }]))
    }
}

/// Asks in an environment with that many bytes for answers.
async fn ask(memory: usize) -> Result<usize> {
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(memory)))
        .build_arc()?;
    let context = TaskContext::default().with_runtime(environment);
    let question = Question {
        generation: 1,
        wanted: Wanted::Signal(SignalId::MAX),
    };
    let leaf = Leaf::new(Arc::new(question), vec![Some(0)])?.answered_by(Arc::new(Large));
    let mut answers = leaf.execute(0, Arc::new(context))?;
    let answer = answers.next().await;
    Ok(answer.expect("an answer")?.num_rows())
}

#[tokio::test]
async fn an_answer_beyond_the_memory_of_a_worker_is_refused() {
    assert_eq!(ask(1 << 20).await.ok(), Some(1));
    let refused = ask(1 << 10).await;
    assert!(
        matches!(refused, Err(DataFusionError::ResourcesExhausted(_))),
        "{refused:?}"
    );
}

#[test]
fn a_leaf_asks_each_shard_once_and_few_of_them() {
    let most = SHARDS_MAX as usize;
    assert!(check_shards(&[Some(2), None, Some(0), None]).is_ok());
    assert!(check_shards(&vec![None; most]).is_ok());
    assert!(check_shards(&vec![None; most + 1]).is_err());
    assert!(check_shards(&[Some(2), Some(0), Some(2)]).is_err());
}
