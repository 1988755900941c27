//! Pruning: removes old generations from a store, and the objects that only they name.
//!
//! Pruning with a number `keep` and an age keeps:
//!
//! - the newest `keep` generations, and every generation that was the newest at any time within that
//!   age, because a publisher or replica that started then continues from it;
//! - all objects of the kept manifests;
//! - everything written within that age, such as the objects of a running publisher.
//!
//! Of a cluster it keeps more manifests than generations: they say from where on clients can follow changes.
//!
//! # Why no publisher loses an object
//!
//! Before a publisher creates its manifest, each object in it is in one of three states:
//!
//! 1. It belongs to the generation that was the newest when the publisher started. That generation is kept
//!    for `age` after it is superseded.
//! 2. It was written at most [`FRESH`](super::publish::FRESH) ago. It is kept until it is `age` old.
//! 3. It is older. The publisher uploads it again, which makes it fresh, but a running prune may have
//!    listed the old one. So a prune sets a marker before it lists. The publisher waits until there is no
//!    marker, and then uploads again what is missing. A later prune finds the object fresh.
//!
//! A slow publisher uploads objects again that have become old meanwhile, so 1 and 2 hold if `age` exceeds
//! [`AGE_MIN`]. A prune renews its marker, and stops if it cannot.
//!
//! Manifests are removed first, oldest first, then objects. A killed prune leaves unreferenced objects,
//! which the next one removes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cluster_manifest::{CLUSTER, ClusterManifest, SHARDS, shard_folder};
use super::error::ReplicaResult as Result;
use super::mark::Mark;
use super::publication::Publication;
use super::publish::{FRESH, PUBLISH_TIME};
use super::store::{
    MANIFESTS, OBJECTS, Store, StoredFile, UnfinishedFile, manifest_name, object_name,
};
use crate::Error;
use crate::digest::Digest;

/// Minimum age for pruning while publishers are running: the age of a fresh object, plus the time limit of
/// a publisher, plus an hour of clock skew.
const AGE_MIN: Duration = FRESH
    .saturating_add(PUBLISH_TIME)
    .saturating_add(Duration::from_secs(3600));

/// Manifests of a cluster to keep by default.
const MANIFESTS_KEPT: u64 = 10_000;

/// Objects removed between renewals of the marker.
const BATCH: usize = 100;

/// What to remove from a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneOptions {
    /// The number of newest generations to keep, at least 1.
    pub keep: u64,
    /// The number of newest manifests of a cluster to keep, of some 10 kB each, also without their objects: positions in its
    /// changes name generations.
    pub manifests: u64,
    /// Nothing younger is removed. Below 13 hours, nothing may be published while pruning.
    pub older_than: Duration,
    /// Remove, instead of only listing what would be removed.
    pub remove: bool,
}

/// What was removed, or would be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The removed files: manifests before their objects.
    pub removed: Vec<PrunedFile>,
    /// Kept generations, without those of a cluster's shards.
    pub generations_kept: u64,
    /// Kept objects.
    pub objects_kept: u64,
    /// Their bytes.
    pub bytes_kept: u64,
    /// Objects of kept generations that are missing from the store.
    pub missing: Vec<String>,
}

/// A removed file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedFile {
    /// The kind of file.
    pub kind: PrunedKind,
    /// Its path in the store.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// What was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrunedKind {
    /// A generation's manifest.
    Manifest,
    /// An object.
    Object,
    /// An unfinished upload of a dead publisher.
    UnfinishedUpload,
}

impl PruneOptions {
    /// Options for a dry run that keeps this many generations and everything younger than a day.
    pub fn keeping(keep: u64) -> PruneOptions {
        PruneOptions {
            keep,
            manifests: MANIFESTS_KEPT,
            older_than: Duration::from_secs(24 * 3600),
            remove: false,
        }
    }

    /// Whether the age is long enough for concurrent publishers.
    pub fn allows_publishers(&self) -> bool {
        self.older_than >= AGE_MIN
    }
}

/// Removes old generations of an index or a cluster from a store, or lists what it would remove.
///
/// # Errors
/// [`Missing`](crate::ErrorKind::Missing) if nothing is published in the store; the error of reading a kept
/// manifest, in which case no object is removed; [`Locked`](crate::ErrorKind::Locked) while another prune is
/// running, and for ten minutes after one was killed; [`Store`](super::ReplicaErrorKind::Store) if the store refuses.
///
/// Cost: a listing of the whole store, a read of each kept manifest, and a request per removed manifest and
/// per hundred removed objects.
pub async fn prune(store: &Store, options: PruneOptions) -> Result<Pruned> {
    if options.keep == 0 {
        return Err(Error::invalid("keep: 0 is not allowed; at least 1 generation stays").into());
    }
    let is_index = !generations(store).await?.is_empty();
    let cluster = generations(&store.folder(CLUSTER)).await?;
    if !is_index && cluster.is_empty() {
        return Err(Error::missing("nothing is published in this store").into());
    }
    let mut pruning = Pruning {
        root: store,
        options,
        report: Pruned::default(),
    };
    if is_index {
        let keep = Keep {
            newest: options.keep,
            named: BTreeSet::new(),
        };
        let kept = pruning.index(store, &keep).await?;
        pruning.report.generations_kept += kept;
    }
    if !cluster.is_empty() {
        pruning.cluster().await?;
    }
    Ok(pruning.report)
}

