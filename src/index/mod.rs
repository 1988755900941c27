//! Many segments over time: what a host opens, builds, changes and asks.
//!
//! A [`Snapshot`] is a set of segments that never changes; every question is asked of one. An
//! [`Index`] publishes the current snapshot: taking it is one atomic load, and a reader keeps
//! the snapshot it holds, whatever is published meanwhile.

mod builder;
mod changes;
mod check;
mod commit;
#[cfg(feature = "http")]
mod cost;
mod debug;
mod directory;
mod facets;
mod identity;
mod live;
mod manifest;
mod matches;
mod memory;
mod merge;
mod merge_threads;
#[cfg(feature = "replicate")]
mod mirror;
mod page;
mod position;
mod removals;
mod result_page;
mod snapshot;
#[cfg(feature = "replicate")]
mod source;
mod storage;
#[cfg(test)]
mod tests;
mod unknown;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;

pub use builder::IndexBuilder;
pub use changes::{Change, Changes};
pub use check::catch_damage;
pub use commit::CommitReport;
#[cfg(feature = "replicate")]
pub(crate) use directory::FileKind;
pub use facets::{FacetCount, Facets};
pub use identity::IndexId;
#[cfg(feature = "replicate")]
pub(crate) use manifest::{DeletedLine, History, SegmentLine};
pub use matches::{Matches, Pages};
#[cfg(feature = "replicate")]
pub(crate) use mirror::Mirror;
pub use position::{ParsePositionError, Position, PositionError};
pub use result_page::{Ids, Page};
pub use snapshot::{Found, IndexStatistics, Snapshot};
#[cfg(feature = "replicate")]
pub(crate) use source::{Source, SourceFile};
#[cfg(feature = "replicate")]
pub(crate) use storage::NewFile;
pub use writer::{CompanyDeletion, Writer};

use self::storage::{Directory, Storage};
use crate::Result;

/// A published index: always a snapshot to ask.
///
/// Share it by reference or clone it; clones share everything.
#[derive(Clone)]
pub struct Index(Arc<Shared>);

/// What an index, its clones and its writer share.
#[derive(Debug)]
struct Shared {
    storage: Arc<dyn Storage>,
    current: ArcSwap<Snapshot>,
}

impl Shared {
    /// Publishes a snapshot unless it is the one that is published already.
    fn publish_if_changed(&self, snapshot: Snapshot) {
        if snapshot.revision() != self.current.load().revision() {
            self.current.store(Arc::new(snapshot));
        }
    }
}

/// What [`Index::refresh`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub enum Refreshed {
    /// The snapshot that was published already.
    Unchanged,
    /// Another state of the same index.
    Changed,
    /// Another index: the directory was built anew, or replaced. All of it was loaded.
    Replaced,
}

impl Index {
    /// Opens the index in a directory.
    ///
    /// # Errors
    /// [`is_missing`](crate::Error::is_missing) where there is none, `is_foreign`, `is_newer_format`
    /// or `is_corrupt` where there is something else; the error names the file.
    ///
    /// Cost: maps the files and checks their frames, below a millisecond each. The rest is checked when it
    /// is first needed, without which no question answers: see [`catch_damage`](crate::catch_damage).
    pub fn open(directory: impl AsRef<Path>) -> Result<Index> {
        Index::from_storage(Arc::new(Directory::new(directory.as_ref())))
    }

    /// An empty index in memory, to be filled by its [`writer`](Self::writer). It ends with its last
    /// clone and writer; [`IndexBuilder::in_memory`] builds a large one sooner.
    ///
    /// ```
    /// use signaldex::{Company, Filter, Index, Signal, SignalId};
    ///
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// writer.upsert_signal(&Signal::new(SignalId::MIN, "acme", "Acme raises Series A"))?;
    /// writer.commit()?;
    /// assert_eq!(index.snapshot().signal_count(), 1);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operating system has no random bytes for the identity.
    pub fn in_memory() -> Result<Index> {
        IndexBuilder::in_memory().finish()
    }

    /// The current snapshot. Cost: one atomic load and a reference count.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.current.load_full()
    }

    /// Follows the directory: publishes its current state and says what was found. An index in
    /// memory only has its own writer, whose commits are published already.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Snapshot::check`]; the snapshot that was published before stays.
    ///
    /// Cost: reads the manifest, a few hundred bytes; where it changed, opens and checks what is new.
    pub fn refresh(&self) -> Result<Refreshed> {
        let before = self.snapshot();
        let Some(snapshot) = directory::read_changed(&*self.0.storage, &before)? else {
            return Ok(Refreshed::Unchanged);
        };
        snapshot.check_beside(&before)?;
        let is_same_index = snapshot.identity() == before.identity();
        // A writer of this process may have published a later state meanwhile, which stays.
        let found = self.0.current.compare_and_swap(&before, Arc::new(snapshot));
        Ok(if !Arc::ptr_eq(&found, &before) {
            Refreshed::Unchanged
        } else if is_same_index {
            Refreshed::Changed
        } else {
            Refreshed::Replaced
        })
    }

    /// When the directory last changed, by a commit or a merge; `None` for an index in memory.
    ///
    /// Cost: asks the file system for one time.
    pub fn changed_at(&self) -> Option<SystemTime> {
        self.0.storage.changed_at(directory::MANIFEST)
    }

    /// The writer of the index. There is one at a time: over all processes for a directory, over all
    /// clones for an index in memory.
    ///
    /// # Errors
    /// [`is_locked`](crate::Error::is_locked) while another has it; as [`open`](Self::open) otherwise.
    pub fn writer(&self) -> Result<Writer> {
        Writer::open(&self.0)
    }

    fn from_storage(storage: Arc<dyn Storage>) -> Result<Index> {
        let (_, snapshot) = directory::read(&*storage, None)?;
        Ok(Index::of(storage, snapshot))
    }

    fn of(storage: Arc<dyn Storage>, snapshot: Snapshot) -> Index {
        Index(Arc::new(Shared {
            storage,
            current: ArcSwap::from_pointee(snapshot),
        }))
    }
}
