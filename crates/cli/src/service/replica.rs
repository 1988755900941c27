//! The options of `serve` that follow a store, and the thread that does.

use std::path::PathBuf;
use std::time::Duration;

use signaldex::Index;
use signaldex::replicate::{Follower, Progress, Replica, ReplicaError, ReplicaResult, Store};
use signaldex_server::{Following, Service};

use super::values::parse_seconds;
use crate::Failure;

/// A copy of a published index.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplicaOptions {
    /// Serve what is published in this store instead of DIR, and follow it
    #[arg(
        long,
        value_name = "STORE-URL",
        conflicts_with = "directory",
        env = "SIGNALDEX_FOLLOW"
    )]
    follow: Option<String>,
    /// The directory of the copy; created if it does not exist
    #[arg(
        long,
        value_name = "DIR",
        default_value = "signaldex-cache",
        env = "SIGNALDEX_CACHE"
    )]
    cache: PathBuf,
    /// Seconds between checks of the store
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_seconds, env = "SIGNALDEX_FOLLOW_INTERVAL")]
    follow_interval: Duration,
}

/// An opened copy that does not follow the store yet.
pub(crate) struct OpenedReplica {
    replica: Replica,
    interval: Duration,
}

impl ReplicaOptions {
    /// Whether a store is given.
    pub(crate) fn are_given(&self) -> bool {
        self.follow.is_some()
    }

    /// Opens the copy and brings it up to date, if a store is given.
    pub(crate) async fn open(&self) -> Result<Option<OpenedReplica>, Failure> {
        let Some(address) = &self.follow else {
            return Ok(None);
        };
        let store = Store::open(address)?;
        let replica = self.open_copy(store).await.inspect_err(|error| {
            tracing::error!(error = format_args!("{error:#}"), "nothing can be served");
        })?;
        Ok(Some(OpenedReplica {
            replica,
            interval: self.follow_interval,
        }))
    }

    /// Opens an existing copy without waiting for the store; waits for the first copy otherwise.
    async fn open_copy(&self, store: Store) -> ReplicaResult<Replica> {
        match Replica::open_copy(store.clone(), &self.cache)? {
            Some(replica) => {
                let generation = replica.opening().generation;
                tracing::info!(generation, "the copy in the cache is served");
                Ok(replica)
            }
            None => Replica::open(store, &self.cache).await,
        }
    }
}

impl OpenedReplica {
    pub(crate) fn index(&self) -> Index {
        self.replica.index()
    }

    /// Follows the store until the returned value is dropped.
    pub(crate) fn follow(self, service: Service) -> Result<Follower, Failure> {
        report(&service, self.replica.opening());
        let follower = self
            .replica
            .follow(self.interval, move |progress| report(&service, progress))?;
        Ok(follower)
    }
}

fn report(service: &Service, progress: &Progress) {
    if let Some(error) = &progress.error {
        let (generation, newest) = (progress.generation, progress.newest);
        let error = format_args!("{error:#}");
        tracing::error!(%error, generation, newest, "the store cannot be followed");
    }
    if progress.replaced {
        let generation = progress.generation;
        tracing::warn!(
            generation,
            "another index is published, which is loaded whole and served"
        );
    }
    if progress.repaired {
        let (generation, bytes) = (progress.generation, progress.bytes_fetched);
        tracing::warn!(
            generation,
            bytes,
            "damaged files of the copy were fetched again"
        );
    }
    if progress.changed {
        let (generation, bytes) = (progress.generation, progress.bytes_fetched);
        tracing::info!(generation, bytes, "a new generation is served");
    }
    service.report_following(Following {
        newest: progress.newest,
        store_answered: progress.store_answered,
        error: progress.error.as_ref().map(ReplicaError::public_reason),
        objects_fetched: progress.objects_fetched,
        bytes_fetched: progress.bytes_fetched,
    });
}
