//! A generation of a cluster: which generation of each shard's index belongs to it.
//!
//! ```text
//! shards/<count>/<shard>/...                each shard as `replicate` publishes an index
//! cluster/manifests/<generation, 20 digits>  created once, when all shards are there; never changed
//! ```
//!
//! The number of shards is part of their placement, so a corpus can be published again in other parts.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::replicate::publication::{open_seal, seal};
use crate::replicate::{CLUSTER, CLUSTER_MAGIC, Store, shard_folder};
use crate::{Error, Result};

/// The most shards of a cluster.
pub(super) const SHARDS_MAX: u32 = 4_096;

/// A generation of a cluster, as it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterGeneration {
    pub(super) generation: u64,
    /// By number.
    pub(super) shards: Vec<PublishedShard>,
}

/// A shard of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedShard {
    /// The generation of its own index.
    pub(super) generation: u64,
    pub(super) signals: u64,
    pub(super) bytes: u64,
    /// Of the identity and the content of its index.
    pub(super) revision: Digest,
}

impl ClusterGeneration {
    /// Of all that its shards hold: no two contents share one.
    pub(super) fn revision(&self) -> Digest {
        let shards = self.shards.iter();
        let revisions: Vec<u8> = shards.flat_map(|shard| *shard.revision.bytes()).collect();
        Digest::of(&[&self.generation.to_le_bytes()[..], &revisions].concat())
    }

    /// How many shards there are.
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

    /// Reads a generation that is published.
    pub(super) async fn read(store: &Store, generation: u64) -> Result<ClusterGeneration> {
        let bytes = manifests(store).manifest(generation).await?;
        let missing = || Error::missing(format!("cluster generation {generation} is missing"));
        let read = ClusterGeneration::decode(&bytes.ok_or_else(missing)?)?;
        if read.generation == generation {
            Ok(read)
        } else {
            Err(Error::corrupt("it is of another generation"))
        }
    }

    /// The newest generation above one, if there is any.
    pub(super) async fn newest_above(store: &Store, generation: u64) -> Result<Option<u64>> {
        let newer = manifests(store).generations_above(generation).await?;
        Ok(newer.last().copied())
    }
}

/// Where the manifests of a cluster are.
pub(super) fn manifests(store: &Store) -> Store {
    store.folder(CLUSTER)
}

/// Where a shard's index is.
pub(super) fn shard_store(store: &Store, shard: u32, shards: u32) -> Store {
    store.folder(&shard_folder(shard, shards))
}
