//! Replicas: publishes a snapshot of an index to an object store, and follows what is published.
//!
//! ```text
//! objects/<SHA-256 in hex>           a segment's file, or one of deletions; never changed
//! manifests/<generation, 20 digits>  which objects make up a generation; created once, never changed
//! ```
//!
//! A publisher sends the objects first and then creates the manifest, if nobody else has: of several
//! that race for a generation one wins, and a visible manifest has all its objects. There is
//! no mutable pointer to the newest, because a conditional update is not to be had on a disk; the
//! newest is the last name of a listing.
//!
//! A [`Replica`] keeps a copy in a directory of its own, which is an index directory like any other.
//! It fetches only objects that it does not have, verifies each against its name, opens the whole,
//! and only then swaps; whatever goes wrong, the generation before goes on answering.
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
//! Objects are named by what they hold, so a generation that shares segments with the one before
//! shares objects with it. [`prune`] removes what is not needed any more. `docs/replicas.md` says how to
//! run replicas, and what is not done.

mod background;
mod cluster_manifest;
mod follow;
mod mark;
mod origin;
mod prune;
pub(crate) mod publication;
mod publish;
mod replica;
mod store;

pub use object_store;

#[cfg(feature = "cluster")]
pub(crate) use background::Background;
#[cfg(feature = "cluster")]
pub(crate) use cluster_manifest::{CLUSTER, CLUSTER_MAGIC, shard_folder};
pub use follow::Follower;
#[cfg(feature = "cluster")]
pub(crate) use follow::RetryDelay;
pub use prune::{PruneOptions, Pruned, PrunedFile, PrunedKind, prune};
#[cfg(feature = "cluster")]
pub(crate) use publish::{Newest, publish_after, refuse_older};
pub use publish::{PublishOptions, Published, publish};
#[cfg(feature = "cluster")]
pub(crate) use replica::Wanted;
pub use replica::{Progress, Replica};
pub use store::Store;
