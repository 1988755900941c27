//! Loads published shards: from the node's cache at the start, and then each new generation from the store in a
//! background thread, while earlier ones keep answering.
//!
//! ```text
//! <cache>/<shard>-of-<count>/          the copy of a shard, as of a replica
//! <cache>/cluster/manifests/<number>   the manifests of the copies' generations
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::generation::{ClusterGeneration, KeptManifests, shard_store};
use super::holding::Holding;
use super::leases::Leases;
use super::loaded_shards::{LoadedGeneration, LoadedShards};
use super::members::Members;
use super::reports::Reports;
use signaldex::replicate::{
    Background, Progress, Replica, ReplicaError, ReplicaErrorKind, ReplicaResult as Result,
    RetryDelay, Store, Wanted,
};
use signaldex::{Error, ErrorKind, Snapshot};
use signaldex_server::Following;

/// How many generations to try, newest first, if the newest cannot be loaded.
const CANDIDATES_MAX: usize = 4;

/// Loads the shards of one node.
pub(super) struct Loader {
    members: Arc<Members>,
    store: Store,
    cache: PathBuf,
    kept: KeptManifests,
    loaded: LoadedShards,
    holding: Holding,
    /// The copies, by number of shards and shard.
    replicas: HashMap<(u32, u32), Replica>,
    reports: Arc<Reports>,
}

/// The result of checking the store.
#[derive(Debug, Default)]
struct Look {
    /// The report, without the error.
    following: Following,
    /// Why the newest generation is not loaded.
    error: Option<ReplicaError>,
}

impl Loader {
    /// # Errors
    /// The cache cannot be used.
    pub(super) fn new(
        members: Arc<Members>,
        store: Store,
        cache: PathBuf,
        loaded: LoadedShards,
        leases: Leases,
        reports: Arc<Reports>,
    ) -> Result<Loader> {
        std::fs::create_dir_all(&cache)
            .map_err(|error| Error::io("make the directory", error).at(&cache))?;
        Ok(Loader {
            kept: KeptManifests::in_directory(&cache)?,
            holding: Holding::new(Arc::clone(&members), loaded.clone(), leases),
            members,
            store,
            cache,
            loaded,
            replicas: HashMap::new(),
            reports,
        })
    }

    /// Loads the copies in the cache. Returns whether there are any; otherwise waits for the store.
    ///
    /// # Errors
    /// As [`open_copies`](Self::open_copies), or nothing can be loaded.
    pub(super) async fn load_first(&mut self) -> Result<bool> {
        self.open_copies().await?;
        let has_copies = !self.loaded.all().is_empty();
        if !has_copies
            && let Some(error) = self.load_newest().await.error
            && self.loaded.all().is_empty()
        {
            return Err(error);
        }
        Ok(has_copies)
    }

    /// Loads the copies in the cache without contacting the store, which may be slow or gone.
    ///
    /// # Errors
    /// Another process uses the cache, or it contains something else.
    async fn open_copies(&mut self) -> Result<()> {
        for manifest in self.kept.read_all().await {
            let mut shards = BTreeMap::new();
            for (shard, published) in self.holding.own_shards(&manifest) {
                let snapshot = self.open_copy(shard, manifest.shard_count())?;
                let is_wanted = |snapshot: &Arc<Snapshot>| snapshot.generation() == published;
                shards.extend(snapshot.filter(is_wanted).map(|snapshot| (shard, snapshot)));
            }
            let generation = manifest.generation;
            tracing::info!(generation, shards = shards.len(), "copies are served");
            // Also without shards of its own: where newer ones have taken their place, others may still have
            // these, and serve nothing newer.
            self.loaded.install(LoadedGeneration::new(manifest, shards));
        }
        self.reports.report(Following {
            newest: self.holding.newest_held(),
            ..Following::default()
        });
        Ok(())
    }

    fn open_copy(&mut self, shard: u32, count: u32) -> Result<Option<Arc<Snapshot>>> {
        if !self.replicas.contains_key(&(count, shard)) {
            let directory = self.directory(shard, count);
            if !directory.is_dir() {
                return Ok(None);
            }
            match Replica::open_copy(shard_store(&self.store, shard, count), &directory) {
                Ok(Some(replica)) => drop(self.replicas.insert((count, shard), replica)),
                Ok(None) => return Ok(None),
                Err(error)
                    if matches!(
                        error.kind(),
                        ReplicaErrorKind::Index(ErrorKind::Locked | ErrorKind::Invalid)
                    ) =>
                {
                    return Err(error);
                }
                // The store may have it.
                Err(error) => {
                    tracing::warn!(shard, error = format_args!("{error:#}"), "no copy is used");
                    return Ok(None);
                }
            }
        }
        let replica = self.replicas.get(&(count, shard));
        Ok(replica.map(|replica| replica.index().snapshot()))
    }

