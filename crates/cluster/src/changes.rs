//! The changes of a cluster after a position: of one shard after the other, as long as the answer has room.

use std::sync::Arc;

use time::Date;
use tokio::time::Instant;

use super::answer::FoundChanges;
use super::asking::unavailable;
use super::change_walk::{ChangeWalk, NamedGenerations, WalkStep};
use super::coordinator::Coordinator;
use super::generation::ClusterGeneration;
use super::placement::shard_of;
use super::question::{ChangesQuestion, ShardRequest};
use signaldex::json::ChangesAnswer;
use signaldex::query::Fingerprint;
use signaldex::{ChangeKind, Position, PositionError};
use signaldex_server::corpus::{
    ChangesRequest, ClusterPosition, CorpusView, FeedPosition, RenderedChanges, Unanswered,
};

/// An answer under construction.
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
        let served = self.manifests.loaded(at.generation);
        let served =
            served.ok_or_else(|| unavailable("No generation of the corpus is loaded yet."))?;
        let lone = request.filter.company_slug();
        let lone = lone.map(|slug| shard_of(slug, served.shard_count()));
        let key = at.key_filter().map(|(filter, _)| filter.fingerprint());
        let walk = match self.walk(request.since.as_ref(), served, key).await? {
            Ok(walk) => walk.only(lone).for_key(key),
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

    async fn manifest(
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
    async fn follow(
        &self,
        at: &CorpusView,
        mut walk: ChangeWalk,
        mut growing: GrowingAnswer<'_>,
        today: Date,
    ) -> Result<Result<RenderedChanges, PositionError>, Unanswered> {
        let begun = Instant::now();
        while growing.has_room() && begun.elapsed() < self.deadline() {
            let Some(step) = walk.next().map_err(Unanswered::Failed)? else {
                return Ok(Ok(growing.finish(&walk, false)));
            };
            let kind = step.kind;
            let found = match self.changes_of(at, step, &growing, today).await? {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            for change in &found.changes {
                if !growing.push(kind, &change.item) {
                    return Ok(Ok(growing.finish(&walk, true)));
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
        Ok(Ok(growing.finish(&walk, more)))
    }

    async fn changes_of(
        &self,
        at: &CorpusView,
        step: WalkStep,
        growing: &GrowingAnswer<'_>,
        today: Date,
    ) -> Result<Result<FoundChanges, PositionError>, Unanswered> {
        let wanted = ShardRequest::Changes(Box::new(ChangesQuestion {
            filter: growing.request.filter.clone(),
            today,
            rendering: growing.request.rendering,
            limit: growing.room(step.kind),
            since: step.since,
            until: step.until,
            kind: step.kind,
        }));
        let answer = self.ask(at, &[step.shard], wanted).await?;
        answer.changes().map_err(Unanswered::Failed)
    }
}

impl GrowingAnswer<'_> {
    /// How many changes of a kind it has room for.
    fn room(&self, kind: ChangeKind) -> usize {
        let room = self.request.limit.saturating_sub(self.changes);
        match kind {
            ChangeKind::Removal => room,
            ChangeKind::Upsert => room.min(self.request.upserts_max.saturating_sub(self.upserts)),
        }
    }

    fn has_room(&self) -> bool {
        self.room(ChangeKind::Upsert) > 0
    }

    /// Adds a change, unless the answer would be too long.
    fn push(&mut self, kind: ChangeKind, item: &[u8]) -> bool {
        if !self.answer.push_written(item) {
            return false;
        }
        self.changes += 1;
        self.upserts += usize::from(kind == ChangeKind::Upsert);
        true
    }

    fn finish(self, walk: &ChangeWalk, more: bool) -> RenderedChanges {
        RenderedChanges {
            body: self.answer.finish(&walk.position().to_string(), more),
            upserts: self.upserts as u64,
        }
    }
}

#[cfg(test)]
mod tests;
