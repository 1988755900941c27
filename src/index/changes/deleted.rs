//! Which of some signals an index had at a position and has deleted since.

use crate::Result;
use crate::index::Snapshot;
use crate::index::position::{Position, PositionError, Since};
use crate::segment::{ChangeOffset, Tombstone};
use crate::signal::SignalId;

impl Snapshot {
    /// Which of some signals the index had at a position and has deleted since, in the order in which they are given: also
    /// those that were added again. A feed over several indexes tells by this that a signal which is new to one of them has
    /// moved there. The filter of a [narrowed](Self::narrowed) snapshot makes no difference.
    ///
    /// A signal that was deleted before the position, added again and deleted once more may count as one that it had.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Filter, SignalId, sample};
    ///
    /// let index = sample::index()?;
    /// let before = index.snapshot();
    /// let mut ids = before.matches(&Filter::default(), sample::AS_OF, Order::OldestFirst).ids();
    /// let oldest = ids.next().transpose()?.expect("a signal");
    /// let mut writer = index.writer()?;
    /// writer.delete_signal(oldest)?;
    /// writer.commit()?;
    /// let after = index.snapshot();
    /// assert_eq!(after.deleted_since(&before.position(), &[SignalId::MAX, oldest])??, [oldest]);
    /// assert!(after.deleted_since(&after.position(), &[oldest])??.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file with deletions is damaged; inside, as [`changes`](Self::changes).
    ///
    /// Cost: a binary search of each id in the deletions of each segment.
    pub fn deleted_since(
        &self,
        since: &Position,
        ids: &[SignalId],
    ) -> Result<Result<Vec<SignalId>, PositionError>> {
        let since = match since.in_index(self.identity(), self.history, &self.chain)? {
            Ok(since) => since,
            Err(error) => return Ok(Err(error)),
        };
        let mut deleted = Vec::new();
        for &id in ids {
            if self.is_deleted_since(since, id)? {
                deleted.push(id);
            }
        }
        Ok(Ok(deleted))
    }

    fn is_deleted_since(&self, since: Since, id: SignalId) -> Result<bool> {
        // Merges take deletions along, so any segment may have this one.
        for live in &self.segments {
            let tombstones = live.segment.tombstones()?;
            // They ascend by id.
            let found = tombstones.binary_search_by_key(&id.get(), |tombstone| tombstone.id);
            if found.is_ok_and(|index| is_between(since, &tombstones[index])) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a copy held the signal of a deletion and has not seen the deletion.
fn is_between(since: Since, tombstone: &Tombstone) -> bool {
    let added = ChangeOffset {
        commit: tombstone.first_commit,
        id: tombstone.id,
    };
    added <= since.offset && tombstone.offset() > since.offset
}