    fn directory(&self, shard: u32, count: u32) -> PathBuf {
        self.cache.join(copy_name(shard, count))
    }

    /// Loads the newest loadable generation, unless it is already loaded, and returns a report.
    async fn load_newest(&mut self) -> Look {
        let mut look = Look::default();
        look.following.newest = self.holding.newest_held();
        match self.newer().await {
            Ok(newer) => {
                look.following.store_answered = true;
                look.following.newest = newer.last().copied().unwrap_or(look.following.newest);
                for &generation in newer.iter().rev().take(CANDIDATES_MAX) {
                    match self.load(generation, &mut look.following).await {
                        Ok(()) => break,
                        // Operators need the error of the newest generation.
                        Err(error) => drop(look.error.get_or_insert(error)),
                    }
                }
            }
            Err(error) => look.error = Some(error),
        }
        look.following.error = look.error.as_ref().map(ReplicaError::public_reason);
        self.reports.report(look.following.clone());
        look
    }

    /// The generations above the newest complete one, ascending.
    async fn newer(&self) -> Result<Vec<u64>> {
        let held = self.holding.newest_complete();
        // The loaded generation is listed, too: a store with neither it nor newer ones is another one, or was
        // emptied.
        let mut listed = ClusterGeneration::all_above(&self.store, held.saturating_sub(1)).await?;
        if listed.is_empty() {
            return Err(Error::missing(match self.holding.newest_held() {
                0 => "no generation is published in the store yet".to_owned(),
                held => format!(
                    "the store has neither generation {held}, which is served, nor a newer one; it \
                     was emptied, moved or unmounted"
                ),
            })
            .into());
        }
        listed.retain(|&generation| generation > held);
        Ok(listed)
    }

    async fn load(&mut self, generation: u64, following: &mut Following) -> Result<()> {
        let manifest = ClusterGeneration::read(&self.store, generation).await?;
        let count = manifest.shard_count();
        let own_shards = self.holding.own_shards(&manifest);
        // Fetch everything before swapping anything: until then, all copies belong to one generation.
        for &(shard, published) in &own_shards {
            let fetched = self.fetch(shard, count, published, following).await;
            fetched.map_err(|error| error.about(&format!("shard {shard}")))?;
        }
        self.kept.keep(&manifest).await?;
        let mut shards = BTreeMap::new();
        for &(shard, published) in &own_shards {
            let snapshot = self.swap(shard, count, published).await;
            let snapshot = snapshot.map_err(|error| error.about(&format!("shard {shard}")))?;
            shards.insert(shard, snapshot);
        }
        self.holding.install(manifest, shards);
        Ok(())
    }

    /// Fetches the missing objects of a shard. Creates the copy if there is none.
    async fn fetch(
        &mut self,
        shard: u32,
        count: u32,
        generation: u64,
        following: &mut Following,
    ) -> Result<()> {
        if let Some(replica) = self.replicas.get_mut(&(count, shard)) {
            if replica.index().snapshot().generation() == generation {
                return Ok(());
            }
            let (progress, fetched) = replica.prefetch(generation).await;
            add(following, &progress);
            return fetched;
        }
        let store = shard_store(&self.store, shard, count);
        let directory = self.directory(shard, count);
        let replica = Replica::open_at(store, &directory, Wanted::Exactly(generation)).await?;
        add(following, replica.opening());
        self.replicas.insert((count, shard), replica);
        Ok(())
    }

    /// Swaps a shard to exactly this generation.
    async fn swap(&mut self, shard: u32, count: u32, generation: u64) -> Result<Arc<Snapshot>> {
        let missing = || Error::missing("there is no copy");
        let replica = self.replicas.get_mut(&(count, shard)).ok_or_else(missing)?;
        let mut error = None;
        if replica.index().snapshot().generation() != generation {
            error = replica.sync_to(Wanted::Exactly(generation)).await.error;
        }
        let snapshot = replica.index().snapshot();
        if snapshot.generation() == generation {
            return Ok(snapshot);
        }
        Err(error.unwrap_or_else(|| {
            let held = snapshot.generation();
            Error::missing(format!(
                "generation {generation} is not available; this node has {held}"
            ))
            .into()
        }))
    }

