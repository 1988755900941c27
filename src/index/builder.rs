//! Builds a new index in memory or in a directory.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use super::Index;
use super::chain::{Chain, ChainLine, CommitDigest};
use super::directory::{self, FileBuilder, NewFiles};
use super::identity::IndexId;
use super::manifest::{History, Manifest, REMEMBERED_COMMITS};
use super::memory::Memory;
use super::snapshot::Snapshot;
use super::storage::{Directory, Scaffold, Storage};
use crate::segment::{FIRST_COMMIT, FinishProgress};
use crate::signal::{Company, Signal};
use crate::{Error, Result};

/// Builds an index of one segment.
///
/// ```
/// # use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = IndexBuilder::in_memory();
/// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
/// let id = SignalId::new(7).ok_or("an id")?;
/// builder.add_signal(&Signal::new(id, "acme", "Acme raises Series A"))?;
/// let index = builder.finish()?;
///
/// let today = time::macros::date!(2026 - 06 - 30);
/// let page = index.snapshot().search(&Query::from_query_string("q=\"series a\"")?, today)?;
/// assert!(page.ids().eq([id]));
/// # Ok(())
/// # }
/// ```
pub struct IndexBuilder {
    segment: FileBuilder,
    new_files: NewFiles,
    next_file: u64,
    compresses_records: bool,
    remembered_commits: u64,
    storage: Arc<dyn Storage>,
    /// Removed after the files.
    scaffold: Scaffold,
    /// Released last: until then, this builder may remove the files.
    _lock: Box<dyn Debug + Send + Sync>,
}

