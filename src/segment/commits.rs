//! The commits in which rows were added and changed, and deletions. Commit numbers order all changes.

use bytemuck::{Pod, Zeroable};

use super::parts::Part;
use super::{Segment, ensure};
use crate::Result;
use crate::encoding::frame_of_reference::FRAME_NUMBERS;
use crate::encoding::packed_numbers::PackedNumbers;
use crate::encoding::row::Row;
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

impl Segment {
    /// The commits of a row.
    pub(crate) fn commits(&self, row: Row) -> Result<Commits> {
        let views = &self.checked(Part::Commits)?.commits;
        Ok(Commits {
            first: views.first.get(row.index()),
            last: views.last.get(row.index()),
        })
    }

    /// The remembered deletions by ascending id.
    pub(crate) fn tombstones(&self) -> Result<&[Tombstone]> {
        Ok(self.checked(Part::Commits)?.commits.tombstones)
    }

    /// The number of remembered deletions.
    pub(crate) fn tombstone_count(&self) -> usize {
        self.views().commits.tombstones.len()
    }

    /// Visits rows last written after an offset and not after a bound. `visit` returns the current bound, which may
    /// only decrease. Some rows after the bound are visited, too.
    ///
    /// Cost: visits each frame of 64 rows, and each row of frames with later changes.
    pub(crate) fn visit_changed_rows(
        &self,
        after: ChangeOffset,
        mut bound: ChangeOffset,
        mut visit: impl FnMut(ChangeOffset, Row) -> ChangeOffset,
    ) -> Result<()> {
        let last = self.checked(Part::Commits)?.commits.last;
        let ids = self.ids()?;
        let offset = |commit: u64, row: Row| ChangeOffset {
            commit,
            id: ids.get(row.index()),
        };
        let rows = self.row_count();
        for (index, frame) in (0..).zip(last.frames()) {
            let maximum = frame.maximum();
            // All rows of the frame were last written before the offset.
            if maximum < after.commit {
                continue;
            }
            let first_row = index * FRAME_NUMBERS as u32;
            let end = rows.min(first_row + FRAME_NUMBERS as u32);
            // All rows have one commit and ascending ids, so the first and the last row bound all
            // offsets.
            if frame.is_uniform() {
                let offset_of = |row: u32| offset(maximum, Row(row));
                if offset_of(end - 1) <= after || offset_of(first_row) > bound {
                    continue;
                }
            }
            last.visit_frame(index as usize, |row, commit| {
                if commit >= after.commit {
                    let row = Row(row as u32);
                    let offset = offset(commit, row);
                    if offset > after {
                        // The caller lowers the bound as it finds changes, which lets later frames
                        // be skipped.
                        bound = visit(offset, row);
                    }
                }
            });
        }
        Ok(())
    }

    /// Checks that no row was added after it was last written, and no signal deleted before it was added. Cost: reads
    /// the commits of all rows.
    pub(super) fn verify_commits(&self) -> Result<()> {
        for row in self.rows() {
            let Commits { first, last } = self.commits(row)?;
            ensure(
                (FIRST_COMMIT..=last).contains(&first),
                "a row was last written before it was first written",
            )?;
        }
        let is_later = |tombstone: &Tombstone| {
            (FIRST_COMMIT..=tombstone.commit).contains(&tombstone.first_commit)
        };
        ensure(
            self.tombstones()?.iter().all(is_later),
            "a signal was deleted before it was written",
        )
    }
}
