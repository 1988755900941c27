//! The layout of a cluster's store, shared by pruning and `cluster`.
//!
//! ```text
//! shards/<count>/<shard>/...                 each shard as an index is published
//! cluster/manifests/<generation, 20 digits>  the generation of each shard
//! ```

use serde::Deserialize;

use super::error::ReplicaResult;
use super::publication::open_seal;
use super::store::Store;
use crate::Error;

/// The folder of a cluster's manifests in its store. [`prune`](fn@super::prune) keeps what they name.
pub const CLUSTER: &str = "cluster";

/// The folder of all shards.
pub(super) const SHARDS: &str = "shards";

/// The first word of a cluster's manifest, which [`seal`](super::seal) writes.
pub const CLUSTER_MAGIC: &str = "signaldex-cluster";

/// The folder of a shard in a cluster's store.
///
/// ```
/// assert_eq!(signaldex::replicate::shard_folder(3, 16), "shards/16/3");
/// ```
pub fn shard_folder(shard: u32, shards: u32) -> String {
    format!("{SHARDS}/{shards}/{shard}")
}

/// The part of a cluster's manifest that pruning needs.
#[derive(Debug, Deserialize)]
pub(super) struct ClusterManifest {
    generation: u64,
    shards: Vec<ShardLine>,
}

#[derive(Debug, Deserialize)]
struct ShardLine {
    generation: u64,
}

impl ClusterManifest {
    /// Reads a manifest from the folder of the cluster's manifests.
    pub(super) async fn read(store: &Store, generation: u64) -> ReplicaResult<ClusterManifest> {
        let about = |error: Error| error.about(&format!("cluster generation {generation}"));
        let bytes = store.manifest(generation).await?;
        let bytes = bytes.ok_or_else(|| about(Error::missing("the manifest is missing")))?;
        let read: ClusterManifest = open_seal(CLUSTER_MAGIC, &bytes).map_err(about)?;
        if read.generation == generation {
            Ok(read)
        } else {
            Err(about(Error::corrupt("it is of another generation")).into())
        }
    }

    /// The number of shards, and the generation of each.
    pub(super) fn shards(&self) -> (u32, impl Iterator<Item = (u32, u64)> + '_) {
        let generations = self.shards.iter().map(|shard| shard.generation);
        (self.shards.len() as u32, (0..).zip(generations))
    }
}
