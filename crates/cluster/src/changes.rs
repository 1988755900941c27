//! The changes of a cluster after a position: of one shard after the other, as long as the answer has room.

use std::collections::BTreeSet;
use std::sync::Arc;

use time::Date;
use tokio::time::Instant;

use super::answer::{FoundChanges, ShardChange};
use super::asking::unavailable;
use super::change_walk::{ChangeWalk, NamedGenerations, WalkStep};
use super::coordinator::Coordinator;
use super::generation::ClusterGeneration;
use super::placement::shard_of;
use super::question::{ChangesOutput, ChangesQuestion, ShardRequest};
use signaldex::json::ChangesAnswer;
use signaldex::query::Fingerprint;
use signaldex::{ChangeKind, Filter, Position, PositionError, SignalId};
use signaldex_server::corpus::{
    ChangesRequest, ClusterPosition, CorpusView, FeedPosition, RenderedChanges, Unanswered,
};

/// An answer under construction.
pub(super) trait GrowingFeed: Send + Sync {
    /// The complete answer.
    type Answer;

    /// The generation by which is judged what is new; `None` where nothing is.
    fn known(&self) -> Option<&ClusterGeneration> {
        None
    }

    /// What is reported of which signals.
    fn asked(&self) -> (&Filter, ChangesOutput);

    /// How many changes of a kind it has room for.
    fn room(&self, kind: ChangeKind) -> usize;

    /// The signals of changes of a shard of which has to be known whether the corpus had them before.
    fn unsure(&self, _step: &WalkStep, _found: &FoundChanges) -> Vec<SignalId> {
        Vec::new()
    }

    /// Adds a change of a shard, unless the answer would be too long. `held` are those of the unsure that the corpus had.
    ///
    /// # Errors
    /// The change is not what was asked for.
    fn push(
        &mut self,
        step: &WalkStep,
        change: &ShardChange,
        held: &BTreeSet<SignalId>,
    ) -> signaldex::Result<bool>;

    /// Completes it with the position after its changes, and whether there are more.
    fn finish(self, position: ClusterPosition, more: bool) -> Self::Answer;
}

/// The fingerprint of the filter that a view is narrowed by.
pub(super) fn key_of(at: &CorpusView) -> Option<Fingerprint> {
    at.key_filter().map(|(filter, _)| filter.fingerprint())
}

/// Changes under construction.
struct GrowingAnswer<'r> {
    request: &'r ChangesRequest,
    answer: ChangesAnswer,
    changes: usize,
    upserts: usize,
}

impl Coordinator {
    /// The changes after a position, as [`Corpus::changes`](signaldex_server::corpus::Corpus::changes) says.
    pub(super) async fn find_changes(
        &self,
        at: &CorpusView,
        request: &ChangesRequest,
        today: Date,
    ) -> Result<Result<RenderedChanges, PositionError>, Unanswered> {
        let since = request.since.as_ref();
        let walk = match self.walk_of(at, &request.filter, since).await? {
            Ok(walk) => walk,
            Err(error) => return Ok(Err(error)),
        };
        let growing = GrowingAnswer {
            request,
            answer: ChangesAnswer::new(request.rendering),
            changes: 0,
            upserts: 0,
        };
        self.follow(at, walk, growing, today).await
    }

    /// The way of the copy at a position, of the signals that a filter selects of what a view shows.
    pub(super) async fn walk_of(
        &self,
        at: &CorpusView,
        filter: &Filter,
        since: Option<&FeedPosition>,
    ) -> Result<Result<ChangeWalk, PositionError>, Unanswered> {
        let served = self.manifests.loaded(at.generation);
        let served =
            served.ok_or_else(|| unavailable("No generation of the corpus is loaded yet."))?;
        let lone = filter.company_slug();
        let lone = lone.map(|slug| shard_of(slug, served.shard_count()));
        let key = key_of(at);
        let walk = self.walk(since, served, key).await?;
        Ok(walk.map(|walk| walk.only(lone).for_key(key)))
    }

    /// The way of the copy at a position; that of one without a position is at its end.
    async fn walk(
        &self,
        since: Option<&FeedPosition>,
        served: Arc<ClusterGeneration>,
        key: Option<Fingerprint>,
    ) -> Result<Result<ChangeWalk, PositionError>, Unanswered> {
        let position = match since {
            None => return Ok(Ok(ChangeWalk::arrived(served))),
            Some(FeedPosition::Index(Position::START)) => {
                return Ok(Ok(ChangeWalk::from_nothing(served)));
            }
            Some(FeedPosition::Index(_)) => return Ok(Err(PositionError::OtherIndex)),
            Some(FeedPosition::Cluster(position)) => position,
        };
        if let Err(error) = ChangeWalk::check(position, &served, key) {
            return Ok(Err(error));
        }
        let named = self.named(position).await?;
        Ok(named.and_then(|named| ChangeWalk::resume(position, named, served)))
    }

