//! The way of a copy from one generation to a newer one: which shard is asked next, and for which changes.
//!
//! Shards are disjoint, so the changes of all of them are those of the corpus. A signal that moves to another shard is
//! removed from one and written to the other, in one generation. So the removals of all shards come first: otherwise a
//! copy could remove what it has just received.
//!
//! The generation to which a copy is on its way stays the same until it has arrived, whatever is published meanwhile. What
//! has changed again since comes on the way to the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::generation::{ClusterGeneration, PublishedShard};
use signaldex::query::Fingerprint;
use signaldex::{ChangeKind, Digest, Error, Position, PositionError, Result};
use signaldex_server::corpus::{ClusterPosition, FeedStage};

/// How many bytes the identities of a cluster and of what its keys see have in common.
const SHARED_BYTES: usize = 8;

/// The way of a copy.
#[derive(Clone, Debug)]
pub(super) struct ChangeWalk {
    /// The generation that the copy has; `None` for an empty copy.
    held: Option<Arc<ClusterGeneration>>,
    /// The generation to which it is on its way.
    target: Arc<ClusterGeneration>,
    /// The generation that changes are read from, at least the target.
    served: Arc<ClusterGeneration>,
    stage: FeedStage,
    /// The generation that the copy had when it last had everything that was served; 0 if it never did.
    complete: u64,
    /// Whether only this shard can have changes.
    lone: Option<u32>,
    /// Whether removals are passed.
    skips_removals: bool,
    /// The fingerprint of the key's filter.
    key: Option<Fingerprint>,
}

/// What to ask a shard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WalkStep {
    pub(super) shard: u32,
    pub(super) kind: ChangeKind,
    pub(super) since: Position,
    pub(super) until: Position,
}

/// The manifests that a position names.
pub(super) struct NamedGenerations {
    /// `None` for an empty copy.
    pub(super) held: Option<Arc<ClusterGeneration>>,
    pub(super) target: Arc<ClusterGeneration>,
    pub(super) seen: Arc<ClusterGeneration>,
}

impl ChangeWalk {
    /// The way of an empty copy.
    pub(super) fn from_nothing(served: Arc<ClusterGeneration>) -> ChangeWalk {
        ChangeWalk {
            held: None,
            target: Arc::clone(&served),
            served,
            stage: FeedStage::default(),
            complete: 0,
            lone: None,
            skips_removals: false,
            key: None,
        }
    }

    /// A copy of the generation that is served.
    pub(super) fn arrived(served: Arc<ClusterGeneration>) -> ChangeWalk {
        ChangeWalk {
            held: Some(Arc::clone(&served)),
            complete: served.generation,
            ..ChangeWalk::from_nothing(served)
        }
    }

    /// Whether a position may be of this cluster, before its manifests are looked for.
    pub(super) fn check(
        position: &ClusterPosition,
        served: &ClusterGeneration,
        key: Option<Fingerprint>,
    ) -> Result<(), PositionError> {
        let identity = identity(served, key);
        if position.cluster != identity {
            let is_of_cluster = position.cluster[..SHARED_BYTES] == identity[..SHARED_BYTES];
            return Err(if is_of_cluster {
                PositionError::OtherKeyFilter
            } else {
                PositionError::OtherIndex
            });
        }
        if position.seen > served.generation {
            return Err(PositionError::Ahead);
        }
        Ok(())
    }

    /// Goes on from a position.
    pub(super) fn resume(
        position: &ClusterPosition,
        named: NamedGenerations,
        served: Arc<ClusterGeneration>,
    ) -> Result<ChangeWalk, PositionError> {
        let NamedGenerations { held, target, seen } = named;
        if content(held.as_deref(), &target, &seen) != position.content {
            return Err(PositionError::Diverged);
        }
        let former = held.iter().chain([&target]);
        for former in former {
            check_indexes(former, &served)?;
        }
        Ok(ChangeWalk {
            held,
            target,
            served,
            stage: position.stage,
            complete: position.complete,
            lone: None,
            skips_removals: false,
            key: None,
        })
    }

    /// Leaves out all shards but one.
    pub(super) fn only(self, lone: Option<u32>) -> ChangeWalk {
        ChangeWalk { lone, ..self }
    }

    /// Passes removals.
    pub(super) fn without_removals(self) -> ChangeWalk {
        ChangeWalk {
            skips_removals: true,
            ..self
        }
    }

    /// Gives positions of what a key with a filter sees.
    pub(super) fn for_key(self, key: Option<Fingerprint>) -> ChangeWalk {
        ChangeWalk { key, ..self }
    }

    /// The generation that the copy had when it last had everything; 0 if it never did.
    pub(super) fn complete(&self) -> u64 {
        self.complete
    }

    /// The generation that the copy has.
    pub(super) fn held(&self) -> Option<&Arc<ClusterGeneration>> {
        self.held.as_ref()
    }

    /// The generation that changes are read from.
    pub(super) fn served(&self) -> &ClusterGeneration {
        &self.served
    }

    /// The position of the copy.
    pub(super) fn position(&self) -> ClusterPosition {
        let held = self.held.as_deref();
        ClusterPosition {
            cluster: identity(&self.served, self.key),
            held: held.map_or(0, |held| held.generation),
            target: self.target.generation,
            seen: self.served.generation,
            content: content(held, &self.target, &self.served),
            stage: self.stage,
            complete: self.complete,
        }
    }

    /// What to ask next; `None` when the copy has all that is served.
    ///
    /// # Errors
    /// A manifest is damaged.
    pub(super) fn next(&mut self) -> Result<Option<WalkStep>> {
        // Each turn ends at a generation, at most two.
        loop {
            if self.has_arrived() {
                if self.target.generation == self.served.generation {
                    self.complete = self.target.generation;
                    return Ok(None);
                }
                self.target = Arc::clone(&self.served);
            }
            let step = self.next_on_way()?;
            if step.is_some() {
                return Ok(step);
            }
            self.held = Some(Arc::clone(&self.target));
            self.stage = FeedStage::default();
        }
    }

