//! Checks the files of a snapshot, before queries need them or again.

use std::sync::Arc;

use super::Snapshot;
use super::live::SegmentHandle;
use crate::{Result, segment};

/// Runs `ask` and returns its result, or an error if it meets damage in the files of an index.
///
/// Opening an index reads little of its files. Each part is checked against its checksum before it is first
/// used. If that check fails, methods that return no `Result`, such as [`Snapshot::search`], panic unless they
/// run inside this function. After a successful [`Snapshot::check`] only records can still turn out to be
/// damaged, and the methods that read them return a `Result`; unless another program overwrites a file, which
/// [`Index::refresh`](crate::Index::refresh) notices.
///
/// ```
/// # use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
/// # let mut builder = IndexBuilder::in_memory();
/// # builder.add_company(&Company::new("acme", "Acme"))?;
/// # builder.add_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
/// # let snapshot = builder.finish()?.snapshot();
/// # let query = Query::from_query_string("q=hires").expect("a query");
/// # let today = time::macros::date!(2026 - 06 - 30);
/// let page = signaldex::catch_damage(|| snapshot.search(&query, today))?;
/// assert_eq!(page.len(), 1);
/// # Ok::<(), signaldex::Error>(())
/// ```
///
/// # Errors
/// [`is_corrupt`](crate::Error::is_corrupt): the first damage that `ask` met. The error names the file.
///
/// # Panics
/// If `ask` panics for another reason. A program compiled with `panic = "abort"` ends when it meets damage: call
/// [`Snapshot::check`] after opening instead.
pub fn catch_damage<T>(ask: impl FnOnce() -> T) -> Result<T> {
    segment::catch_damage(ask)
}

impl Snapshot {
    /// Checks everything but records now, rather than each part before its first use. Records are checked as
    /// they are read. After this, methods that return no `Result` cannot meet damage, unless another program
    /// overwrites a file: see [`catch_damage`].
    ///
    /// # Errors
    /// [`is_corrupt`](crate::Error::is_corrupt): the first damage; the error names the file and the section.
    ///
    /// Cost: reads everything but records: about 0.1 s a gigabyte.
    pub fn check(&self) -> Result<()> {
        let mut segments = self.segments.iter();
        segments.try_for_each(|live| live.segment.check())?;
        self.chain.check()
    }

    /// As [`check`](Self::check), only for files that another snapshot does not share.
    pub(super) fn check_beside(&self, other: &Snapshot) -> Result<()> {
        let is_shared = |live: &&SegmentHandle| {
            let mut others = other.segments.iter();
            others.any(|other| Arc::ptr_eq(&other.segment, &live.segment))
        };
        let mut new = self.segments.iter().filter(|live| !is_shared(live));
        new.try_for_each(|live| live.segment.check())?;
        self.chain.check()
    }

    /// Distrusts the segments whose files another program has overwritten. Reads no file.
    ///
    /// # Errors
    /// The operating system does not tell.
    ///
    /// Cost: one call of `fstat` per segment.
    pub(super) fn look(&self) -> Result<()> {
        self.segments.iter().try_for_each(SegmentHandle::look)
    }

    /// Reads the files again that have changed since they were opened. Returns whether one that was damaged is whole.
    ///
    /// # Errors
    /// As [`Index::refresh`](super::Index::refresh) for a file that was overwritten: the first of them, after all
    /// were read.
    pub(super) fn read_changed_files(&self) -> Result<bool> {
        let read = self.segments.iter().map(SegmentHandle::read_again);
        let read: Vec<Result<bool>> = read.collect();
        read.into_iter()
            .try_fold(false, |healed, read| Ok(healed | read?))
    }

    /// Whether nothing is known against any file, so that a kept answer of this snapshot may be repeated: an entity tag
    /// is not to be confirmed, nor an answer sent that was found while a file was being overwritten.
    ///
    /// # Errors
    /// Another program has overwritten a file, so that no query may read it.
    ///
    /// Cost: a look at a flag per segment.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// snapshot.ensure_trusted()?;
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn ensure_trusted(&self) -> Result<()> {
        let mut segments = self.segments.iter();
        segments.try_for_each(|live| live.segment.ensure_trusted())
    }

    /// Whether a file was overwritten, or a query or a check has met damage in one: what a service tells its monitoring.
    /// Queries that need nothing of that file are still answered.
    ///
    /// ```
    /// let index = signaldex::Index::in_memory()?;
    /// assert!(!index.snapshot().is_damaged());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn is_damaged(&self) -> bool {
        self.segments.iter().any(|live| live.segment.is_damaged())
    }

    /// Checks everything, even if it was checked before: every byte against its checksum, the padding between
    /// sections, every record, and every posting, column and token stream against the records.
    ///
    /// # Errors
    /// The first violated rule, with the file.
    ///
    /// Cost: reads everything, and analyses every title again.
    pub fn verify(&self) -> Result<()> {
        let last_commit = self.history.last_commit;
        let mut segments = self.segments.iter();
        segments.try_for_each(|live| live.verify(last_commit))?;
        self.chain.verify()
    }
}
