//! Manifests of generations by number: those that are loaded, and earlier ones from the store, of which a few are kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::generation::ClusterGeneration;
use super::loaded_shards::LoadedShards;
use signaldex::replicate::{ReplicaErrorKind, ReplicaResult, Store};

/// Manifests that are kept: clients that follow changes are at a few generations.
const KEPT_MAX: usize = 16;

/// Reads manifests.
pub(super) struct ManifestCache {
    store: Store,
    loaded: LoadedShards,
    /// The last ones that were read from the store, oldest first.
    read: Mutex<VecDeque<Arc<ClusterGeneration>>>,
}

impl ManifestCache {
    pub(super) fn new(store: Store, loaded: LoadedShards) -> ManifestCache {
        ManifestCache {
            store,
            loaded,
            read: Mutex::default(),
        }
    }

    /// The manifest of a loaded generation.
    pub(super) fn loaded(&self, generation: u64) -> Option<Arc<ClusterGeneration>> {
        let held = self.loaded.all();
        held.get(&generation).map(|held| Arc::clone(&held.manifest))
    }

    /// The manifest of a generation; `None` where it was removed or is damaged.
    ///
    /// # Errors
    /// The store does not answer.
    pub(super) async fn get(
        &self,
        generation: u64,
    ) -> ReplicaResult<Option<Arc<ClusterGeneration>>> {
        if let Some(known) = self.loaded(generation).or_else(|| self.kept(generation)) {
            return Ok(Some(known));
        }
        let read = match ClusterGeneration::read(&self.store, generation).await {
            Ok(read) => Arc::new(read),
            Err(error) if error.kind() == ReplicaErrorKind::Store => return Err(error),
            Err(_) => return Ok(None),
        };
        let mut kept = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(&read));
        Ok(Some(read))
    }

    fn kept(&self, generation: u64) -> Option<Arc<ClusterGeneration>> {
        let kept = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let of_generation = |manifest: &&Arc<ClusterGeneration>| manifest.generation == generation;
        kept.iter().find(of_generation).map(Arc::clone)
    }
}