    fn has_arrived(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.generation == self.target.generation)
    }

    /// What to ask next before the target; `None` when the copy has it.
    fn next_on_way(&mut self) -> Result<Option<WalkStep>> {
        loop {
            // Nothing is removed from an empty copy.
            let has_any = self.stage.upserts || (self.held.is_some() && !self.skips_removals);
            while has_any && u32::from(self.stage.shard) < self.target.shard_count() {
                let step = self.step_in(self.stage.shard.into())?;
                if step.is_some() {
                    return Ok(step);
                }
                self.pass_shard();
            }
            if self.stage.upserts {
                return Ok(None);
            }
            self.stage = FeedStage {
                upserts: true,
                ..FeedStage::default()
            };
        }
    }

    /// What to ask a shard; `None` where nothing has changed.
    fn step_in(&self, shard: u32) -> Result<Option<WalkStep>> {
        let line = |manifest: &ClusterGeneration| manifest.shards.get(shard as usize).cloned();
        let target = line(&self.target).ok_or_else(damaged)?;
        let held = self.held.as_deref().and_then(line);
        let is_same = match &held {
            Some(held) => held.position == target.position,
            None => target.signals == 0,
        };
        if is_same || self.lone.is_some_and(|lone| lone != shard) {
            return Ok(None);
        }
        let until = position(&target)?;
        let begin = match &held {
            Some(held) => position(held)?,
            None => until.at_step((0, 0)),
        };
        let step = self.stage.step.max(begin.step());
        Ok(Some(WalkStep {
            shard,
            kind: if self.stage.upserts {
                ChangeKind::Upsert
            } else {
                ChangeKind::Removal
            },
            since: begin.at_step(step),
            until,
        }))
    }

    /// Takes the changes of the shard that was asked last, up to a step.
    pub(super) fn advance(&mut self, step: (u64, u64)) {
        self.stage.step = step;
    }

    /// Takes all changes of the shard that was asked last.
    pub(super) fn pass_shard(&mut self) {
        // At most 4,096 shards.
        self.stage.shard += 1;
        self.stage.step = (0, 0);
    }
}

impl ClusterGeneration {
    /// The positions of the shards that have changed since and had anything, by number.
    ///
    /// # Errors
    /// The manifest is damaged.
    pub(super) fn positions_changed_until(
        &self,
        served: &ClusterGeneration,
    ) -> Result<BTreeMap<u32, Position>> {
        let shards = (0..).zip(self.shards.iter().zip(&served.shards));
        let changed = shards
            .filter(|(_, (known, served))| known.signals > 0 && known.position != served.position);
        changed
            .map(|(shard, (known, _))| Ok((shard, position(known)?)))
            .collect()
    }

    /// The last commit of a shard.
    ///
    /// # Errors
    /// The manifest is damaged.
    pub(super) fn last_commit(&self, shard: u32) -> Result<u64> {
        let shard = self.shards.get(shard as usize).ok_or_else(damaged)?;
        let (commit, _) = position(shard)?.step();
        Ok(commit)
    }
}

/// Where a position of a generation's cluster is for a key with a filter, or for the whole cluster; any other position stays
/// what it is.
pub(super) fn position_for(
    generation: &ClusterGeneration,
    position: &ClusterPosition,
    key: Option<Fingerprint>,
) -> ClusterPosition {
    let cluster = identity(generation, key);
    let is_of_cluster = position.cluster[..SHARED_BYTES] == cluster[..SHARED_BYTES];
    ClusterPosition {
        cluster: if is_of_cluster {
            cluster
        } else {
            position.cluster
        },
        ..position.clone()
    }
}

/// Refuses a generation whose shards are not of the indexes that are served.
pub(super) fn check_indexes(
    former: &ClusterGeneration,
    served: &ClusterGeneration,
) -> Result<(), PositionError> {
    if former.shard_count() != served.shard_count() {
        return Err(PositionError::OtherIndex);
    }
    for (former, served) in former.shards.iter().zip(&served.shards) {
        let is_same = former.position == served.position
            || matches!(
                (position(former), position(served)),
                (Ok(former), Ok(served)) if former.is_of_index_of(&served)
            );
        if !is_same {
            return Err(PositionError::OtherIndex);
        }
    }
    Ok(())
}

fn position(shard: &PublishedShard) -> Result<Position> {
    Position::parse(&shard.position).map_err(|_| damaged())
}

fn damaged() -> Error {
    Error::corrupt("the manifest of a generation has no position of a shard")
}

/// The identity of the cluster, or of what a key with a filter sees of it, which begins as that does.
fn identity(generation: &ClusterGeneration, key: Option<Fingerprint>) -> [u8; 16] {
    let mut identity = half(&generation.cluster);
    if let Some(key) = key {
        let within = Digest::of(&[identity, *key.as_bytes()].concat());
        identity[SHARED_BYTES..].copy_from_slice(&within.bytes()[..SHARED_BYTES]);
    }
    identity
}

fn content(
    held: Option<&ClusterGeneration>,
    target: &ClusterGeneration,
    seen: &ClusterGeneration,
) -> [u8; 16] {
    let revisions = held.into_iter().chain([target, seen]);
    let revisions: Vec<u8> = revisions
        .flat_map(|generation| *generation.revision().bytes())
        .collect();
    half(&Digest::of(&revisions))
}

fn half(digest: &Digest) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&digest.bytes()[..16]);
    half
}
