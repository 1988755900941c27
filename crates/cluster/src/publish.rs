//! Publishes a generation: first the shards that have changed, then the manifest, unless it already exists.

use std::path::Path;
use std::sync::Arc;

use super::error::{ClusterError, ClusterResult as Result};
use super::generation::{ClusterGeneration, PublishedShard, manifests, shard_store};
use super::shard_folder::ShardFolder;
use super::shard_rules::check_changed;
use signaldex::replicate::{
    Newest, PublishOptions, ReplicaErrorKind, Store, publish_after, refuse_older,
};
use signaldex::{Digest, Error, Index, Position, Snapshot};

/// What was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishedCluster {
    /// The generation.
    pub generation: u64,
    /// Whether the generation had been published before with the same content.
    pub was_there: bool,
    /// Its shards.
    pub shards: u32,
    /// Its signals.
    pub signals: u64,
    /// Shards that have changed since the generation before, or whose objects were uploaded again.
    pub shards_sent: u32,
    /// Uploaded objects.
    pub objects_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
}

/// Publishes the shards of a folder as one generation of a cluster: the given one, or the next after all that were
/// published or started. Shards that have not changed since the newest generation keep their published state, and if
/// none has, nothing is published. With `repair`, uploads every object again, to replace damaged ones.
///
/// # Errors
/// As [`ShardFolder::open`] and [`publish`](signaldex::replicate::publish); [`Invalid`](signaldex::ErrorKind::Invalid) if a
/// company is in another shard than its own or a signal in two; [`Locked`](signaldex::ErrorKind::Locked) while another process
/// updates the shards; [`Taken`](ReplicaErrorKind::Taken) where the generation is published with other content. Nodes see
/// nothing of it then.
///
/// Cost: opens every shard; for those that have changed, that of reading their companies, of a look-up in each shard
/// for each changed signal, and of publishing them, one after another.
pub async fn publish_cluster(
    folder: &Path,
    store: &Store,
    options: PublishOptions,
) -> Result<PublishedCluster> {
    let folder = ShardFolder::open(folder)?;
    let _lock = folder.lock()?;
    let publisher = Publisher::new(&folder, store, options).await?;
    if publisher.is_published() && !options.repair {
        return Ok(publisher.report());
    }
    publisher.check()?;
    publisher.publish().await
}

/// Publishes one folder once.
struct Publisher<'p> {
    folder: &'p ShardFolder,
    store: &'p Store,
    options: PublishOptions,
    snapshots: Vec<Arc<Snapshot>>,
    /// The newest generation of this number of shards.
    newest: Option<ClusterGeneration>,
    /// Whether a prune keeps the newest shards: those of other numbers of shards may be removed.
    lasts: Newest,
    generation: u64,
}

