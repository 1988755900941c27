//! Many segments over time: what a host opens, builds, changes and asks.
//!
//! A [`Snapshot`] is a set of segments that never changes; every question is asked of one. An
//! [`Index`] publishes the current snapshot: taking it is one atomic load, and whoever holds one
//! keeps it, whatever is published meanwhile.

mod builder;
mod deleted;
mod directory;
mod facets;
mod live;
mod manifest;
mod page;
mod snapshot;
mod statistics;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

pub use builder::{BuildReport, IndexBuilder};
pub use facets::{FacetCount, Facets};
pub use page::Page;
pub use snapshot::{Found, IndexStatistics, Snapshot};

use crate::Result;

/// A published index: always a snapshot to ask.
///
/// Share it by reference or `Arc`; all methods take `&self`.
#[derive(Debug)]
pub struct Index {
    directory: Option<PathBuf>,
    current: ArcSwap<Snapshot>,
}

impl Index {
    /// Opens the index in a directory.
    ///
    /// # Errors
    /// [`is_missing`](crate::Error::is_missing) where there is none, `is_foreign`, `is_newer_format`
    /// or `is_corrupt` where there is something else; the error names the file.
    ///
    /// Cost: maps the files and verifies everything but records: about 0.1 s a gigabyte.
    pub fn open(directory: impl AsRef<Path>) -> Result<Index> {
        let directory = directory.as_ref();
        let snapshot = directory::read(directory)?;
        Ok(Index {
            directory: Some(directory.to_owned()),
            current: ArcSwap::from_pointee(snapshot),
        })
    }

    /// The current snapshot. Cost: one atomic load and a reference count.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Follows the directory: publishes its current state and says whether that was news. An index
    /// in memory has no directory and no news.
    ///
    /// # Errors
    /// As [`open`](Self::open); the snapshot that was published before stays.
    pub fn refresh(&self) -> Result<bool> {
        let Some(directory) = &self.directory else { return Ok(false) };
        let current = self.snapshot();
        let Some(snapshot) = directory::read_newer(directory, &current)? else {
            return Ok(false);
        };
        self.current.store(Arc::new(snapshot));
        Ok(true)
    }

    pub(crate) fn in_memory(snapshot: Snapshot) -> Index {
        Index { directory: None, current: ArcSwap::from_pointee(snapshot) }
    }
}
