//! Queries the shards of one generation: one replica of each, and others if it fails or is slow.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select, try_join_all};

use super::answer::ShardAnswer;
use super::members::{Members, NodeTask, Unreachable};
use super::messages::ReplyStatus;
use super::nodes::Nodes;
use super::peer::PeerFailure;
use super::question::{Question, ShardRequest};
use signaldex_server::corpus::Unanswered;

/// Sends queries to the nodes of shards.
pub(super) struct Asker {
    pub(super) nodes: Nodes,
    pub(super) members: Arc<Members>,
    /// The deadline of a query.
    pub(super) deadline: Duration,
    /// How long to wait for a node before other replicas are queried, too.
    pub(super) first_attempt: Duration,
}

/// A query to shards of a generation.
struct ShardQuery {
    generation: u64,
    /// The number of shards of the generation.
    shard_count: u32,
    wanted: Arc<ShardRequest>,
}

impl Asker {
    /// Queries shards of a generation, and merges their answers.
    pub(super) async fn ask(
        &self,
        generation: u64,
        shards: &[u32],
        wanted: ShardRequest,
    ) -> Result<ShardAnswer, Unanswered> {
        let asked = ShardQuery {
            generation,
            shard_count: self.members.shard_count(generation),
            wanted: Arc::new(wanted),
        };
        if asked.shard_count == 0 {
            return Err(unavailable("No generation of the corpus is loaded yet."));
        }
        let tasks = self.assign(&asked, shards, &[]);
        let tasks = tasks.map_err(|missing| unavailable(&missing.detail()))?;
        let parts = tasks.iter().map(|task| self.part_in_time(&asked, task));
        let parts = try_join_all(parts).await?;
        ShardAnswer::merge(&asked.wanted, parts).map_err(Unanswered::Failed)
    }

    /// Assigns shards to nodes, this node last, so that the others have their queries before it starts to work.
    fn assign(
        &self,
        asked: &ShardQuery,
        shards: &[u32],
        avoided: &[usize],
    ) -> Result<Vec<NodeTask>, Unreachable> {
        let (generation, count) = (asked.generation, asked.shard_count);
        let mut tasks = self.members.assign(generation, count, shards, avoided)?;
        tasks.sort_by_key(|task| task.node == self.members.own());
        Ok(tasks)
    }

    async fn part_in_time(
        &self,
        asked: &ShardQuery,
        task: &NodeTask,
    ) -> Result<ShardAnswer, Unanswered> {
        let part = tokio::time::timeout(self.deadline, self.part(asked, task));
        part.await.unwrap_or_else(|_| {
            let shard = task.shards.first().copied().unwrap_or_default();
            Err(asked.unanswered(shard, "has not answered in time"))
        })
    }

    /// Queries the shards of a task at their node, or at others if that fails or is slow.
    async fn part(&self, asked: &ShardQuery, task: &NodeTask) -> Result<ShardAnswer, Unanswered> {
        let mut first = pin!(self.ask_node(asked, task));
        let tried = tokio::time::timeout(self.first_attempt, first.as_mut()).await;
        let failure = match tried {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => Some(failure),
            Err(_) => {
                self.members.slowed(task.node);
                None
            }
        };
        let others = self.assign(asked, &task.shards, &[task.node]);
        match (failure, others) {
            (Some(_), Ok(others)) => self.ask_all(asked, &others).await,
            (Some(failure), Err(missing)) => Err(asked.failed(missing.shard, &failure)),
            (None, Ok(others)) => self.first_of(asked, task, first, &others).await,
            // No other node has them.
            (None, Err(missing)) => {
                let answer = first.await;
                answer.map_err(|failure| asked.failed(missing.shard, &failure))
            }
        }
    }

    /// Waits for a slow node and others concurrently.
    async fn first_of(
        &self,
        asked: &ShardQuery,
        task: &NodeTask,
        slow: Pin<&mut impl Future<Output = Result<ShardAnswer, PeerFailure>>>,
        others: &[NodeTask],
    ) -> Result<ShardAnswer, Unanswered> {
        let others = pin!(self.ask_all(asked, others));
        let shard = task.shards.first().copied().unwrap_or_default();
        match select(slow, others).await {
            Either::Left((Err(_), others)) => others.await,
            Either::Right((Err(_), slow)) => {
                slow.await.map_err(|failure| asked.failed(shard, &failure))
            }
            Either::Left((Ok(answer), _)) | Either::Right((Ok(answer), _)) => Ok(answer),
        }
    }

    /// Queries these nodes without further attempts.
    async fn ask_all(
        &self,
        asked: &ShardQuery,
        tasks: &[NodeTask],
    ) -> Result<ShardAnswer, Unanswered> {
        let parts = tasks.iter().map(async |task: &NodeTask| {
            let answer = self.ask_node(asked, task).await;
            let shard = task.shards.first().copied().unwrap_or_default();
            answer.map_err(|failure| asked.failed(shard, &failure))
        });
        let parts = try_join_all(parts).await?;
        ShardAnswer::merge(&asked.wanted, parts).map_err(Unanswered::Failed)
    }

    /// Queries one node, and records what a failure says about the node.
    async fn ask_node(
        &self,
        asked: &ShardQuery,
        task: &NodeTask,
    ) -> Result<ShardAnswer, PeerFailure> {
        let question = Question {
            generation: asked.generation,
            shards: task.shards.clone(),
            wanted: Arc::clone(&asked.wanted),
        };
        let answer = self.nodes.ask(task.node, &question).await;
        match &answer {
            Ok(_) => {}
            Err(PeerFailure::Dead(error)) => self.members.died(task.node, &error.to_string()),
            Err(PeerFailure::Broken(error)) => {
                let node = self.members.name(task.node);
                tracing::debug!(node, %error, "a connection with a node is broken");
                self.members.slowed(task.node);
            }
            Err(PeerFailure::Refused(ReplyStatus::Overloaded, _)) => self.members.slowed(task.node),
            Err(PeerFailure::Refused(_, reason)) => {
                let node = self.members.name(task.node);
                tracing::warn!(node, reason, "a node has refused a question");
            }
        }
        answer
    }
}

impl ShardQuery {
    fn failed(&self, shard: u32, failure: &PeerFailure) -> Unanswered {
        let reason = match failure {
            PeerFailure::Dead(_) => "has no live replica",
            PeerFailure::Broken(_) => "could not be reached",
            PeerFailure::Refused(ReplyStatus::Overloaded, _) => "is asked too much",
            PeerFailure::Refused(..) => "could not be asked",
        };
        self.unanswered(shard, reason)
    }

    fn unanswered(&self, shard: u32, reason: &str) -> Unanswered {
        let count = self.shard_count;
        unavailable(&format!(
            "Shard {shard} of {count} {reason}; nothing was charged."
        ))
    }
}

pub(super) fn unavailable(detail: &str) -> Unanswered {
    Unanswered::Unavailable(detail.to_owned())
}
