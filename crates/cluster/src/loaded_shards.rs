//! The loaded shards of a node, by generation.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::answer::HeldShards;
use super::generation::ClusterGeneration;
use signaldex::{Error, Result, Snapshot};

/// The loaded shards of a node. Clones share everything; reading takes no lock.
#[derive(Clone, Default)]
pub(super) struct LoadedShards(Arc<ArcSwap<BTreeMap<u64, Arc<LoadedGeneration>>>>);

/// A generation with the shards that are loaded.
pub(super) struct LoadedGeneration {
    pub(super) manifest: ClusterGeneration,
    pub(super) shards: BTreeMap<u32, Arc<Snapshot>>,
}

impl LoadedShards {
    /// All loaded shards, by generation.
    pub(super) fn all(&self) -> Arc<BTreeMap<u64, Arc<LoadedGeneration>>> {
        self.0.load_full()
    }

    /// Replaces the loaded shards of a generation. Only called by the loader.
    pub(super) fn install(&self, generation: LoadedGeneration) {
        let mut held = BTreeMap::clone(&self.all());
        held.insert(generation.manifest.generation, Arc::new(generation));
        self.0.store(Arc::new(held));
    }

    /// Lets go of these generations.
    pub(super) fn retire(&self, generations: &[u64]) {
        let mut held = BTreeMap::clone(&self.all());
        held.retain(|generation, _| !generations.contains(generation));
        self.0.store(Arc::new(held));
    }

    /// The snapshots of shards of a generation.
    ///
    /// # Errors
    /// One of them is not loaded.
    pub(super) fn snapshots(&self, generation: u64, shards: &[u32]) -> Result<Vec<Arc<Snapshot>>> {
        let held = self.0.load();
        let held = held.get(&generation);
        let snapshot = |shard: &u32| {
            let snapshot = held.and_then(|held| held.shards.get(shard));
            snapshot.cloned().ok_or_else(|| {
                Error::missing(format!(
                    "shard {shard} of generation {generation} is not here"
                ))
            })
        };
        shards.iter().map(snapshot).collect()
    }

    /// The loaded shards of each generation.
    pub(super) fn report(&self) -> HeldShards {
        let held = self.0.load();
        let shards = |held: &LoadedGeneration| held.shards.keys().copied().collect();
        held.iter()
            .map(|(&generation, held)| (generation, shards(held)))
            .collect()
    }
}
