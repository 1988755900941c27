//! The matches of saved searches in a cluster: upserts of its feed of changes, and which searches changes concern.
//!
//! A match is new if the corpus did not have its signal when the reader last had everything. A signal that moves is added to
//! one shard and deleted from another, so the shards that have changed are asked whether they had it.

use std::collections::BTreeSet;
use std::sync::Arc;

use time::Date;
use tokio::time::Instant;

use super::answer::{ChangeOrigin, FoundChanges, ShardChange};
use super::change_walk::{ChangeWalk, WalkStep, check_indexes};
use super::changes::GrowingFeed;
use super::coordinator::Coordinator;
use super::generation::ClusterGeneration;
use super::question::{ChangesOutput, ChangesQuestion, DeletedQuestion, ROWS_MAX, ShardRequest};
use signaldex::{ChangeKind, Error, Filter, PositionError, SignalId};
use signaldex_server::corpus::{
    ChangePlace, ClusterPosition, ConcernedSearches, CorpusView, FeedPosition, MatchesRequest,
    RenderedMatches, Unanswered, rendered_match,
};

/// Matches under construction.
struct GrowingMatches<'r> {
    request: &'r MatchesRequest,
    page: RenderedMatches,
    bytes: usize,
    /// What the corpus had when the reader last had everything; `None` for nothing.
    known: Option<Arc<ClusterGeneration>>,
}

impl Coordinator {
    /// The matches after a position, as [`Corpus::matches`](signaldex_server::corpus::Corpus::matches) says.
    pub(super) async fn find_matches(
        &self,
        at: &CorpusView,
        request: &MatchesRequest,
        today: Date,
    ) -> Result<Result<RenderedMatches, PositionError>, Unanswered> {
        let walk = self.walk_of(at, &request.filter, Some(&request.since));
        let walk = match walk.await? {
            Ok(walk) if request.removals => walk,
            Ok(walk) => walk.without_removals(),
            Err(error) => return Ok(Err(error)),
        };
        let growing = GrowingMatches {
            request,
            page: RenderedMatches {
                matches: Vec::new(),
                removed: Vec::new(),
                next: request.since.clone(),
                more: true,
            },
            bytes: 0,
            known: self.known(&walk).await?,
        };
        self.follow(at, walk, growing, today).await
    }

    /// The generation by which is judged what is new. Once it is pruned, the one that the reader has.
    async fn known(&self, walk: &ChangeWalk) -> Result<Option<Arc<ClusterGeneration>>, Unanswered> {
        if walk.complete() == 0 {
            return Ok(None);
        }
        let found = self.manifest(walk.complete()).await?;
        let found = found.and_then(|found| check_indexes(&found, walk.served()).map(|()| found));
        Ok(found.ok().or_else(|| walk.held().cloned()))
    }

