//! The loaded shards of a node, by generation.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use super::generation::ClusterGeneration;
use super::question::KeyScope;
use signaldex::{Error, FacetDictionary, Position, Result, Snapshot};

/// The numbers of the shards that a node has loaded, by generation.
pub(super) type HeldShards = BTreeMap<u64, Vec<u32>>;

/// The loaded shards of a node. Clones share everything; reading takes no lock.
#[derive(Clone, Default)]
pub(super) struct LoadedShards(Arc<LoadedState>);

#[derive(Default)]
struct LoadedState {
    generations: ArcSwap<BTreeMap<u64, Arc<LoadedGeneration>>>,
    changed: Notify,
}

/// A generation with the shards that are loaded.
pub(super) struct LoadedGeneration {
    pub(super) manifest: Arc<ClusterGeneration>,
    pub(super) shards: BTreeMap<u32, Arc<Snapshot>>,
    /// The labels of facets of all these shards, in their order.
    facets: Arc<FacetDictionary>,
}

/// A shard of a question.
#[derive(Clone)]
pub(super) struct AskedShard {
    /// Its number among all shards.
    pub(super) shard: u32,
    pub(super) snapshot: Arc<Snapshot>,
    /// The labels of facets of all loaded shards of the generation, of which this one has a number.
    pub(super) facets: Arc<FacetDictionary>,
    pub(super) number: usize,
    /// What the key sees, if it has a filter; the snapshot is narrowed by it.
    pub(super) key: Option<KeyScope>,
}

impl AskedShard {
    /// The shard as a key sees it.
    ///
    /// # Errors
    /// The shard is damaged.
    pub(super) fn narrowed(self, key: &KeyScope) -> Result<AskedShard> {
        let (filter, today) = key;
        Ok(AskedShard {
            snapshot: self.snapshot.narrowed(filter, *today)?,
            key: Some(key.clone()),
            ..self
        })
    }

    /// A position of the whole shard, as it is of what the key sees.
    pub(super) fn position(&self, whole: &Position) -> Position {
        let key = self.key.as_ref();
        key.map_or(*whole, |(filter, _)| whole.for_key(filter))
    }
}

impl LoadedGeneration {
    /// Cost: as [`FacetDictionary::new`].
    pub(super) fn new(
        manifest: impl Into<Arc<ClusterGeneration>>,
        shards: BTreeMap<u32, Arc<Snapshot>>,
    ) -> LoadedGeneration {
        let facets = FacetDictionary::new(shards.values().cloned().collect());
        LoadedGeneration {
            manifest: manifest.into(),
            shards,
            facets: Arc::new(facets),
        }
    }

    fn asked(&self, shard: u32) -> Option<AskedShard> {
        let snapshot = self.shards.get(&shard)?;
        Some(AskedShard {
            shard,
            snapshot: Arc::clone(snapshot),
            facets: Arc::clone(&self.facets),
            number: self.shards.range(..shard).count(),
            key: None,
        })
    }
}

impl LoadedShards {
    /// All loaded shards, by generation.
    pub(super) fn all(&self) -> Arc<BTreeMap<u64, Arc<LoadedGeneration>>> {
        self.0.generations.load_full()
    }

    /// Replaces the loaded shards of a generation. Only called by the loader.
    pub(super) fn install(&self, generation: LoadedGeneration) {
        let mut held = BTreeMap::clone(&self.all());
        held.insert(generation.manifest.generation, Arc::new(generation));
        self.store(held);
    }

    /// Lets go of these generations.
    pub(super) fn retire(&self, generations: &[u64]) {
        let mut held = BTreeMap::clone(&self.all());
        held.retain(|generation, _| !generations.contains(generation));
        self.store(held);
    }

    fn store(&self, held: BTreeMap<u64, Arc<LoadedGeneration>>) {
        self.0.generations.store(Arc::new(held));
        self.0.changed.notify_one();
    }

    /// Waits until something else is loaded than at the last call. One task waits at a time.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Shards of a generation.
    ///
    /// # Errors
    /// One of them is not loaded.
    pub(super) fn asked(&self, generation: u64, shards: &[u32]) -> Result<Vec<AskedShard>> {
        let held = self.0.generations.load();
        let held = held.get(&generation);
        let asked = |shard: &u32| {
            let asked = held.and_then(|held| held.asked(*shard));
            asked.ok_or_else(|| {
                Error::missing(format!(
                    "shard {shard} of generation {generation} is not here"
                ))
            })
        };
        shards.iter().map(asked).collect()
    }

    /// The loaded shards of each generation.
    pub(super) fn report(&self) -> HeldShards {
        let held = self.0.generations.load();
        let shards = |held: &LoadedGeneration| held.shards.keys().copied().collect();
        held.iter()
            .map(|(&generation, held)| (generation, shards(held)))
            .collect()
    }
}