/// A running prune.
struct Pruning<'s> {
    root: &'s Store,
    options: PruneOptions,
    report: Pruned,
}

/// The generations of an index to keep, in addition to those that were recently the newest.
struct Keep {
    newest: u64,
    named: BTreeSet<u64>,
}

/// What to remove from the folder of an index.
struct PrunePlan {
    /// The listed generations.
    listed: BTreeSet<u64>,
    generations_kept: u64,
    manifests: Vec<StoredFile>,
    objects: Vec<StoredFile>,
    unfinished: Vec<UnfinishedFile>,
}

impl Pruning<'_> {
    /// Prunes an index. Returns the number of kept generations.
    async fn index(&mut self, folder: &Store, keep: &Keep) -> Result<u64> {
        if !self.options.remove {
            let plan = self.plan(folder, keep, SystemTime::now()).await?;
            self.tell(&plan);
            return Ok(plan.generations_kept);
        }
        let (mut mark, now) = Mark::set(folder).await?;
        let removed = self.remove(folder, keep, now, &mut mark).await;
        let unmarked = mark.remove().await;
        removed.and_then(|kept| unmarked.map(|()| kept))
    }

    async fn plan(&mut self, folder: &Store, keep: &Keep, now: SystemTime) -> Result<PrunePlan> {
        let oldest = oldest_kept(now, self.options.older_than);
        // List manifests before objects: the objects of a manifest exist before it.
        let published = generations(folder).await?;
        let listed: BTreeSet<u64> = published
            .iter()
            .map(|(generation, _)| *generation)
            .collect();
        let kept = kept_generations(&published, keep, oldest);
        let missing = keep.named.difference(&listed).copied();
        self.report.missing.extend(missing.map(manifest_name));
        let objects = self.objects(folder, &kept, oldest).await?;
        let mut unfinished = folder.unfinished(OBJECTS)?;
        unfinished.extend(folder.unfinished(MANIFESTS)?);
        unfinished.retain(|file| file.written <= oldest);
        let (_, manifests): (Vec<_>, Vec<_>) = published
            .into_iter()
            .partition(|(generation, _)| kept.contains(generation));
        Ok(PrunePlan {
            listed,
            generations_kept: kept.len() as u64,
            manifests: manifests.into_iter().map(|(_, stored)| stored).collect(),
            objects,
            unfinished,
        })
    }

    /// The objects to remove: old ones that no kept generation contains.
    async fn objects(
        &mut self,
        folder: &Store,
        kept: &BTreeSet<u64>,
        oldest: SystemTime,
    ) -> Result<Vec<StoredFile>> {
        let mut needed = HashSet::new();
        for &generation in kept {
            needed.extend(objects_of(&folder.publication(generation).await?));
        }
        let mut objects = folder.listed(OBJECTS).await?;
        objects.retain(|stored| {
            let Some(object) = stored.object() else {
                return false;
            };
            let stays = needed.remove(&object) || stored.written > oldest;
            if stays {
                self.report.objects_kept += 1;
                self.report.bytes_kept += stored.bytes;
            }
            !stays
        });
        let missing = needed.into_iter().map(object_name);
        self.report.missing.extend(missing);
        Ok(objects)
    }

    async fn remove(
        &mut self,
        folder: &Store,
        keep: &Keep,
        now: SystemTime,
        mark: &mut Mark<'_>,
    ) -> Result<u64> {
        let mut plan = self.plan(folder, keep, now).await?;
        for manifest in &plan.manifests {
            mark.renew().await?;
            folder.remove(&[manifest]).await?;
        }
        // New generations need nothing that is removed, unless a publisher's clock is far off.
        for (generation, _) in generations(folder).await? {
            if !plan.listed.contains(&generation) {
                let publication = folder.publication(generation).await?;
                let needed: HashSet<Digest> = objects_of(&publication).collect();
                plan.objects.retain(|stored| {
                    stored
                        .object()
                        .is_none_or(|object| !needed.contains(&object))
                });
            }
        }
        for batch in plan.objects.chunks(BATCH) {
            mark.renew().await?;
            folder.remove(&batch.iter().collect::<Vec<_>>()).await?;
        }
        for file in &plan.unfinished {
            remove_file(file)?;
        }
        self.tell(&plan);
        Ok(plan.generations_kept)
    }

    /// Prunes the generations of a cluster and the indexes of its shards.
    async fn cluster(&mut self) -> Result<()> {
        let mut named = self.cluster_generations().await?;
        for count in self.root.numbered_folders(SHARDS).await? {
            let folder = format!("{SHARDS}/{count}");
            for shard in self.root.numbered_folders(&folder).await? {
                let folder = self.root.folder(&shard_folder(shard, count));
                let keep = match named.remove(&(count, shard)) {
                    Some(named) => Keep { newest: 1, named },
                    // For other numbers of shards, only recent files are kept.
                    None => Keep {
                        newest: 0,
                        named: BTreeSet::new(),
                    },
                };
                let pruned = self.index(&folder, &keep).await;
                pruned.map_err(|error| error.about(&format!("shard {shard} of {count}")))?;
            }
        }
        let gone = named
            .keys()
            .map(|&(count, shard)| shard_folder(shard, count));
        self.report.missing.extend(gone);
        Ok(())
    }

    /// Prunes the manifests of a cluster, of which clients that follow changes need more than nodes. Returns the generations of shards that kept manifests refer to.
    async fn cluster_generations(&mut self) -> Result<HashMap<(u32, u32), BTreeSet<u64>>> {
        let manifests = self.root.folder(CLUSTER);
        let published = generations(&manifests).await?;
        let oldest = oldest_kept(SystemTime::now(), self.options.older_than);
        let keep = Keep {
            newest: self.options.keep,
            named: BTreeSet::new(),
        };
        let kept = kept_generations(&published, &keep, oldest);
        let manifests_max = usize::try_from(self.options.manifests).unwrap_or(usize::MAX);
        let newest = published.iter().rev().map(|(generation, _)| *generation);
        let following: BTreeSet<u64> = newest.take(manifests_max).collect();
        let mut named: HashMap<_, BTreeSet<u64>> = HashMap::new();
        for &generation in &kept {
            let manifest = ClusterManifest::read(&manifests, generation).await?;
            let (count, shards) = manifest.shards();
            for (shard, generation) in shards {
                named.entry((count, shard)).or_default().insert(generation);
            }
        }
        self.report.generations_kept += kept.len() as u64;
        for (generation, stored) in &published {
            if kept.contains(generation) || following.contains(generation) {
                continue;
            }
            if self.options.remove {
                manifests.remove(&[stored]).await?;
            }
            self.note(PrunedKind::Manifest, stored.name(self.root), stored.bytes);
        }
        Ok(named)
    }

    fn tell(&mut self, plan: &PrunePlan) {
        for stored in &plan.manifests {
            self.note(PrunedKind::Manifest, stored.name(self.root), stored.bytes);
        }
        for stored in &plan.objects {
            self.note(PrunedKind::Object, stored.name(self.root), stored.bytes);
        }
        for file in &plan.unfinished {
            let name = file.path.display().to_string();
            self.note(PrunedKind::UnfinishedUpload, name, file.bytes);
        }
    }

    fn note(&mut self, kind: PrunedKind, name: String, bytes: u64) {
        self.report.removed.push(PrunedFile { kind, name, bytes });
    }
}

