//! Replicas: publishing snapshots of an index to an object store, and following them.
//!
//! ```text
//! objects/<SHA-256 in hex>           a segment's file, or one of deletions; never changed
//! manifests/<generation, 20 digits>  the objects of a generation; created once, never changed
//! ```
//!
//! A publisher uploads the objects first and then creates the manifest if it does not exist: of several
//! publishers of the same generation one wins, and all objects of a visible manifest exist. There is no
//! mutable pointer to the newest generation, because file systems have no conditional update; the newest is
//! the last name of a listing.
//!
//! A [`Replica`] keeps a copy in a directory of its own, which is a regular index directory. It fetches
//! only missing objects, verifies each against its name, opens the new generation, and only then swaps. If
//! anything fails, the previous generation keeps answering.
//!
//! ```
//! use signaldex::replicate::{PublishOptions, Replica, Store, publish};
//! # use signaldex::{Company, IndexBuilder};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (directory, cache) = (folder.path().join("index"), folder.path().join("cache"));
//! # let mut builder = IndexBuilder::in_directory(&directory)?;
//! # builder.add_company(&Company::new("acme", "Acme"))?;
//! # builder.finish()?;
//! let store = Store::in_memory(); // or Store::open("s3://bucket/signals")?
//! let published = publish(&directory, &store, PublishOptions::default()).await?;
//!
//! let replica = Replica::open(store, &cache).await?;
//! let index = replica.index();
//! assert_eq!(index.snapshot().generation(), published.generation);
//! # Ok(())
//! # }
//! ```
//!
//! A corpus of several shards is built from the same parts: each shard is published in a [folder](Store::folder) of one
//! store, and a manifest of your own, [sealed](seal) and [created](Store::create_manifest) once, names the generation of
//! each, which [`Replica::prefetch`] and [`Replica::sync_to`] load exactly.
//!
//! Objects are named by their content, so generations with common segments share objects. [`prune`]
//! removes old generations. `docs/replicas.md` describes how to run replicas, and their limits.

mod background;
mod cluster_manifest;
mod error;
mod follow;
mod mark;
mod origin;
mod prune;
mod publication;
mod publish;
mod replica;
mod store;

pub use object_store;

pub use background::Background;
pub use cluster_manifest::{CLUSTER, CLUSTER_MAGIC, shard_folder};
pub use error::{ReplicaError, ReplicaErrorKind, ReplicaResult};
pub use follow::{Follower, RetryDelay};
pub use prune::{PruneOptions, Pruned, PrunedFile, PrunedKind, prune};
pub use publication::{open_seal, seal};
pub use publish::{Newest, PublishOptions, Published, publish, publish_after, refuse_older};
pub use replica::{Progress, Replica, Wanted};
pub use store::Store;
