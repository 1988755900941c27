//! Second attempts: a question that takes longer than 99 of 100 did is asked of other replicas as well, and the first
//! answer wins.
//!
//! tower measures how long questions take, in whole milliseconds, and goes by what it has measured in the period before.
//! A budget bounds the second attempts: where load makes all nodes slow, they would add to it.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tower::Service;
use tower::hedge::{Hedge, Policy};
use tower::retry::budget::{Budget, TpsBudget};

use super::{Asker, ShardQuery};
use crate::answer::ShardAnswer;
use crate::engine::PeerFailure;
use crate::members::NodeTask;

/// How long is measured before that counts, and how many questions it needs.
const PERIOD: Duration = Duration::from_secs(5);
const QUESTIONS_MIN: u64 = 100;

/// The part of the questions that have no second attempt.
const PERCENTILE: f32 = 0.99;

/// Second attempts at most, as a part of the questions of the last seconds.
const BUDGET: f32 = 0.05;
const BUDGET_TIME: Duration = Duration::from_secs(10);

/// Asks other nodes, and more of them where one is slow.
pub(crate) struct Hedging(Mutex<Hedge<Attempts, SecondAttempts>>);

/// A question to a node.
pub(super) struct NodeAttempt<'q> {
    pub(super) asker: &'q Asker,
    pub(super) asked: &'q ShardQuery,
    pub(super) task: &'q NodeTask,
    /// Whether it is for other nodes than that of the task.
    pub(super) is_second: bool,
}

#[derive(Clone)]
struct Attempts;

#[derive(Clone)]
struct SecondAttempts(Arc<TpsBudget>);

impl Hedging {
    pub(crate) fn new() -> Hedging {
        let policy = SecondAttempts::new();
        let hedge =
            Hedge::new::<NodeAttempt<'static>>(Attempts, policy, QUESTIONS_MIN, PERCENTILE, PERIOD);
        Hedging(Mutex::new(hedge))
    }

    /// The answer of the node of a task, or of others where those are faster.
    pub(super) async fn ask(&self, first: NodeAttempt<'_>) -> Result<ShardAnswer, PeerFailure> {
        // It never waits before a call.
        let answer = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .call(first);
        match answer.await {
            Ok(answer) => answer,
            Err(error) => Err(PeerFailure::Broken(io::Error::other(error))),
        }
    }
}

impl<'q> Service<NodeAttempt<'q>> for Attempts {
    type Response = Result<ShardAnswer, PeerFailure>;
    type Error = Infallible;
    type Future = BoxFuture<'q, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, attempt: NodeAttempt<'q>) -> Self::Future {
        let NodeAttempt {
            asker, asked, task, ..
        } = attempt;
        if attempt.is_second {
            Box::pin(async move { Ok(Ok(second_answer(asker, asked, task).await)) })
        } else {
            Box::pin(async move { Ok(asker.ask_node(asked, task).await) })
        }
    }
}

/// The answer of other nodes. Never ready without one: then the first attempt decides.
async fn second_answer(asker: &Asker, asked: &ShardQuery, task: &NodeTask) -> ShardAnswer {
    if let Ok(others) = asker.assign(asked, &task.shards, &[task.node]) {
        asker.hedged.fetch_add(1, Ordering::Relaxed);
        if let Ok(answer) = asker.ask_all(asked, &others, &[task.node]).await {
            return answer;
        }
    }
    std::future::pending().await
}

impl SecondAttempts {
    fn new() -> SecondAttempts {
        SecondAttempts(Arc::new(TpsBudget::new(BUDGET_TIME, 0, BUDGET)))
    }
}

impl<'q> Policy<NodeAttempt<'q>> for SecondAttempts {
    fn clone_request(&self, first: &NodeAttempt<'q>) -> Option<NodeAttempt<'q>> {
        self.0.deposit();
        Some(NodeAttempt {
            is_second: true,
            ..*first
        })
    }

    fn can_retry(&self, second: &NodeAttempt<'q>) -> bool {
        let NodeAttempt {
            asker, asked, task, ..
        } = second;
        asker.assign(asked, &task.shards, &[task.node]).is_ok() && self.0.withdraw()
    }
}

#[cfg(test)]
mod tests;