/// All generations of a folder, ascending, with their manifests.
async fn generations(folder: &Store) -> Result<Vec<(u64, StoredFile)>> {
    let listed = folder.listed(MANIFESTS).await?;
    let named = |stored: StoredFile| Some((stored.generation()?, stored));
    let mut generations: Vec<(u64, StoredFile)> = listed.into_iter().filter_map(named).collect();
    generations.sort_unstable_by_key(|(generation, _)| *generation);
    Ok(generations)
}

fn oldest_kept(now: SystemTime, age: Duration) -> SystemTime {
    now.checked_sub(age).unwrap_or(UNIX_EPOCH)
}

/// The generations to keep. A generation is superseded when the next one is published.
fn kept_generations(
    ascending: &[(u64, StoredFile)],
    keep: &Keep,
    oldest: SystemTime,
) -> BTreeSet<u64> {
    let is_young = |at: usize| {
        ascending
            .get(at)
            .is_some_and(|(_, stored)| stored.written > oldest)
    };
    let is_kept = |at: usize, generation: u64| {
        (ascending.len() - at) as u64 <= keep.newest
            || keep.named.contains(&generation)
            || is_young(at)
            || is_young(at + 1)
    };
    let numbered = ascending.iter().enumerate();
    let kept = numbered.filter(|(at, (generation, _))| is_kept(*at, *generation));
    kept.map(|(_, (generation, _))| *generation).collect()
}

fn objects_of(publication: &Publication) -> impl Iterator<Item = Digest> + '_ {
    publication.objects().map(|(object, _)| object)
}

fn remove_file(file: &UnfinishedFile) -> Result<()> {
    match std::fs::remove_file(&file.path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove the file", error).at(&file.path).into())
        }
        _ => Ok(()),
    }
}
