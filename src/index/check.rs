//! Checks the files of a snapshot, before queries need them or again.

use std::sync::Arc;

use super::Snapshot;
use super::live::SegmentHandle;
use crate::Result;

impl Snapshot {
    /// Checks everything but records now, rather than each part before its first use. Records are checked as
    /// they are read. After this, other methods meet no damage, unless another program overwrites a file, which
    /// [`Index::refresh`](crate::Index::refresh) notices.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("index");
    /// let index = signaldex::IndexBuilder::in_directory(&directory)?.finish()?;
    /// index.snapshot().check()?; // when a service starts, before it answers
    /// assert!(!index.snapshot().is_damaged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt): the first damage; the error names the file and the section.
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
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert!(snapshot.verify().is_ok());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
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