    /// Starts the background thread, because writing and hashing files blocks. It checks the store immediately if it has
    /// not been contacted. Generations no longer in use are dropped after `grace`.
    pub(super) fn start(
        self,
        interval: Duration,
        grace: Duration,
        has_asked: bool,
    ) -> Result<Background> {
        let work = self.follow(interval, grace, has_asked);
        let started = Background::start("shards", work);
        Ok(started.map_err(|error| Error::io("start a thread", error))?)
    }

    async fn follow(mut self, interval: Duration, grace: Duration, has_asked: bool) {
        let mut has_former_copies = true;
        let mut retry_delay = RetryDelay::new(interval, None);
        let mut told = None;
        let mut pause = if has_asked { interval } else { Duration::ZERO };
        loop {
            tokio::time::sleep(pause).await;
            pause = interval;
            if !self.is_pausing(&retry_delay).await {
                let look = self.load_newest().await;
                let newest = look.following.newest;
                retry_delay.note(look.error.is_some().then_some(newest));
                log_once(look.error.as_ref(), &mut told);
                // While the newest generation cannot be loaded, nothing else is touched.
                if look.error.is_none() && has_former_copies {
                    self.remove_former_copies();
                    has_former_copies = false;
                }
            }
            self.members.refresh();
            if self.holding.retire(Instant::now(), grace) {
                let left: Vec<u64> = self.loaded.all().keys().copied().collect();
                self.kept.forget_all_but(&left);
                has_former_copies = true;
            }
        }
    }

    /// Removes the copies that are of no generation here: those of former numbers of shards, and of shards that
    /// other nodes hold now.
    fn remove_former_copies(&mut self) {
        let held = self.loaded.all();
        let used = held.values().flat_map(|held| {
            let count = held.manifest.shard_count();
            let own = self.holding.own_shards(&held.manifest).into_iter();
            let shards = own
                .map(|(shard, _)| shard)
                .chain(held.shards.keys().copied());
            shards.map(move |shard| (count, shard))
        });
        let used: HashSet<(u32, u32)> = used.collect();
        self.replicas.retain(|copy, _| used.contains(copy));
        let entries = std::fs::read_dir(&self.cache).into_iter().flatten();
        for entry in entries.flatten() {
            let copy = entry.file_name().to_str().and_then(copy_of_name);
            let Some((count, shard)) = copy.filter(|copy| !used.contains(copy)) else {
                continue;
            };
            match std::fs::remove_dir_all(entry.path()) {
                Ok(()) => tracing::info!(shard, count, "a copy that nothing uses is removed"),
                Err(error) => tracing::warn!(shard, count, %error, "a copy cannot be removed"),
            }
        }
    }

    /// Whether the only thing to load has failed recently.
    async fn is_pausing(&self, retry_delay: &RetryDelay) -> bool {
        let Some(faulty) = retry_delay.pausing_over() else {
            return false;
        };
        // An unreachable store has no newer generation either.
        let newer = ClusterGeneration::all_above(&self.store, faulty).await;
        newer.map_or(true, |newer| newer.is_empty())
    }
}

/// The number of shards and the shard of which a directory has the copy.
fn copy_of_name(name: &str) -> Option<(u32, u32)> {
    let (shard, count) = name.split_once("-of-")?;
    let (shard, count) = (shard.parse().ok()?, count.parse().ok()?);
    (name == copy_name(shard, count)).then_some((count, shard))
}

fn copy_name(shard: u32, count: u32) -> String {
    format!("{shard}-of-{count}")
}

fn add(following: &mut Following, progress: &Progress) {
    following.objects_fetched += progress.objects_fetched;
    following.bytes_fetched += progress.bytes_fetched;
}

/// Logs an error unless it equals the last one.
fn log_once(error: Option<&ReplicaError>, told: &mut Option<String>) {
    let error = error.map(|error| format!("{error:#}"));
    if error != *told
        && let Some(error) = &error
    {
        tracing::error!(error, "the newest generation cannot be loaded");
    }
    *told = error;
}
