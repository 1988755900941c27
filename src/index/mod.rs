//! Indexes: opening, building, changing and searching a set of segments.
//!
//! A [`Snapshot`] is an immutable set of segments, on which all queries run. An [`Index`] publishes the
//! current snapshot: loading it is one atomic operation, and a reader can keep its snapshot while newer ones
//! are published.

// In this order, the documentation lists the methods of a snapshot in the order of use.
mod queries;

mod matches;

mod changes;

mod aggregates;

mod aggregate_explanation;

mod lookups;

mod columns;

mod figures;

mod company_queries;

mod cost;

mod hints;

mod hint_facts;

mod snapshot;

mod narrowed;

mod check;

mod builder;
mod cell_sums;
mod chain;
mod commit;
mod companies;
mod company_explain;
mod company_keys;
mod company_matches;
mod company_page;
mod company_ranks;
mod company_search;
mod company_set;
mod debug;
mod directory;
mod facet_dictionary;
mod facets;
mod group_table;
mod group_values;
mod hex_number;
mod hint_rules;
mod identity;
mod live;
mod manifest;
mod mapped_file;
mod measuring;
mod memory;
mod merge;
mod merge_threads;
#[cfg(feature = "replicate")]
mod mirror;
mod narrowings;
mod page;
mod pending;
mod position;
mod removals;
mod result_page;
mod shared;
#[cfg(feature = "replicate")]
mod source;
mod storage;
#[cfg(test)]
mod tests;
mod top_companies;
mod value_page;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;

pub use aggregate_explanation::AggregateExplanation;
pub use builder::IndexBuilder;
#[cfg(feature = "replicate")]
pub(crate) use chain::ChainLine;
pub use changes::{Change, ChangeKind, Changes};
pub use columns::{RowBlock, SegmentColumns};
pub use company_explain::{CompaniesExplanation, CompanyStepExplanation};
pub use company_page::{CompanyPage, MatchingCompanies};
#[cfg(feature = "replicate")]
pub(crate) use directory::FileKind;
pub use facet_dictionary::{FacetCounters, FacetDictionary};
pub use facets::{FacetCount, Facets};
pub use figures::IndexStatistics;
pub use hint_facts::HintFacts;
pub use identity::IndexId;
#[cfg(feature = "replicate")]
pub(crate) use manifest::{FileLine, History, SegmentLine};
pub use matches::{Matches, Pages};
#[cfg(feature = "replicate")]
pub(crate) use mirror::Mirror;
pub use pending::CommitReport;
pub use position::{ParsePositionError, Position, PositionError};
pub use result_page::{Ids, Page};
pub use snapshot::{Found, Snapshot};
#[cfg(feature = "replicate")]
pub(crate) use source::{SourceFile, SourceState};
#[cfg(feature = "replicate")]
pub(crate) use storage::NewFile;
pub use writer::{CompanyDeletion, Writer};

use self::shared::Shared;
use self::storage::{Directory, Storage};
use crate::exec::{Executor, SharedExecutor, SplitLimits};
use crate::{Error, Result};

/// An index, which always has a current snapshot.
///
/// Share it by reference or clone it; clones share everything.
#[derive(Clone)]
pub struct Index(Arc<Shared>);

/// The result of [`Index::refresh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub enum Refreshed {
    /// The state has not changed.
    Unchanged,
    /// The index has changed.
    Changed,
    /// The directory contains another index, because it was rebuilt or replaced.
    Replaced,
    /// The state has not changed, and its files are whole: some that had been overwritten were read again, or some
    /// that were replaced by copies were opened again.
    Reloaded,
}

