//! Counts without visiting matches: stored counts minus deleted rows.

use super::live::LiveSegment;
use crate::encoding::row::Row;
use crate::plan::{Access, Plan, Source, Strategies};

impl LiveSegment<'_> {
    /// The number of live matches, if it is known without visiting them.
    ///
    /// Cost: a look-up per source, or per row found while planning.
    pub(super) fn stored_count(self, plan: &Plan<'_>, strategies: &Strategies) -> Option<u64> {
        if !strategies.stored_counts {
            return None;
        }
        if plan.is_everything() {
            return Some(self.live_rows());
        }
        let stored = plan.stored_count()?;
        if self.deleted.row_count() == 0 {
            return Some(stored);
        }
        let deleted = self.deleted_matches(plan)?;
        Some(stored.saturating_sub(deleted))
    }

    /// The number of deleted rows among the stored matches, if known.
    fn deleted_matches(self, plan: &Plan<'_>) -> Option<u64> {
        let access = &plan.only_step()?.access;
        if let Access::OfCompanies(rows) = access {
            return Some(self.deleted_among(rows));
        }
        let tally = self.deleted.tally(self.segment)?;
        let deleted_of = |source: &Source| match source {
            Source::Posting(posting) => tally.of_posting(*posting),
            Source::Company(company) => tally.of_company(*company),
        };
        Some(access.sources()?.iter().map(deleted_of).sum())
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
