//! Pruning: removes old generations from a store, and the objects that only they name.
//!
//! What stays, where a store is pruned with a number `keep` and an age:
//!
//! - the newest `keep` generations, and every generation that was the newest at any time within that
//!   age: a publisher or a replica that began then goes on from it;
//! - all objects that a manifest which stays names;
//! - whatever was written within that age, such as the objects of a publisher that is at work.
//!
//! # Why no publisher loses an object
//!
//! Before a publisher creates its manifest, each object that it names is one of three:
//!
//! 1. Named by the generation that was the newest when the publisher began. That one stays for `age`
//!    after it is superseded.
//! 2. Written at most [`FRESH`](super::publish::FRESH) before. It stays until it is `age` old.
//! 3. Older. The publisher sends it anew, which makes it fresh; but a prune at work may have listed it
//!    as it was. So a prune marks the store before it lists. The publisher waits until there is no
//!    mark, and then sends again what is gone. A prune that begins later finds it fresh.
//!
//! A publisher that takes long begins again with what has become old meanwhile, so 1 and 2 hold as
//! long as `age` is more than [`AGE_MIN`]. A prune renews its mark, and stops where it could not.
//!
//! Manifests go first, oldest first, and then objects: a prune that is killed leaves objects that
//! nothing names, and the next one removes them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::cluster_manifest::{CLUSTER, ClusterManifest, SHARDS, shard_folder};
use super::mark::Mark;
use super::publication::Publication;
use super::publish::{FRESH, PUBLISH_TIME};
use super::store::{MANIFESTS, OBJECTS, Store, Stored, UnfinishedFile, manifest_name, object_name};
use crate::digest::Digest;
use crate::{Error, Result};

/// From this age on, a prune is safe beside publishers: the age of an object that one finds fresh, and
/// the time that it may take from there, with an hour for clocks that disagree.
const AGE_MIN: Duration = FRESH
    .saturating_add(PUBLISH_TIME)
    .saturating_add(Duration::from_secs(3600));

/// Objects removed at a time, between which the mark is renewed.
const BATCH: usize = 100;

/// What to remove from a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneOptions {
    /// How many of the newest generations stay, at least 1.
    pub keep: u64,
    /// Nothing younger is removed. Below 13 hours, nothing may be published meanwhile.
    pub older_than: Duration,
    /// Remove, instead of only telling what would be removed.
    pub remove: bool,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// What goes: manifests before what they name.
    pub removed: Vec<PrunedFile>,
    /// Generations that stay; of a cluster, those of its shards are not counted.
    pub generations_kept: u64,
    /// Objects that stay.
    pub objects_kept: u64,
    /// Their bytes.
    pub bytes_kept: u64,
    /// What a generation that stays names and the store does not have.
    pub missing: Vec<String>,
}

/// Something that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedFile {
    /// What it was.
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
    /// What a publisher that died was writing.
    UnfinishedUpload,
}

impl PruneOptions {
    /// Tells what would be removed, so that this many generations stay, and nothing younger than a day
    /// goes.
    pub fn keeping(keep: u64) -> PruneOptions {
        PruneOptions {
            keep,
            older_than: Duration::from_secs(24 * 3600),
            remove: false,
        }
    }

    /// Whether the age is long enough for publishers to be at work meanwhile.
    pub fn allows_publishers(&self) -> bool {
        self.older_than >= AGE_MIN
    }
}

/// Removes old generations from a store, or tells which it would remove: of an index, or of a cluster.
///
/// # Errors
/// [`is_missing`](Error::is_missing) where nothing is published in the store; the error of reading a
/// manifest that stays, and then no object is removed, since nobody knows what it names;
/// [`is_locked`](Error::is_locked) while another prune is at work, and for ten minutes after one was
/// killed; [`is_store`](Error::is_store) where the store refuses.
///
/// Cost: a listing of all that the store holds, reading each manifest that stays, and a request for
/// each manifest and each hundred objects that go.
pub async fn prune(store: &Store, options: PruneOptions) -> Result<Pruned> {
    if options.keep == 0 {
        return Err(Error::invalid(
            "keep: 0 is not allowed; at least 1 generation stays",
        ));
    }
    let is_index = !generations(store).await?.is_empty();
    let cluster = generations(&store.folder(CLUSTER)).await?;
    if !is_index && cluster.is_empty() {
        return Err(Error::missing("nothing is published in this store"));
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

/// A prune at work.
struct Pruning<'s> {
    root: &'s Store,
    options: PruneOptions,
    report: Pruned,
}

/// Which generations of an index stay besides those that were lately the newest.
struct Keep {
    newest: u64,
    named: BTreeSet<u64>,
}

/// What goes from the folder of an index.
struct Plan {
    /// The generations that were listed.
    listed: BTreeSet<u64>,
    generations_kept: u64,
    manifests: Vec<Stored>,
    objects: Vec<Stored>,
    unfinished: Vec<UnfinishedFile>,
}

impl Pruning<'_> {
    /// Prunes an index, and says how many generations stay.
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

    async fn plan(&mut self, folder: &Store, keep: &Keep, now: SystemTime) -> Result<Plan> {
        let oldest = oldest_kept(now, self.options.older_than);
        // Manifests before objects: what a manifest names was there before it.
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
        Ok(Plan {
            listed,
            generations_kept: kept.len() as u64,
            manifests: manifests.into_iter().map(|(_, stored)| stored).collect(),
            objects,
            unfinished,
        })
    }

    /// The objects that go: old ones that no kept generation names.
    async fn objects(
        &mut self,
        folder: &Store,
        kept: &BTreeSet<u64>,
        oldest: SystemTime,
    ) -> Result<Vec<Stored>> {
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
        // What came meanwhile needs nothing that goes, unless a publisher's clock is far off.
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
                    // Of another number of shards, nothing is needed but what was just written.
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

    /// Prunes the manifests of a cluster, and says which generations of which shards the others name.
    async fn cluster_generations(&mut self) -> Result<HashMap<(u32, u32), BTreeSet<u64>>> {
        let manifests = self.root.folder(CLUSTER);
        let published = generations(&manifests).await?;
        let oldest = oldest_kept(SystemTime::now(), self.options.older_than);
        let keep = Keep {
            newest: self.options.keep,
            named: BTreeSet::new(),
        };
        let kept = kept_generations(&published, &keep, oldest);
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
            if kept.contains(generation) {
                continue;
            }
            if self.options.remove {
                manifests.remove(&[stored]).await?;
            }
            self.note(PrunedKind::Manifest, stored.name(self.root), stored.bytes);
        }
        Ok(named)
    }

    fn tell(&mut self, plan: &Plan) {
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
async fn generations(folder: &Store) -> Result<Vec<(u64, Stored)>> {
    let listed = folder.listed(MANIFESTS).await?;
    let named = |stored: Stored| Some((stored.generation()?, stored));
    let mut generations: Vec<(u64, Stored)> = listed.into_iter().filter_map(named).collect();
    generations.sort_unstable_by_key(|(generation, _)| *generation);
    Ok(generations)
}

fn oldest_kept(now: SystemTime, age: Duration) -> SystemTime {
    now.checked_sub(age).unwrap_or(UNIX_EPOCH)
}

/// Which generations stay. One was superseded when the next was published.
fn kept_generations(ascending: &[(u64, Stored)], keep: &Keep, oldest: SystemTime) -> BTreeSet<u64> {
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
            Err(Error::io("remove the file", error).at(&file.path))
        }
        _ => Ok(()),
    }
}
