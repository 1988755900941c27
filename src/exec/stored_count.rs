//! Counts without visiting matches: stored counts minus deleted rows.

use super::live::LiveSegment;
use crate::Result;
use crate::encoding::row::Row;
use crate::plan::{Access, Plan, Source};

impl LiveSegment<'_> {
    /// The number of live matches, if it is known without visiting them.
    ///
    /// # Errors
    /// The parts of the segment that tell which of its deleted rows match are damaged.
    ///
    /// Cost: a look-up per source, or per row found while planning.
    pub(super) fn stored_count(self, plan: &Plan<'_>) -> Result<Option<u64>> {
        if plan.is_everything() {
            return Ok(Some(self.live_rows()));
        }
        let Some(stored) = plan.stored_count() else {
            return Ok(None);
        };
        if self.deleted.row_count() == 0 {
            return Ok(Some(stored));
        }
        let deleted = self.deleted_matches(plan)?;
        // Stored cardinalities have not been compared with the rows, so the difference saturates.
        Ok(deleted.map(|deleted| stored.saturating_sub(deleted)))
    }

    /// The number of deleted rows among the stored matches, if known.
    fn deleted_matches(self, plan: &Plan<'_>) -> Result<Option<u64>> {
        let sources = match plan.only_step().map(|step| &step.access) {
            Some(Access::OfCompanies(rows)) => return Ok(Some(self.deleted_among(rows))),
            Some(access) => access.sources(),
            None => None,
        };
        let (Some(sources), Some(tally)) = (sources, self.deleted.tally(self.segment)?) else {
            return Ok(None);
        };
        let deleted_of = |source: &Source| match source {
            Source::Posting(posting) => tally.of_posting(*posting),
            Source::Company(company) => tally.of_company(*company),
        };
        // The sources of a stored count are disjoint, so each deleted row counts once.
        Ok(Some(sources.iter().map(deleted_of).sum()))
    }

    /// The number of deleted rows among these rows.
    fn deleted_among(self, rows: &[u32]) -> u64 {
        let Some(deleted) = self.deleted.posting() else {
            return 0;
        };
        let is_deleted = |row: &&u32| deleted.contains(Row(**row));
        rows.iter().filter(is_deleted).count() as u64
    }
}