impl Index {
    /// Opens the index in a directory.
    ///
    /// ```
    /// use signaldex::{ErrorKind, Index, IndexBuilder};
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("index");
    ///
    /// let error = Index::open(&directory).expect_err("nothing has been built yet");
    /// assert_eq!(error.kind(), ErrorKind::Missing);
    ///
    /// IndexBuilder::in_directory(&directory)?.finish()?;
    /// let index = Index::open(&directory)?;
    /// assert_eq!(index.snapshot().signal_count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Missing`](crate::ErrorKind::Missing) if there is no index; `Foreign`, `NewerFormat` or
    /// `Corrupt` if the files cannot be used. The error names the file.
    ///
    /// Cost: less than a millisecond per segment to map it and check its section table. Other parts are checked
    /// before their first use: see [`Snapshot`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Index> {
        Index::from_storage(Arc::new(Directory::new(directory.as_ref())))
    }

    /// Creates an empty index in memory, to be filled by its [`writer`](Self::writer). It is dropped with its last
    /// clone and writer. [`IndexBuilder::in_memory`] builds a large one faster.
    ///
    /// ```
    /// use signaldex::{Company, Index, Signal, SignalId};
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
    /// The operating system provides no random bytes for the identity.
    pub fn in_memory() -> Result<Index> {
        IndexBuilder::in_memory().finish()
    }

    /// The current snapshot. Cost: one atomic load and a reference count.
    ///
    /// ```
    /// use signaldex::{Company, Index};
    ///
    /// let index = Index::in_memory()?;
    /// let before = index.snapshot();
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// writer.commit()?;
    /// assert!(index.snapshot().has_company("acme")?);
    /// assert!(!before.has_company("acme")?, "a snapshot never changes");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.current.load_full()
    }

    /// Publishes the current state of the directory if it has changed, and notices files that another program has
    /// overwritten, which it must not do. An index in memory has nothing to refresh, because its own writer publishes
    /// every commit.
    ///
    /// Each call compares inode, length and times of the mapped files. If the length or the time of the last change
    /// differs, every query on a snapshot with that file fails from then on until the file has been
    /// read again and is what the manifest names. If only the time of the inode differs, as after a hard link, the
    /// file is read again while queries go on. A whole copy that is renamed into the place of a file is opened.
    ///
    /// ```
    /// # use signaldex::{Company, Index, IndexBuilder, Query, Signal, SignalId};
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("index");
    /// # let mut builder = IndexBuilder::in_directory(&directory)?;
    /// # builder.add_company(&Company::new("acme", "Acme"))?;
    /// # builder.add_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
    /// # builder.finish()?;
    /// # let segment = directory.join("segment-00000000000000000001");
    /// # let whole = std::fs::read(&segment)?;
    /// # let overwrite = |bytes: &[u8]| {
    /// #     use std::io::Write;
    /// #     std::fs::OpenOptions::new().write(true).open(&segment)?.write_all(bytes)
    /// # };
    /// # let today = time::macros::date!(2026 - 06 - 30);
    /// use signaldex::Refreshed;
    ///
    /// let index = Index::open(&directory)?;
    /// let query = Query::from_query_string("q=hires")?;
    /// # std::thread::sleep(std::time::Duration::from_millis(20)); // a tick of the clock that stamps files
    /// overwrite(&vec![0; whole.len()])?; // as `rsync --inplace` of another index does
    ///
    /// let error = index.refresh().expect_err("the file is another");
    /// assert!(error.kind() == signaldex::ErrorKind::Corrupt && error.path() == Some(&segment));
    /// let snapshot = index.snapshot();
    /// assert!(snapshot.search(&query, today).is_err());
    ///
    /// overwrite(&whole)?;
    /// assert_eq!(index.refresh()?, Refreshed::Reloaded);
    /// assert_eq!(snapshot.search(&query, today)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`Snapshot::check`]; the previous snapshot stays published. As long as a file of it
    /// is another than the manifest names, [`Corrupt`](crate::ErrorKind::Corrupt), with the file.
    ///
    /// Cost: reads the manifest, a few hundred bytes, and two calls of `stat` per segment; if the state has changed,
    /// opens and checks new files; reads files whole that have changed.
    pub fn refresh(&self) -> Result<Refreshed> {
        let refreshing = self.0.refreshing.lock();
        let _refreshing = refreshing.unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot();
        before.look()?;
        // A commit does not wait for files that are read again only to be sure.
        let is_trusted = before.ensure_trusted().is_ok();
        let mut loaded = if is_trusted {
            self.load(&before)
        } else {
            Ok(None)
        };
        if let Ok(Some(refreshed)) = loaded {
            return Ok(refreshed);
        }
        let read = before.read_changed_files();
        if !is_trusted {
            loaded = self.load(&before);
        }
        match (loaded, read) {
            (Ok(Some(refreshed)), _) => Ok(refreshed),
            (_, Err(error)) | (Err(error), _) => Err(error),
            (Ok(None), Ok(true)) => Ok(Refreshed::Reloaded),
            (Ok(None), Ok(false)) => Ok(Refreshed::Unchanged),
        }
    }

    /// Publishes the state of the directory if it or the files that it names are not those of a snapshot.
    fn load(&self, before: &Arc<Snapshot>) -> Result<Option<Refreshed>> {
        let Some(snapshot) = directory::read_changed(&*self.0.storage, before)? else {
            return Ok(None);
        };
        snapshot.check_beside(before)?;
        // An overwritten file is shared as long as the state names it.
        snapshot.ensure_trusted()?;
        let refreshed = if snapshot.identity() != before.identity() {
            Refreshed::Replaced
        } else if snapshot.revision() != before.revision() {
            Refreshed::Changed
        } else {
            Refreshed::Reloaded
        };
        // From here on, the files of the new snapshot are looked at.
        before.look()?;
        // A writer of this process may have published a later state meanwhile, which must stay.
        let found = self.0.current.compare_and_swap(before, Arc::new(snapshot));
        Ok(Arc::ptr_eq(&found, before).then_some(refreshed))
    }

    /// Notices overwritten files as [`refresh`](Self::refresh) does, but reads nothing, so that they are noticed in
    /// time while that reads.
    ///
    /// # Errors
    /// The operating system does not tell.
    ///
    /// Cost: one call of `fstat` per segment.
    ///
    /// ```
    /// let index = signaldex::sample::index()?;
    /// index.look()?;
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn look(&self) -> Result<()> {
        self.snapshot().look()
    }

    /// When the directory last changed, by a commit or a merge; `None` for an index in memory.
    ///
    /// ```
    /// use signaldex::{Index, IndexBuilder};
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("index");
    ///
    /// let index = IndexBuilder::in_directory(&directory)?.finish()?;
    /// assert!(index.changed_at().is_some());
    /// assert!(Index::in_memory()?.changed_at().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost: one query of a file's modification time.
    pub fn changed_at(&self) -> Option<SystemTime> {
        self.0.storage.changed_at(directory::MANIFEST)
    }

    /// Opens the writer of the index. There is at most one at a time: over all processes for a directory, over all
    /// clones for an index in memory.
    ///
    /// ```
    /// use signaldex::{ErrorKind, Index};
    ///
    /// let index = Index::in_memory()?;
    /// let writer = index.writer()?;
    /// let error = index.clone().writer().expect_err("there is a writer");
    /// assert_eq!(error.kind(), ErrorKind::Locked);
    ///
    /// drop(writer);
    /// assert!(index.writer().is_ok());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Locked`](crate::ErrorKind::Locked) while another writer is open; otherwise as [`open`](Self::open).
    pub fn writer(&self) -> Result<Writer> {
        Writer::open(&self.0)
    }

    /// Lets counts, facets and aggregates of segments with more than five million signals use several threads, which the
    /// host provides: those of this index and of all its snapshots, from now on. Answers do not depend on it.
    ///
    /// A query asks for the executor only if it is expected to take 150 microseconds more, and only one at a time has it:
    /// others run on their own threads meanwhile, so that an index under load does not answer less.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use signaldex::{Executor, sample};
    ///
    /// struct Threads;
    ///
    /// impl Executor for Threads {
    ///     fn run(&self, task: &(dyn Fn() + Sync)) {
    ///         std::thread::scope(|scope| {
    ///             scope.spawn(task);
    ///             task();
    ///         });
    ///     }
    /// }
    ///
    /// let index = sample::index()?;
    /// index.set_executor(Arc::new(Threads))?;
    /// assert!(index.set_executor(Arc::new(Threads)).is_err(), "it has one");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if the index has an executor already.
    pub fn set_executor(&self, executor: Arc<dyn Executor>) -> Result<()> {
        self.share_executor(SharedExecutor::new(executor, SplitLimits::DEFAULT))
    }

    /// As [`set_executor`](Self::set_executor) with other limits, for tests of this crate.
    #[cfg(feature = "__strategies")]
    #[doc(hidden)]
    pub fn set_executor_within(
        &self,
        executor: Arc<dyn Executor>,
        limits: SplitLimits,
    ) -> Result<()> {
        self.share_executor(SharedExecutor::new(executor, limits))
    }

    fn share_executor(&self, shared: SharedExecutor) -> Result<()> {
        let set = self.0.current.load().executor.set(shared);
        set.map_err(|_| {
            Error::invalid("the index has an executor already; set it once, after opening it")
        })
    }

    fn from_storage(storage: Arc<dyn Storage>) -> Result<Index> {
        let (_, snapshot) = directory::read(&*storage, None)?;
        Ok(Index::of(storage, snapshot))
    }

    fn of(storage: Arc<dyn Storage>, snapshot: Snapshot) -> Index {
        Index(Arc::new(Shared {
            storage,
            current: ArcSwap::from_pointee(snapshot),
            refreshing: Mutex::default(),
        }))
    }
}
