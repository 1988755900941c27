//! Queries the shards of one generation: one replica of each, and others if it fails or is slow.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select, try_join_all};

pub(super) use self::hedging::Hedging;

use self::hedging::NodeAttempt;
use super::answer::ShardAnswer;
use super::engine::PeerFailure;
use super::members::{Members, NodeTask, Unreachable};
use super::nodes::Nodes;
use super::question::{KeyScope, Question, ShardRequest, expected_rows};
use super::worker::ReplyStatus;
use signaldex_server::corpus::Unanswered;

mod hedging;

/// Sends queries to the nodes of shards.
pub(super) struct Asker {
    pub(super) nodes: Nodes,
    pub(super) members: Arc<Members>,
    /// The deadline of a query.
    pub(super) deadline: Duration,
    /// Queries other replicas as well where a node takes longer than usual.
    pub(super) hedging: Hedging,
    /// How long to wait for a node before other replicas are queried in any case.
    pub(super) first_attempt: Duration,
    /// Questions asked again after a failure, and of others as well because a node was slow.
    pub(super) retried: AtomicU64,
    pub(super) hedged: AtomicU64,
}

/// How many rows of a page each node renders; of the others it sends the ids.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowShare {
    /// As many as its part of the shards has in nearly every page.
    Expected,
    All,
}

/// A query to shards of a generation.
struct ShardQuery {
    generation: u64,
    key: Option<KeyScope>,
    /// The number of shards that are asked.
    asked: usize,
    share: RowShare,
    /// The number of shards of the generation.
    shard_count: u32,
    wanted: Arc<ShardRequest>,
}

impl Asker {
    /// Queries shards of a generation, and merges their answers.
    pub(super) async fn ask(
        &self,
        (generation, key): (u64, Option<KeyScope>),
        shards: &[u32],
        wanted: ShardRequest,
        share: RowShare,
    ) -> Result<ShardAnswer, Unanswered> {
        let asked = ShardQuery {
            generation,
            key,
            asked: shards.len(),
            share,
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
        let mut first = pin!(self.first_answer(asked, task));
        let tried = tokio::time::timeout(self.first_attempt, first.as_mut()).await;
        let failure = match tried {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => Some(failure),
            Err(_) => {
                self.members.slowed(task.node);
                None
            }
        };
        let counter = if failure.is_some() {
            &self.retried
        } else {
            &self.hedged
        };
        let others = self.assign(asked, &task.shards, &[task.node]);
        if others.is_ok() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        match (failure, others) {
            (Some(_), Ok(others)) => self.ask_all(asked, &others, &[task.node]).await,
            // The connection has ended, but perhaps not the node.
            (Some(PeerFailure::Broken(_)), Err(missing)) => {
                self.retried.fetch_add(1, Ordering::Relaxed);
                let answer = self.ask_node(asked, task).await;
                answer.map_err(|failure| asked.failed(missing.shard, &failure))
            }
            (Some(failure), Err(missing)) => Err(asked.failed(missing.shard, &failure)),
            (None, Ok(others)) => self.first_of(asked, task, first, &others).await,
            // No other node has them.
            (None, Err(missing)) => {
                let answer = first.await;
                answer.map_err(|failure| asked.failed(missing.shard, &failure))
            }
        }
    }

    /// The answer of the node of a task, or that of others where it takes longer than usual.
    async fn first_answer(
        &self,
        asked: &ShardQuery,
        task: &NodeTask,
    ) -> Result<ShardAnswer, PeerFailure> {
        // What this node computes itself is not sped up by more questions.
        if task.node == self.members.own() {
            return self.ask_node(asked, task).await;
        }
        let attempt = NodeAttempt {
            asker: self,
            asked,
            task,
            is_second: false,
        };
        self.hedging.ask(attempt).await
    }

    /// Waits for a slow node and others concurrently.
    async fn first_of(
        &self,
        asked: &ShardQuery,
        task: &NodeTask,
        slow: Pin<&mut impl Future<Output = Result<ShardAnswer, PeerFailure>>>,
        others: &[NodeTask],
    ) -> Result<ShardAnswer, Unanswered> {
        let tried = [task.node];
        let others = pin!(self.ask_all(asked, others, &tried));
        let shard = task.shards.first().copied().unwrap_or_default();
        match select(slow, others).await {
            Either::Left((Err(_), others)) => others.await,
            Either::Right((Err(_), slow)) => {
                slow.await.map_err(|failure| asked.failed(shard, &failure))
            }
            Either::Left((Ok(answer), _)) | Either::Right((Ok(answer), _)) => Ok(answer),
        }
    }

    /// Queries these nodes, and others in place of those that fail, as long as there are some that were not tried.
    async fn ask_all(
        &self,
        asked: &ShardQuery,
        tasks: &[NodeTask],
        tried: &[usize],
    ) -> Result<ShardAnswer, Unanswered> {
        let parts = tasks
            .iter()
            .map(|task| self.ask_untried(asked, task, tried));
        let parts = try_join_all(parts).await?;
        ShardAnswer::merge(&asked.wanted, parts).map_err(Unanswered::Failed)
    }

    /// Queries a node, and if that fails others. While shards move, a node may have let go of one, and another one that
    /// held it stop: the next has it.
    fn ask_untried<'a>(
        &'a self,
        asked: &'a ShardQuery,
        task: &'a NodeTask,
        tried: &'a [usize],
    ) -> BoxFuture<'a, Result<ShardAnswer, Unanswered>> {
        Box::pin(async move {
            let failure = match self.ask_node(asked, task).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let shard = task.shards.first().copied().unwrap_or_default();
            // More questions would not help nodes that have too many.
            if let PeerFailure::Refused(ReplyStatus::Overloaded, _) = failure {
                return Err(asked.failed(shard, &failure));
            }
            let tried = [tried, &[task.node]].concat();
            match self.assign(asked, &task.shards, &tried) {
                Ok(others) => {
                    self.retried.fetch_add(1, Ordering::Relaxed);
                    self.ask_all(asked, &others, &tried).await
                }
                Err(missing) => Err(asked.failed(missing.shard, &failure)),
            }
        })
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
            rendered_max: asked.rendered_max(task.shards.len()),
            key: asked.key.clone(),
            wanted: Arc::clone(&asked.wanted),
        };
        let answer = self.nodes.ask(task.node, &question, self.deadline).await;
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
    /// The number of rows that a node renders for some of the shards.
    fn rendered_max(&self, shards: usize) -> usize {
        match self.share {
            RowShare::Expected => expected_rows(self.wanted.rows_max(), shards, self.asked),
            RowShare::All => usize::MAX,
        }
    }

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