    /// Those of some signals that the corpus had at a generation and that a shard has deleted since.
    pub(super) async fn held_before(
        &self,
        at: &CorpusView,
        known: &ClusterGeneration,
        served: &ClusterGeneration,
        ids: Vec<SignalId>,
    ) -> Result<BTreeSet<SignalId>, Unanswered> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let since = known.positions_changed_until(served);
        let since = since.map_err(Unanswered::Failed)?;
        if since.is_empty() {
            return Ok(BTreeSet::new());
        }
        let shards: Vec<u32> = since.keys().copied().collect();
        let wanted = ShardRequest::Deleted(Box::new(DeletedQuestion { ids, since }));
        let rows = self.ask(at, &shards, wanted).await?.rows();
        let rows = rows.map_err(Unanswered::Failed)?;
        Ok(rows
            .iter()
            .filter_map(|row| SignalId::new(row.id))
            .collect())
    }

    /// Which searches something after a position concerns, as
    /// [`Corpus::concerned`](signaldex_server::corpus::Corpus::concerned) says. After the time of a query, all of them.
    pub(super) async fn find_concerned(
        &self,
        at: &CorpusView,
        since: &FeedPosition,
        searches: Vec<Filter>,
        today: Date,
    ) -> Result<Result<ConcernedSearches, PositionError>, Unanswered> {
        let everything = Filter::default();
        let mut walk = match self.walk_of(at, &everything, Some(since)).await? {
            Ok(walk) => walk,
            Err(error) => return Ok(Err(error)),
        };
        let (begun, count) = (Instant::now(), searches.len());
        let output = ChangesOutput::Searches(searches);
        let mut concerned = BTreeSet::new();
        // Invariant: `concerned` has the searches of everything up to the walk's position; `count` stands for removals.
        while let Some(step) = walk.next().map_err(Unanswered::Failed)? {
            if begun.elapsed() > self.deadline() {
                concerned.extend(0..=count);
                break;
            }
            let is_removal = step.kind == ChangeKind::Removal;
            if is_removal && concerned.contains(&count) {
                walk.pass_shard();
                continue;
            }
            let wanted = ShardRequest::Changes(Box::new(ChangesQuestion {
                filter: everything.clone(),
                today,
                output: output.clone(),
                // One removal is enough.
                limit: if is_removal { 1 } else { ROWS_MAX },
                since: step.since,
                until: step.until,
                kind: step.kind,
            }));
            let found = self.ask(at, &[step.shard], wanted).await?.changes();
            let found = match found.map_err(Unanswered::Failed)? {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            for change in &found.changes {
                let index = std::str::from_utf8(&change.item).unwrap_or_default();
                let index = index
                    .parse::<usize>()
                    .map_err(|_| Unanswered::Failed(foreign()))?;
                concerned.insert(index);
            }
            if found.is_last || is_removal && concerned.contains(&count) {
                walk.pass_shard();
            } else {
                walk.advance(found.step);
            }
        }
        let removals = concerned.split_off(&count);
        Ok(Ok(ConcernedSearches {
            matched: concerned.into_iter().collect(),
            removals: !removals.is_empty(),
        }))
    }
}

impl GrowingMatches<'_> {
    /// Whether a signal was added to a shard after the generation by which is judged what is new.
    fn is_added_since(&self, shard: u32, origin: &ChangeOrigin) -> signaldex::Result<bool> {
        let known = self.known.as_ref();
        let last = known.map_or(Ok(0), |known| known.last_commit(shard))?;
        Ok(origin.added > last)
    }
}

impl GrowingFeed for GrowingMatches<'_> {
    type Answer = RenderedMatches;

    fn known(&self) -> Option<&ClusterGeneration> {
        self.known.as_deref()
    }

    fn asked(&self) -> (&Filter, ChangesOutput) {
        let output = ChangesOutput::Matches(self.request.rendering);
        (&self.request.filter, output)
    }

    fn room(&self, kind: ChangeKind) -> usize {
        let (matches, removed) = (self.page.matches.len(), self.page.removed.len());
        let room = self.request.limit.saturating_sub(matches + removed);
        match kind {
            ChangeKind::Removal => room,
            ChangeKind::Upsert => room.min(self.request.matches_max.saturating_sub(matches)),
        }
    }

    fn unsure(&self, step: &WalkStep, found: &FoundChanges) -> Vec<SignalId> {
        let origins = found.changes.iter().filter_map(|change| change.origin);
        let added =
            origins.filter(|origin| self.is_added_since(step.shard, origin).unwrap_or(true));
        added.map(|origin| origin.signal).collect()
    }

    fn push(
        &mut self,
        step: &WalkStep,
        change: &ShardChange,
        held: &BTreeSet<SignalId>,
    ) -> signaldex::Result<bool> {
        let origin = change.origin.ok_or_else(foreign)?;
        if step.kind == ChangeKind::Removal {
            self.page.removed.push(origin.signal);
            return Ok(true);
        }
        let is_new = self.is_added_since(step.shard, &origin)? && !held.contains(&origin.signal);
        if self.request.only_new && !is_new {
            return Ok(true);
        }
        let place = ChangePlace {
            shard: Some(step.shard),
            commit: origin.commit,
        };
        let written = (origin.signal, &change.item[..]);
        let found = rendered_match(&self.request.search, written, place, is_new);
        self.bytes += found.json.len();
        if self.bytes > self.request.bytes_max && !self.page.matches.is_empty() {
            return Ok(false);
        }
        self.page.matches.push(found);
        Ok(true)
    }

    fn finish(self, position: ClusterPosition, more: bool) -> RenderedMatches {
        RenderedMatches {
            next: FeedPosition::Cluster(position),
            more,
            ..self.page
        }
    }
}

fn foreign() -> Error {
    Error::corrupt("a node returned a change without its origin")
}

#[cfg(test)]
mod tests;
