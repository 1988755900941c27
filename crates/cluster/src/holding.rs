//! What a node is to hold, and what it lets go of: decisions without files, a store or a clock, which the
//! [loader](super::loader) carries out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::generation::ClusterGeneration;
use super::leases::Leases;
use super::loaded_shards::{LoadedGeneration, LoadedShards};
use super::members::Members;
use signaldex::Snapshot;

/// The decisions of one node.
pub(super) struct Holding {
    members: Arc<Members>,
    loaded: LoadedShards,
    leases: Leases,
    /// Since when each generation is not among those to keep.
    unused: BTreeMap<u64, Instant>,
    /// Since when each shard has its place elsewhere, by generation.
    spare: BTreeMap<(u64, u32), Instant>,
}

impl Holding {
    pub(super) fn new(members: Arc<Members>, loaded: LoadedShards, leases: Leases) -> Holding {
        Holding {
            members,
            loaded,
            leases,
            unused: BTreeMap::new(),
            spare: BTreeMap::new(),
        }
    }

    /// The shards of a generation that have their places at this node, each with the generation of its index.
    pub(super) fn own_shards(&self, manifest: &ClusterGeneration) -> Vec<(u32, u64)> {
        let count = manifest.shard_count();
        let shards = (0..).zip(&manifest.shards);
        let placing = self.members.placing();
        shards
            .filter(|&(shard, _)| placing.is_own(shard, count))
            .map(|(shard, published)| (shard, published.generation))
            .collect()
    }

    pub(super) fn newest_held(&self) -> u64 {
        let held = self.loaded.all();
        held.keys().next_back().copied().unwrap_or(0)
    }

    /// The newest generation of which this node has loaded all its shards.
    pub(super) fn newest_complete(&self) -> u64 {
        let held = self.loaded.all();
        let is_complete = |held: &&Arc<LoadedGeneration>| {
            let own = self.own_shards(&held.manifest);
            own.iter().all(|(shard, _)| held.shards.contains_key(shard))
        };
        let complete = held.values().rev().find(is_complete);
        complete.map_or(0, |held| held.manifest.generation)
    }

    /// Serves shards of a generation, beside those of it that are held already: where only places have changed, others may
    /// still ask for these.
    pub(super) fn install(
        &self,
        manifest: impl Into<Arc<ClusterGeneration>>,
        loaded: BTreeMap<u32, Arc<Snapshot>>,
    ) {
        let manifest = manifest.into();
        let generation = manifest.generation;
        let held = self.loaded.all();
        let mut shards = held
            .get(&generation)
            .map_or_else(BTreeMap::new, |held| held.shards.clone());
        shards.extend(loaded);
        tracing::info!(generation, shards = shards.len(), "a generation is loaded");
        self.loaded.install(LoadedGeneration::new(manifest, shards));
    }

    /// Lets go of what has not been needed for `grace`, as requests that began on it are over then. Returns whether there was
    /// anything.
    pub(super) fn retire(&mut self, now: Instant, grace: Duration) -> bool {
        let has_retired = self.retire_generations(now, grace);
        self.retire_spare(now, grace) || has_retired
    }

    /// The generations to keep: for queries, and for exports under way.
    fn to_keep(&self) -> BTreeSet<u64> {
        self.leases.hear(self.members.leased_by_others());
        let mut kept = self.members.to_keep();
        kept.extend(self.leases.kept(self.loaded.all().keys().copied()));
        kept
    }

    fn retire_generations(&mut self, now: Instant, grace: Duration) -> bool {
        let (held, kept) = (self.loaded.all(), self.to_keep());
        self.unused
            .retain(|generation, _| held.contains_key(generation) && !kept.contains(generation));
        for &generation in held.keys().filter(|held| !kept.contains(held)) {
            self.unused.entry(generation).or_insert(now);
        }
        let is_due = |(_, since): &(&u64, &Instant)| now.duration_since(**since) >= grace;
        let due = self.unused.iter().filter(is_due);
        let due: Vec<u64> = due.map(|(&due, _)| due).collect();
        if !due.is_empty() {
            self.loaded.retire(&due);
        }
        !due.is_empty()
    }

    /// Lets go of the shards that have had their places elsewhere, with all the nodes of those places answering for them.
    fn retire_spare(&mut self, now: Instant, grace: Duration) -> bool {
        let held = self.loaded.all();
        let shards = held.iter().flat_map(|(&generation, held)| {
            let shards = held.shards.keys();
            shards.map(move |&shard| (generation, shard))
        });
        let is_spare = |&(generation, shard): &(u64, u32)| self.members.is_spare(generation, shard);
        let spare: BTreeSet<(u64, u32)> = shards.filter(is_spare).collect();
        self.spare.retain(|shard, _| spare.contains(shard));
        for &shard in &spare {
            self.spare.entry(shard).or_insert(now);
        }
        let is_due = |generation: u64, shard: u32| {
            let since = self.spare.get(&(generation, shard));
            since.is_some_and(|&since| now.duration_since(since) >= grace)
        };
        let mut has_retired = false;
        for (&generation, held) in held.iter() {
            let mut shards = held.shards.clone();
            shards.retain(|&shard, _| !is_due(generation, shard));
            if shards.len() < held.shards.len() {
                has_retired = true;
                let manifest = Arc::clone(&held.manifest);
                let left = shards.len();
                tracing::info!(generation, left, "shards have moved to other nodes");
                self.loaded.install(LoadedGeneration::new(manifest, shards));
            }
        }
        has_retired
    }
}

#[cfg(test)]
mod tests;
