//! Generations of a cluster: manifests with the generation of each shard's index. A shard that has not changed keeps
//! its generation, so nothing of it is published, fetched or opened again.
//!
//! ```text
//! shards/<count>/<shard>/...                each shard as `replicate` publishes an index
//! cluster/manifests/<generation, 20 digits>  created once, when all shards exist; never changed
//! ```
//!
//! The number of shards is part of the path, so a corpus can be published again with another number.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use signaldex::replicate::{
    CLUSTER, CLUSTER_MAGIC, ReplicaResult, Store, open_seal, seal, shard_folder,
};
use signaldex::{Digest, Error, Result};

/// Maximum number of shards.
pub(super) const SHARDS_MAX: u32 = 4_096;

/// The manifest of a cluster's generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterGeneration {
    pub(super) generation: u64,
    /// The identity of the folder of shards that it was published from.
    pub(super) cluster: Digest,
    /// The shards by number.
    pub(super) shards: Vec<PublishedShard>,
}

/// A shard of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedShard {
    /// The generation of the shard's index.
    pub(super) generation: u64,
    pub(super) signals: u64,
    pub(super) bytes: u64,
    /// The digest of the identity and content of its index.
    pub(super) revision: Digest,
    /// The position in its feed of changes, which names the identity of its index and its last commit.
    pub(super) position: String,
}

impl ClusterGeneration {
    /// The digest of the content of all shards.
    pub(super) fn revision(&self) -> Digest {
        let shards = self.shards.iter();
        let revisions: Vec<u8> = shards.flat_map(|shard| *shard.revision.bytes()).collect();
        Digest::of(&[&self.generation.to_le_bytes()[..], &revisions].concat())
    }

    /// The number of shards.
    pub(super) fn shard_count(&self) -> u32 {
        self.shards.len() as u32
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        seal(CLUSTER_MAGIC, self)
    }

    fn decode(bytes: &[u8]) -> Result<ClusterGeneration> {
        let read: ClusterGeneration = open_seal(CLUSTER_MAGIC, bytes)?;
        if (1..=SHARDS_MAX as usize).contains(&read.shards.len()) {
            Ok(read)
        } else {
            Err(Error::corrupt(format!(
                "it has {} shards; 1 to {SHARDS_MAX} are allowed",
                read.shards.len()
            )))
        }
    }

    /// Reads a published generation.
    pub(super) async fn read(store: &Store, generation: u64) -> ReplicaResult<ClusterGeneration> {
        let bytes = manifests(store).manifest(generation).await?;
        let missing = || Error::missing(format!("cluster generation {generation} is missing"));
        let read = ClusterGeneration::decode(&bytes.ok_or_else(missing)?)?;
        if read.generation == generation {
            Ok(read)
        } else {
            Err(Error::corrupt("it is of another generation").into())
        }
    }

    /// The generations above a number, ascending.
    pub(super) async fn all_above(store: &Store, generation: u64) -> ReplicaResult<Vec<u64>> {
        manifests(store).generations_above(generation).await
    }
}

/// The manifests that a node stores with its copies, so that it can start without the store.
pub(super) struct KeptManifests {
    folder: PathBuf,
    /// The cache as a store, which writes manifests atomically.
    store: Store,
}

impl KeptManifests {
    /// # Errors
    /// The path of the directory is invalid.
    pub(super) fn in_directory(cache: &Path) -> ReplicaResult<KeptManifests> {
        let cache = std::path::absolute(cache)
            .map_err(|error| Error::io("find the directory", error).at(cache))?;
        let url = Url::from_directory_path(&cache);
        let url = url.map_err(|()| Error::invalid("it has no absolute path").at(&cache))?;
        Ok(KeptManifests {
            folder: cache.join("cluster").join("manifests"),
            store: Store::open(url.as_str())?,
        })
    }

    /// All readable manifests, oldest first.
    pub(super) async fn read_all(&self) -> Vec<ClusterGeneration> {
        let generations = ClusterGeneration::all_above(&self.store, 0).await;
        let mut manifests = Vec::new();
        for generation in generations.unwrap_or_default() {
            match ClusterGeneration::read(&self.store, generation).await {
                Ok(manifest) => manifests.push(manifest),
                Err(error) => {
                    tracing::warn!(generation, error = format_args!("{error:#}"), "not kept");
                }
            }
        }
        manifests
    }

    /// Stores a manifest, replacing one of the same generation.
    pub(super) async fn keep(&self, manifest: &ClusterGeneration) -> ReplicaResult<()> {
        let (store, generation) = (manifests(&self.store), manifest.generation);
        let bytes = manifest.encode()?;
        if !store.create_manifest(generation, bytes.clone()).await?
            && store.manifest(generation).await?.as_ref() != Some(&bytes)
        {
            self.forget(generation);
            store.create_manifest(generation, bytes).await?;
        }
        Ok(())
    }

    /// Forgets the generations below the newest of these, but for these.
    pub(super) fn forget_all_but(&self, generations: &[u64]) {
        let Some(&newest) = generations.iter().max() else {
            return;
        };
        let files = std::fs::read_dir(&self.folder).into_iter().flatten();
        for name in files.flatten().map(|file| file.file_name()) {
            let number = name.to_str().and_then(|name| name.parse::<u64>().ok());
            let is_former = |number: &u64| *number < newest && !generations.contains(number);
            if let Some(number) = number.filter(is_former) {
                self.forget(number);
            }
        }
    }

    fn forget(&self, generation: u64) {
        // If this fails, the next call tries again.
        let _ = std::fs::remove_file(self.folder.join(format!("{generation:020}")));
    }
}

/// The folder of a cluster's manifests.
pub(super) fn manifests(store: &Store) -> Store {
    store.folder(CLUSTER)
}

/// The folder of a shard's index.
pub(super) fn shard_store(store: &Store, shard: u32, shards: u32) -> Store {
    store.folder(&shard_folder(shard, shards))
}
