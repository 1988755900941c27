//! Publishes a generation: first all shards, then the manifest, unless it already exists.

use std::path::Path;

use super::generation::{ClusterGeneration, PublishedShard, manifests, shard_store};
use super::split::shard_folder;
use signaldex::replicate::{Newest, PublishOptions, Store, publish_after, refuse_older};
use signaldex::{Digest, Error, ErrorKind, Index, Result};

/// What was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishedCluster {
    /// The generation.
    pub generation: u64,
    /// Its shards.
    pub shards: u32,
    /// Its signals.
    pub signals: u64,
    /// Uploaded objects.
    pub objects_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
}

/// Publishes the indexes `0`, `1` and so on of a folder as one generation of a cluster: the given one, or the next
/// after all that were published or started. With `repair`, uploads every object again, to replace damaged ones.
///
/// # Errors
/// As [`publish`](signaldex::replicate::publish); [`Taken`](signaldex::ErrorKind::Taken) where the generation is published with other
/// content. Nodes see nothing of it then.
///
/// Cost: that of publishing every shard, one after another.
pub async fn publish_cluster(
    folder: &Path,
    store: &Store,
    options: PublishOptions,
) -> Result<PublishedCluster> {
    let shards = count_shards(folder)?;
    let generation = match options.generation {
        Some(generation) => {
            refuse_older(&manifests(store), generation).await?;
            generation
        }
        None => newest_begun(store, shards).await? + 1,
    };
    let mut report = PublishedCluster {
        generation,
        shards,
        ..PublishedCluster::default()
    };
    let newest = newest_of_shards(store, shards).await?;
    let mut published = Vec::new();
    for shard in 0..shards {
        let directory = shard_folder(folder, shard);
        published.push(describe(&directory, generation)?);
        let options = PublishOptions {
            generation: Some(generation),
            ..options
        };
        let to = shard_store(store, shard, shards);
        let sent = publish_after(&directory, &to, options, newest).await;
        let sent = sent.map_err(|error| error.about(&format!("shard {shard}")))?;
        report.objects_sent += sent.objects_sent;
        report.bytes_sent += sent.bytes_sent;
    }
    report.signals = published.iter().map(|shard| shard.signals).sum();
    let manifest = ClusterGeneration {
        generation,
        shards: published,
    };
    create(store, &manifest).await?;
    Ok(report)
}

/// Whether a prune keeps the newest shards: those of other numbers of shards may be removed.
async fn newest_of_shards(store: &Store, shards: u32) -> Result<Newest> {
    let Some(newest) = ClusterGeneration::all_above(store, 0).await?.pop() else {
        return Ok(Newest::MayGo);
    };
    match ClusterGeneration::read(store, newest).await {
        Ok(newest) if newest.shard_count() == shards => Ok(Newest::Stays),
        Err(error) if error.kind() == ErrorKind::Store => Err(error),
        _ => Ok(Newest::MayGo),
    }
}

/// The newest generation of the cluster or of any shard: a publisher that died half way leaves shards of a
/// generation without a manifest.
async fn newest_begun(store: &Store, shards: u32) -> Result<u64> {
    let mut newest = ClusterGeneration::all_above(store, 0).await?.pop();
    for shard in 0..shards {
        let of_shard = shard_store(store, shard, shards);
        let begun = of_shard.generations_above(newest.unwrap_or(0)).await?;
        newest = begun.last().copied().or(newest);
    }
    Ok(newest.unwrap_or(0))
}

async fn create(store: &Store, manifest: &ClusterGeneration) -> Result<()> {
    let (store, generation) = (manifests(store), manifest.generation);
    let bytes = manifest.encode()?;
    if store.create_manifest(generation, bytes.clone()).await?
        || store.manifest(generation).await? == Some(bytes)
    {
        return Ok(());
    }
    Err(Error::taken(format!(
        "cluster generation {generation} is published with other content; each generation is \
         published once"
    )))
}

/// The manifest entry of a shard. The index must not change while it is being published.
fn describe(directory: &Path, generation: u64) -> Result<PublishedShard> {
    let snapshot = Index::open(directory)?.snapshot();
    Ok(PublishedShard {
        generation,
        signals: snapshot.signal_count(),
        bytes: snapshot.file_bytes(),
        revision: Digest::from(snapshot.revision()),
    })
}

fn count_shards(folder: &Path) -> Result<u32> {
    let is_there = |&shard: &u32| shard_folder(folder, shard).is_dir();
    match (0..).take_while(is_there).count() as u32 {
        0 => Err(Error::missing(
            "there are no shards in this folder; `signaldex shard` creates them",
        )
        .at(folder)),
        shards => Ok(shards),
    }
}
