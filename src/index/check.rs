//! Checking the files of a snapshot before questions need them, or once more.

use std::sync::Arc;

use super::Snapshot;
use super::live::SegmentHandle;
use crate::{Result, segment};

/// Runs `ask` and returns its answer, or the error where it met damage in the files of an index.
///
/// Opening an index reads little of its files; what a question needs of them is checked the first time.
/// Questions that return no `Result`, such as [`Snapshot::search`], panic where the check fails, unless they
/// are asked in here. After [`Snapshot::check`] no question meets damage but in records, whose readers
/// return a `Result`.
///
/// ```
/// # use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
/// # let mut builder = IndexBuilder::in_memory();
/// # builder.add_company(&Company::new("acme", "Acme"))?;
/// # builder.add_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
/// # let snapshot = builder.finish()?.snapshot();
/// # let query = Query::parse("q=hires").expect("a query");
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
/// Where `ask` panics for another reason; and where it meets damage in a program that is compiled with
/// `panic = "abort"`, which ends.
pub fn catch_damage<T>(ask: impl FnOnce() -> T) -> Result<T> {
    segment::catch_damage(ask)
}

impl Snapshot {
    /// Checks now what would be checked when questions need it: everything but records, which are checked
    /// as they are read. After this no question ends in damage unexpectedly: see [`catch_damage`].
    ///
    /// # Errors
    /// [`is_corrupt`](crate::Error::is_corrupt): the first damage; the error names the file and the section.
    ///
    /// Cost: reads everything but records: about 0.1 s a gigabyte.
    pub fn check(&self) -> Result<()> {
        self.segments
            .iter()
            .try_for_each(|live| live.segment.check())
    }

    /// As [`check`](Self::check), of those segments that another snapshot does not share.
    pub(super) fn check_beside(&self, other: &Snapshot) -> Result<()> {
        let is_shared = |live: &&SegmentHandle| {
            let mut others = other.segments.iter();
            others.any(|other| Arc::ptr_eq(&other.segment, &live.segment))
        };
        let mut new = self.segments.iter().filter(|live| !is_shared(live));
        new.try_for_each(|live| live.segment.check())
    }

    /// Checks everything, whether it was checked before or not: every byte against its checksum, the
    /// padding between sections, every record, and every posting, column and token stream against the
    /// records.
    ///
    /// # Errors
    /// The first rule that does not hold, and the file in which it does not.
    ///
    /// Cost: reads everything, and analyses every title again.
    pub fn verify(&self) -> Result<()> {
        let last_commit = self.history.last_commit;
        self.segments
            .iter()
            .try_for_each(|live| live.verify(last_commit))
    }
}