    /// The manifests that a position names.
    async fn named(
        &self,
        position: &ClusterPosition,
    ) -> Result<Result<NamedGenerations, PositionError>, Unanswered> {
        let held = match position.held {
            0 => None,
            held => Some(self.manifest(held).await?),
        };
        let (target, seen) = (
            self.manifest(position.target).await?,
            self.manifest(position.seen).await?,
        );
        let named = move || {
            Ok(NamedGenerations {
                held: held.transpose()?,
                target: target?,
                seen: seen?,
            })
        };
        Ok(named())
    }

    pub(super) async fn manifest(
        &self,
        generation: u64,
    ) -> Result<Result<Arc<ClusterGeneration>, PositionError>, Unanswered> {
        match self.manifests.get(generation).await {
            Ok(found) => Ok(found.ok_or(PositionError::Expired)),
            Err(error) => {
                tracing::warn!(generation, error = format_args!("{error:#}"), "not read");
                let detail =
                    "The store does not answer, which says what has changed; nothing was charged.";
                Err(unavailable(detail))
            }
        }
    }

    /// Asks shards on the way of a copy, until the answer is full or a query may take no longer.
    pub(super) async fn follow<F: GrowingFeed>(
        &self,
        at: &CorpusView,
        mut walk: ChangeWalk,
        mut growing: F,
        today: Date,
    ) -> Result<Result<F::Answer, PositionError>, Unanswered> {
        let begun = Instant::now();
        while growing.room(ChangeKind::Upsert) > 0 && begun.elapsed() < self.deadline() {
            let Some(step) = walk.next().map_err(Unanswered::Failed)? else {
                return Ok(Ok(growing.finish(walk.position(), false)));
            };
            let found = match self.changes_of(at, &step, &growing, today).await? {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            let held = match growing.known() {
                Some(known) => {
                    let ids = growing.unsure(&step, &found);
                    self.held_before(at, known, walk.served(), ids).await?
                }
                None => BTreeSet::new(),
            };
            for change in &found.changes {
                let is_added = growing.push(&step, change, &held);
                if !is_added.map_err(Unanswered::Failed)? {
                    return Ok(Ok(growing.finish(walk.position(), true)));
                }
                walk.advance(change.step);
            }
            if found.is_last {
                walk.pass_shard();
            } else {
                walk.advance(found.step);
            }
        }
        let more = walk.next().map_err(Unanswered::Failed)?.is_some();
        Ok(Ok(growing.finish(walk.position(), more)))
    }

    async fn changes_of<F: GrowingFeed>(
        &self,
        at: &CorpusView,
        step: &WalkStep,
        growing: &F,
        today: Date,
    ) -> Result<Result<FoundChanges, PositionError>, Unanswered> {
        let (filter, output) = growing.asked();
        let wanted = ShardRequest::Changes(Box::new(ChangesQuestion {
            filter: filter.clone(),
            today,
            output,
            limit: growing.room(step.kind),
            since: step.since,
            until: step.until,
            kind: step.kind,
        }));
        let answer = self.ask(at, &[step.shard], wanted).await?;
        answer.changes().map_err(Unanswered::Failed)
    }
}

impl GrowingFeed for GrowingAnswer<'_> {
    type Answer = RenderedChanges;

    fn asked(&self) -> (&Filter, ChangesOutput) {
        let output = ChangesOutput::Feed(self.request.rendering);
        (&self.request.filter, output)
    }

    fn room(&self, kind: ChangeKind) -> usize {
        let room = self.request.limit.saturating_sub(self.changes);
        match kind {
            ChangeKind::Removal => room,
            ChangeKind::Upsert => room.min(self.request.upserts_max.saturating_sub(self.upserts)),
        }
    }

    fn push(
        &mut self,
        step: &WalkStep,
        change: &ShardChange,
        _held: &BTreeSet<SignalId>,
    ) -> signaldex::Result<bool> {
        if !self.answer.push_written(&change.item) {
            return Ok(false);
        }
        self.changes += 1;
        self.upserts += usize::from(step.kind == ChangeKind::Upsert);
        Ok(true)
    }

    fn finish(self, position: ClusterPosition, more: bool) -> RenderedChanges {
        RenderedChanges {
            body: self.answer.finish(&position.to_string(), more),
            upserts: self.upserts as u64,
        }
    }
}

#[cfg(test)]
mod tests;
