//! The commits in which rows were added and changed, and deletions. Commit numbers order all changes.

use bytemuck::{Pod, Zeroable};

use super::ensure::ensure;
use crate::Result;
use crate::encoding::packed_numbers::PackedNumbers;
use crate::signal::SignalId;

/// The commit that builds an index; later ones have larger numbers.
pub(crate) const FIRST_COMMIT: u64 = 1;

/// The commits of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commits {
    /// The commit that added it. A signal that is added again after a deletion is new.
    pub(crate) first: u64,
    /// The commit that last wrote it or its company.
    pub(crate) last: u64,
}

/// A deleted signal. Part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tombstone {
    pub(crate) id: u64,
    /// The commit that deleted it.
    pub(crate) commit: u64,
    /// The commit that added it.
    pub(crate) first_commit: u64,
}

/// An offset in the changes feed, ordered by commit and, within a commit, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangeOffset {
    pub(crate) commit: u64,
    pub(crate) id: u64,
}

/// A view of the commits of rows, and of deletions.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommitViews<'a> {
    /// By row.
    pub(super) first: PackedNumbers<'a>,
    /// By row.
    pub(super) last: PackedNumbers<'a>,
    /// By ascending id.
    pub(super) tombstones: &'a [Tombstone],
}

impl Commits {
    /// The commits of a signal in a new index.
    pub(crate) const BUILT: Commits = Commits {
        first: FIRST_COMMIT,
        last: FIRST_COMMIT,
    };
}

impl ChangeOffset {
    /// The offset after all changes of a commit.
    pub(crate) fn after_commit(commit: u64) -> ChangeOffset {
        ChangeOffset {
            commit,
            id: u64::MAX,
        }
    }
}

impl Tombstone {
    /// The offset of the deletion.
    pub(crate) fn offset(&self) -> ChangeOffset {
        ChangeOffset {
            commit: self.commit,
            id: self.id,
        }
    }

    /// Combines two deletions of the same signal: a reader that has seen neither needs the last one, and it held the
    /// signal if it has seen the first commit of either.
    fn with(self, other: Tombstone) -> Tombstone {
        Tombstone {
            commit: self.commit.max(other.commit),
            first_commit: self.first_commit.min(other.first_commit),
            ..self
        }
    }
}

/// Sorts deletions by id, and combines those of the same signal.
pub(super) fn sort_tombstones(tombstones: &mut Vec<Tombstone>) {
    tombstones.sort_unstable_by_key(|tombstone| tombstone.id);
    // `dedup_by` passes the later of two neighbours first and keeps the earlier one.
    tombstones.dedup_by(|other, kept| {
        let is_same = other.id == kept.id;
        if is_same {
            *kept = kept.with(*other);
        }
        is_same
    });
}

impl CommitViews<'_> {
    /// Checks what reading relies on. Cost: visits each frame, and each number of non-uniform frames.
    pub(super) fn validate(&self) -> Result<()> {
        self.first.validate()?;
        self.last.validate()?;
        ensure(
            self.tombstones.is_sorted_by(|a, b| a.id < b.id),
            "the deleted ids are out of order",
        )?;
        let is_id = |tombstone: &Tombstone| SignalId::new(tombstone.id).is_some();
        ensure(
            self.tombstones.iter().all(is_id),
            "a deleted id is out of range",
        )
    }

    /// The last commit that changed a row or deleted a signal; 0 if there is none.
    pub(super) fn last_commit(&self) -> u64 {
        let deleted = self.tombstones.iter().map(|tombstone| tombstone.commit);
        self.last.maximum().max(deleted.max()).unwrap_or(0)
    }
}
