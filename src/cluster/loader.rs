//! Loading what is published: a thread that brings a node's shards from the store, generation by
//! generation, while those before go on answering.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::generation::{ClusterGeneration, shard_store};
use super::loaded_shards::{LoadedGeneration, LoadedShards};
use super::members::Members;
use super::settings::ClusterSettings;
use crate::replicate::{Background, Replica, Store, Wanted};
use crate::{Error, Result, Snapshot};

/// Loads the shards of one node.
pub(super) struct Loader {
    settings: ClusterSettings,
    own: usize,
    store: Store,
    cache: PathBuf,
    loaded: LoadedShards,
    /// The copies, by number of shards and shard.
    replicas: HashMap<(u32, u32), Replica>,
    /// What was wrong the last time, so that it is told once.
    error: Option<String>,
}

impl Loader {
    pub(super) fn new(
        settings: ClusterSettings,
        own: usize,
        store: Store,
        cache: PathBuf,
        loaded: LoadedShards,
    ) -> Loader {
        Loader {
            settings,
            own,
            store,
            cache,
            loaded,
            replicas: HashMap::new(),
            error: None,
        }
    }

    /// Loads the newest generation, unless it is held.
    pub(super) async fn load_newest(&mut self) -> Result<()> {
        let held = self.loaded.all();
        let newest = held.keys().next_back().copied().unwrap_or(0);
        let Some(generation) = ClusterGeneration::newest_above(&self.store, newest).await? else {
            return match newest {
                0 => Err(Error::missing(
                    "no generation is published in the store yet",
                )),
                _ => Ok(()),
            };
        };
        let manifest = ClusterGeneration::read(&self.store, generation).await?;
        let count = manifest.shard_count();
        let mut shards = BTreeMap::new();
        for (shard, published) in (0..).zip(&manifest.shards) {
            if self.settings.holders(shard, count).contains(&self.own) {
                let snapshot = self.shard(shard, count, published.generation).await;
                let about = |error: Error| error.about(&format!("shard {shard}"));
                shards.insert(shard, snapshot.map_err(about)?);
            }
        }
        tracing::info!(generation, shards = shards.len(), "a generation is loaded");
        self.loaded.install(LoadedGeneration { manifest, shards });
        Ok(())
    }

    /// A shard of that generation, and no other.
    async fn shard(&mut self, shard: u32, count: u32, generation: u64) -> Result<Arc<Snapshot>> {
        let wanted = Wanted::Exactly(generation);
        let mut error = None;
        let replica = match self.replicas.get_mut(&(count, shard)) {
            Some(replica) => {
                error = replica.sync_to(wanted).await.error;
                replica
            }
            None => {
                let store = shard_store(&self.store, shard, count);
                let cache = self.cache.join(format!("{shard}-of-{count}"));
                std::fs::create_dir_all(&self.cache)
                    .map_err(|error| Error::io("make the directory", error).at(&self.cache))?;
                let replica = Replica::open_at(store, &cache, wanted).await?;
                self.replicas.entry((count, shard)).or_insert(replica)
            }
        };
        let snapshot = replica.index().snapshot();
        if snapshot.generation() == generation {
            Ok(snapshot)
        } else {
            Err(error.unwrap_or_else(|| {
                let held = snapshot.generation();
                Error::missing(format!(
                    "generation {generation} is not to be had; {held} is here"
                ))
            }))
        }
    }

    /// Loads in a thread of its own, as files are written and hashed on it. Generations that nobody
    /// asks for any more are let go `grace` after that was seen.
    pub(super) fn start(
        self,
        members: Arc<Members>,
        interval: Duration,
        grace: Duration,
    ) -> Result<Background> {
        let work = async move { self.follow(&members, interval, grace).await };
        Background::start("shards", work).map_err(|error| Error::io("start a thread", error))
    }

    async fn follow(mut self, members: &Members, interval: Duration, grace: Duration) {
        let mut unused: Option<(u64, Instant)> = None;
        loop {
            tokio::time::sleep(interval).await;
            let loaded = self.load_newest().await;
            self.tell(loaded);
            members.choose();
            let oldest = members.oldest_in_use();
            match unused {
                Some((generation, since)) if generation == oldest => {
                    if since.elapsed() >= grace {
                        self.loaded.retire_below(generation);
                    }
                }
                _ => unused = Some((oldest, Instant::now())),
            }
        }
    }

    /// Logs an error once.
    fn tell(&mut self, loaded: Result<()>) {
        let error = loaded.err().map(|error| error.to_string());
        if error != self.error
            && let Some(error) = &error
        {
            tracing::error!(error, "the newest generation cannot be loaded");
        }
        self.error = error;
    }
}
