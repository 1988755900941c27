//! Reads the commits of rows: changes after a commit, and deletions.

use super::commits::{ChangeOffset, Commits, FIRST_COMMIT, Tombstone};
use super::ensure::ensure;
use super::parts::Part;
use super::reader::Segment;
use crate::Result;
use crate::encoding::frame_of_reference::FRAME_NUMBERS;
use crate::encoding::row::Row;

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