impl IndexBuilder {
    /// Builds in memory. The index supports everything that one in a directory does, and ends with the process.
    ///
    /// ```
    /// use signaldex::{Company, IndexBuilder};
    ///
    /// let mut builder = IndexBuilder::in_memory();
    /// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
    /// let index = builder.finish()?;
    /// assert!(index.snapshot().has_company("acme")?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn in_memory() -> IndexBuilder {
        IndexBuilder::in_storage(Arc::new(Memory::default())).expect("memory can be written to")
    }

    /// Builds in a directory, which is created if it does not exist.
    ///
    /// Records are written to disk as they are added, so memory does not hold their text. A builder that is
    /// dropped before it is finished leaves nothing.
    ///
    /// ```
    /// use signaldex::{ErrorKind, Index, IndexBuilder};
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("index");
    ///
    /// IndexBuilder::in_directory(&directory)?.finish()?;
    /// assert_eq!(Index::open(&directory)?.snapshot().signal_count(), 0);
    ///
    /// let error = IndexBuilder::in_directory(&directory).expect_err("there is an index already");
    /// assert_eq!(error.kind(), ErrorKind::Invalid);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The directory already contains an index, or cannot be written.
    pub fn in_directory(path: impl AsRef<Path>) -> Result<IndexBuilder> {
        let directory = Directory::new(path.as_ref());
        let scaffold = directory
            .ensure()
            .map(|new_folders| directory.scaffold(new_folders))?;
        let builder = IndexBuilder::in_storage(Arc::new(directory));
        let mut builder = builder.map_err(|error| error.at(path.as_ref()))?;
        builder.scaffold = scaffold;
        Ok(builder)
    }

    pub(super) fn in_storage(storage: Arc<dyn Storage>) -> Result<IndexBuilder> {
        refuse_existing(&*storage)?;
        let lock = storage.lock()?;
        // Another builder may have finished before the lock was taken.
        refuse_existing(&*storage)?;
        directory::remove_leftovers(&*storage, &Manifest::empty())?;
        let mut new_files = NewFiles::new(&storage);
        let mut next_file = FIRST_FILE;
        let segment = FileBuilder::create(&mut new_files, &mut next_file, None)?;
        Ok(IndexBuilder {
            segment,
            new_files,
            next_file,
            compresses_records: true,
            remembered_commits: REMEMBERED_COMMITS,
            storage,
            scaffold: Scaffold::default(),
            _lock: lock,
        })
    }

    /// Sets whether records are compressed, in this index and by later merges. Default: yes.
    ///
    /// Compressed records take a sixth to a quarter of their JSON, plain ones half to three quarters. Reading a
    /// page of fifty takes 10 to 20 microseconds longer, and the build about 2 microseconds per signal. Segments
    /// with less than 4 MiB of records, and new commits until they are merged, are never compressed.
    ///
    /// ```
    /// use signaldex::{Company, IndexBuilder};
    ///
    /// // Trades memory or disk for the fastest reads of records.
    /// let mut builder = IndexBuilder::in_memory().compress_records(false);
    /// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
    /// assert_eq!(builder.finish()?.snapshot().company_count()?, 1);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    #[must_use]
    pub fn compress_records(mut self, compress: bool) -> IndexBuilder {
        self.compresses_records = compress;
        self
    }

    /// Sets for how many commits the index remembers deletions. Default: 100,000.
    ///
    /// [`Snapshot::changes`] accepts positions up to that many commits ago. A deleted signal takes 24 bytes while
    /// it is remembered.
    ///
    /// ```
    /// use signaldex::{Company, Filter, IndexBuilder, PositionError};
    ///
    /// let index = IndexBuilder::in_memory().remember_deletions(1).finish()?;
    /// let (since, mut writer) = (index.snapshot().position(), index.writer()?);
    /// for name in ["Acme", "Acme GmbH"] {
    ///     writer.upsert_company(&Company::new("acme", name))?;
    ///     writer.commit()?;
    /// }
    /// let (snapshot, filter) = (index.snapshot(), Filter::default());
    /// let changes = snapshot.changes(&filter, time::macros::date!(2026 - 06 - 30), &since);
    /// assert_eq!(changes.err(), Some(PositionError::Expired)); // two commits ago
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    #[must_use]
    pub fn remember_deletions(mut self, commits: u64) -> IndexBuilder {
        self.remembered_commits = commits;
        self
    }

    /// Adds a company, which replaces an earlier one with the same slug. Returns whether there is one.
    ///
    /// ```
    /// use signaldex::{Company, IndexBuilder};
    ///
    /// let mut builder = IndexBuilder::in_memory();
    /// assert!(!builder.add_company(&Company::new("acme", "Acme"))?);
    /// assert!(builder.add_company(&Company::new("acme", "Acme GmbH"))?, "it replaces the first");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The output cannot be written, or is full.
    pub fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        self.segment.builder.add_company(company)
    }

    /// Adds a signal of a company that has been added. It replaces an earlier one with the same id. Returns whether
    /// there is one.
    ///
    /// ```
    /// use signaldex::{Company, ErrorKind, IndexBuilder, Signal, SignalId};
    ///
    /// let mut builder = IndexBuilder::in_memory();
    /// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
    /// builder.add_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
    ///
    /// let other = Signal::new(SignalId::MAX, "other", "Other hires");
    /// let error = builder.add_signal(&other).expect_err("there is no such company");
    /// assert_eq!(error.kind(), ErrorKind::UnknownCompany);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownCompany`](crate::ErrorKind::UnknownCompany); or the output cannot be written, or is
    /// full.
    pub fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        self.segment.builder.add_signal(signal)
    }

    /// Whether a company with this slug has been added.
    ///
    /// ```
    /// use signaldex::{Company, IndexBuilder};
    ///
    /// let mut builder = IndexBuilder::in_memory();
    /// builder.add_company(&Company::new("acme", "Acme"))?;
    /// assert!(builder.has_company("acme") && !builder.has_company("other"));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn has_company(&self, slug: &str) -> bool {
        self.segment.builder.has_company(slug)
    }

    /// Finishes the segment, makes it durable if it is in a directory, and opens it.
    ///
    /// ```
    /// use signaldex::{Company, Index, IndexBuilder};
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("index");
    ///
    /// let mut builder = IndexBuilder::in_directory(&directory)?;
    /// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
    /// let index = builder.finish()?;
    /// let opened = Index::open(&directory)?; // here, or in another process
    /// assert_eq!(opened.snapshot().revision(), index.snapshot().revision());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The output cannot be written.
    ///
    /// Cost: about as much time as adding the records.
    pub fn finish(self) -> Result<Index> {
        self.finish_with(|_| ())
    }

    /// As [`finish`](Self::finish), and tells some dozens of times which share of the work is done: from 0 to 1, in
    /// proportion to the time that it takes.
    ///
    /// ```
    /// use signaldex::{Company, IndexBuilder};
    ///
    /// let mut builder = IndexBuilder::in_memory();
    /// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
    /// let mut told = Vec::new();
    /// builder.finish_with(|share| told.push(share))?;
    /// assert!(told.is_sorted() && told.last() == Some(&1.0));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_with(mut self, mut tell: impl FnMut(f64)) -> Result<Index> {
        let mut progress = FinishProgress::new(&mut tell);
        let live = if self.compresses_records {
            self.segment.finish_compressed(
                &mut self.new_files,
                &mut self.next_file,
                &mut progress,
            )?
        } else {
            self.segment.finish_with(&*self.storage, &mut progress)?
        };
        let identity = IndexId::random()?;
        let before = CommitDigest::before_first(identity);
        let digest = before.next(Some(&live.segment), std::iter::empty());
        let manifest = Manifest {
            identity,
            generation: FIRST_GENERATION,
            next_file: self.next_file,
            compresses_records: self.compresses_records,
            history: History {
                last_commit: FIRST_COMMIT,
                remembered_commits: self.remembered_commits,
            },
            segments: vec![directory::line(&live, None)],
            chain: ChainLine::of_first(digest),
        };
        self.new_files.publish(&manifest)?;
        self.scaffold.keep();
        let chain = Chain::open(&*self.storage, &manifest.chain, None)?;
        let snapshot = Snapshot::new(&manifest, vec![live], chain);
        tell(1.0);
        Ok(Index::of(self.storage, snapshot))
    }
}

fn refuse_existing(storage: &dyn Storage) -> Result<()> {
    if directory::exists(storage)? {
        return Err(Error::invalid(
            "there is an index here already; `signaldex update` changes it, and removing the directory makes room for a new one",
        ));
    }
    Ok(())
}

const FIRST_FILE: u64 = 1;
const FIRST_GENERATION: u64 = 1;