impl<'p> Publisher<'p> {
    async fn new(
        folder: &'p ShardFolder,
        store: &'p Store,
        options: PublishOptions,
    ) -> Result<Publisher<'p>> {
        let newest = newest_of_count(store, folder.count()).await?;
        let mut publisher = Publisher {
            folder,
            store,
            options,
            snapshots: folder.snapshots()?,
            lasts: newest.as_ref().map_or(Newest::MayGo, |_| Newest::Stays),
            newest,
            generation: 0,
        };
        publisher.generation = publisher.choose_generation().await?;
        Ok(publisher)
    }

    /// The generation to publish: that of the newest where nothing has changed and none is given.
    async fn choose_generation(&self) -> Result<u64> {
        let newest = self.newest.as_ref();
        if let Some(given) = self.options.generation {
            refuse_older(&manifests(self.store), given).await?;
            let is_newest = newest.is_some_and(|newest| newest.generation == given);
            if is_newest && !self.changed().is_empty() {
                return Err(published_otherwise(given));
            }
            return Ok(given);
        }
        match newest {
            Some(newest) if self.changed().is_empty() => Ok(newest.generation),
            _ => Ok(self.newest_begun().await? + 1),
        }
    }

    /// The newest generation of the cluster or of any shard to publish: a publisher that died half way leaves shards
    /// of a generation without a manifest.
    async fn newest_begun(&self) -> Result<u64> {
        let mut newest = ClusterGeneration::all_above(self.store, 0).await?.pop();
        for shard in self.changed() {
            let of_shard = shard_store(self.store, shard, self.folder.count());
            let begun = of_shard.generations_above(newest.unwrap_or(0)).await?;
            newest = begun.last().copied().or(newest);
        }
        Ok(newest.unwrap_or(0))
    }

    /// Whether everything is published as the generation already.
    fn is_published(&self) -> bool {
        let newest = self.newest.as_ref();
        newest.is_some_and(|newest| newest.generation == self.generation)
            && self.changed().is_empty()
    }

    /// What the newest generation has of a shard, if the shard has not changed since.
    fn unchanged(&self, shard: u32) -> Option<&PublishedShard> {
        let published = self.published(shard)?;
        let revision = Digest::from(self.snapshots[shard as usize].revision());
        (published.revision == revision).then_some(published)
    }

    fn published(&self, shard: u32) -> Option<&PublishedShard> {
        self.newest.as_ref()?.shards.get(shard as usize)
    }

    fn changed(&self) -> Vec<u32> {
        let shards = 0..self.folder.count();
        shards
            .filter(|&shard| self.unchanged(shard).is_none())
            .collect()
    }

    /// Refuses companies in the wrong shard, and signals in two.
    fn check(&self) -> Result<()> {
        let since = |shard| {
            let published = self.published(shard)?;
            Position::parse(&published.position).ok()
        };
        let changed = self
            .changed()
            .into_iter()
            .map(|shard| (shard, since(shard)));
        let checked = check_changed(&self.snapshots, &changed.collect::<Vec<_>>());
        Ok(checked.map_err(|error| error.at(self.folder.path()))?)
    }

    fn report(&self) -> PublishedCluster {
        PublishedCluster {
            generation: self.generation,
            was_there: true,
            shards: self.folder.count(),
            signals: self
                .snapshots
                .iter()
                .map(|shard| shard.signal_count())
                .sum(),
            ..PublishedCluster::default()
        }
    }

    async fn publish(self) -> Result<PublishedCluster> {
        let mut report = self.report();
        let mut shards = Vec::new();
        for shard in 0..self.folder.count() {
            let published = self.publish_shard(shard, &mut report).await;
            shards.push(published.map_err(|error| error.about(&format!("shard {shard}")))?);
        }
        report.was_there = self.is_published();
        if !report.was_there {
            let manifest = ClusterGeneration {
                generation: self.generation,
                cluster: self.folder.identity(),
                shards,
            };
            create(self.store, &manifest).await?;
        }
        Ok(report)
    }

    /// Publishes one shard, unless it has not changed. Returns its line of the manifest.
    async fn publish_shard(
        &self,
        shard: u32,
        report: &mut PublishedCluster,
    ) -> Result<PublishedShard> {
        let line = match self.unchanged(shard) {
            Some(unchanged) if !self.options.repair => return Ok(unchanged.clone()),
            Some(unchanged) => unchanged.clone(),
            None => describe(&self.snapshots[shard as usize], self.generation),
        };
        let options = PublishOptions {
            generation: Some(line.generation),
            ..self.options
        };
        let directory = self.folder.directory(shard);
        let to = shard_store(self.store, shard, self.folder.count());
        let sent = publish_after(&directory, &to, options, self.lasts).await?;
        // A writer of this shard alone does not take the lock of the folder.
        let after = Index::open(&directory)?.snapshot();
        if after.revision() != self.snapshots[shard as usize].revision() {
            return Err(
                Error::invalid("the index changed while it was published; publish again").into(),
            );
        }
        report.shards_sent += 1;
        report.objects_sent += sent.objects_sent;
        report.bytes_sent += sent.bytes_sent;
        Ok(line)
    }
}

/// The newest generation, if it is of this number of shards.
async fn newest_of_count(store: &Store, shards: u32) -> Result<Option<ClusterGeneration>> {
    let Some(newest) = ClusterGeneration::all_above(store, 0).await?.pop() else {
        return Ok(None);
    };
    match ClusterGeneration::read(store, newest).await {
        Ok(newest) => Ok(Some(newest).filter(|newest| newest.shard_count() == shards)),
        Err(error) if error.kind() == ReplicaErrorKind::Store => Err(error.into()),
        // A damaged manifest is replaced by the next generation.
        Err(_) => Ok(None),
    }
}

async fn create(store: &Store, manifest: &ClusterGeneration) -> Result<()> {
    let (store, generation) = (manifests(store), manifest.generation);
    let bytes = manifest.encode()?;
    if store.create_manifest(generation, bytes.clone()).await?
        || store.manifest(generation).await? == Some(bytes)
    {
        return Ok(());
    }
    Err(published_otherwise(generation))
}

fn published_otherwise(generation: u64) -> ClusterError {
    ClusterError::taken(format!(
        "cluster generation {generation} is published with other content; each generation is \
         published once"
    ))
}

/// The line of a shard in the manifest of a generation.
pub(super) fn describe(snapshot: &Snapshot, generation: u64) -> PublishedShard {
    PublishedShard {
        generation,
        signals: snapshot.signal_count(),
        bytes: snapshot.file_bytes(),
        revision: Digest::from(snapshot.revision()),
        position: snapshot.position().to_string(),
    }
}
