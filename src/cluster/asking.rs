//! Asking shards of one generation: one replica of each, and others where it fails or lets us wait.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select, try_join_all};

use super::answer::Answer;
use super::members::{Members, Task, Unreachable};
use super::messages::Status;
use super::nodes::Nodes;
use super::peer::Failure;
use super::question::{Question, Wanted};
use crate::corpus::Unanswered;

/// Asks nodes for shards.
pub(super) struct Asker {
    pub(super) nodes: Nodes,
    pub(super) members: Arc<Members>,
    /// The longest that asking may take.
    pub(super) deadline: Duration,
    /// How long a node is waited for before other replicas are asked as well.
    pub(super) first_attempt: Duration,
}

/// What is asked of some shards of a generation.
struct Asked {
    generation: u64,
    /// How many shards the generation has.
    shard_count: u32,
    wanted: Arc<Wanted>,
}

impl Asker {
    /// Asks shards of a generation, and merges what they answer.
    pub(super) async fn ask(
        &self,
        generation: u64,
        shards: &[u32],
        wanted: Wanted,
    ) -> Result<Answer, Unanswered> {
        let asked = Asked {
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
        Answer::merge(&asked.wanted, parts).map_err(Unanswered::Failed)
    }

    /// Which nodes to ask, this one last: the others then have their questions before it begins to work.
    fn assign(
        &self,
        asked: &Asked,
        shards: &[u32],
        avoided: &[usize],
    ) -> Result<Vec<Task>, Unreachable> {
        let (generation, count) = (asked.generation, asked.shard_count);
        let mut tasks = self.members.assign(generation, count, shards, avoided)?;
        tasks.sort_by_key(|task| task.node == self.members.own());
        Ok(tasks)
    }

    async fn part_in_time(&self, asked: &Asked, task: &Task) -> Result<Answer, Unanswered> {
        let part = tokio::time::timeout(self.deadline, self.part(asked, task));
        part.await.unwrap_or_else(|_| {
            let shard = task.shards.first().copied().unwrap_or_default();
            Err(asked.unanswered(shard, "has not answered in time"))
        })
    }

    /// What the shards of a task answer: at their node, or at others where that fails or is slow.
    async fn part(&self, asked: &Asked, task: &Task) -> Result<Answer, Unanswered> {
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
            // Nobody else has them.
            (None, Err(missing)) => {
                let answer = first.await;
                answer.map_err(|failure| asked.failed(missing.shard, &failure))
            }
        }
    }

    /// Waits for a slow node and for others at once.
    async fn first_of(
        &self,
        asked: &Asked,
        task: &Task,
        slow: Pin<&mut impl Future<Output = Result<Answer, Failure>>>,
        others: &[Task],
    ) -> Result<Answer, Unanswered> {
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

    /// Asks these nodes, without another attempt.
    async fn ask_all(&self, asked: &Asked, tasks: &[Task]) -> Result<Answer, Unanswered> {
        let parts = tasks.iter().map(async |task: &Task| {
            let answer = self.ask_node(asked, task).await;
            let shard = task.shards.first().copied().unwrap_or_default();
            answer.map_err(|failure| asked.failed(shard, &failure))
        });
        let parts = try_join_all(parts).await?;
        Answer::merge(&asked.wanted, parts).map_err(Unanswered::Failed)
    }

    /// Asks one node, and notes what a failure says of it.
    async fn ask_node(&self, asked: &Asked, task: &Task) -> Result<Answer, Failure> {
        let question = Question {
            generation: asked.generation,
            shards: task.shards.clone(),
            wanted: Arc::clone(&asked.wanted),
        };
        let answer = self.nodes.ask(task.node, &question).await;
        match &answer {
            Ok(_) => {}
            Err(Failure::Dead(error)) => self.members.died(task.node, &error.to_string()),
            Err(Failure::Broken(error)) => {
                let node = self.members.name(task.node);
                tracing::debug!(node, %error, "a connection with a node is broken");
                self.members.slowed(task.node);
            }
            Err(Failure::Refused(Status::Overloaded, _)) => self.members.slowed(task.node),
            Err(Failure::Refused(_, reason)) => {
                let node = self.members.name(task.node);
                tracing::warn!(node, reason, "a node has refused a question");
            }
        }
        answer
    }
}

impl Asked {
    fn failed(&self, shard: u32, failure: &Failure) -> Unanswered {
        let reason = match failure {
            Failure::Dead(_) => "has no live replica",
            Failure::Broken(_) => "could not be reached",
            Failure::Refused(Status::Overloaded, _) => "is asked too much",
            Failure::Refused(..) => "could not be asked",
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
