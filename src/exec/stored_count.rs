//! Counting without visiting the matches: what is stored, less what has been deleted since.

use smallvec::SmallVec;

use super::live::LiveSegment;
use super::operand::rows_of;
use crate::encoding::posting::Posting;
use crate::encoding::row::{CompanyNumber, Row};
use crate::plan::{Access, Plan, Source, Strategies};

/// Looking up a deleted row in a posting takes about as long as counting this many of its rows block
/// by block.
const COUNTED_ROWS_PER_LOOK_UP: u64 = 32;

/// Looking up a deleted row's company takes about as long as counting this many of the companies' rows.
const COUNTED_ROWS_PER_COMPANY_LOOK_UP: u64 = 4;

impl LiveSegment<'_> {
    /// The number of live matches, where it is known without visiting them.
    ///
    /// Cost: a look at each deleted row, or at each row that planning found.
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
        let deleted = self.deleted_matches(plan, stored)?;
        Some(stored.saturating_sub(deleted))
    }

    /// How many of the `stored` matches are deleted, where that takes less time than counting the others.
    fn deleted_matches(self, plan: &Plan<'_>, stored: u64) -> Option<u64> {
        let deleted = self.deleted.row_count();
        if let Some(companies) = plan.only_companies() {
            let is_cheaper = deleted * COUNTED_ROWS_PER_COMPANY_LOOK_UP <= stored;
            return is_cheaper.then(|| self.deleted_of_companies(companies));
        }
        let access = &plan.only_step()?.access;
        if let Access::OfCompanies(rows) = access {
            return Some(self.deleted_among(rows));
        }
        let sources = access.sources()?;
        let look_ups = deleted * sources.len() as u64;
        let is_cheaper = look_ups * COUNTED_ROWS_PER_LOOK_UP <= stored;
        is_cheaper.then(|| self.deleted_in(sources))
    }

    /// How many of some rows are deleted.
    fn deleted_among(self, rows: &[u32]) -> u64 {
        let Some(deleted) = self.deleted.posting() else {
            return 0;
        };
        let is_deleted = |row: &&u32| deleted.contains(Row(**row));
        rows.iter().filter(is_deleted).count() as u64
    }

    /// How many deleted rows are in any of some sources.
    fn deleted_in(self, sources: &[Source]) -> u64 {
        let postings = sources.iter().map(|&source| rows_of(self.segment, source));
        let postings: SmallVec<[Posting<'_>; 4]> = postings.collect();
        let is_in = |row| postings.iter().any(|posting| posting.contains(Row(row)));
        self.deleted.rows().iter().filter(|&row| is_in(row)).count() as u64
    }

    /// How many deleted rows are of one of some companies.
    fn deleted_of_companies(self, mut companies: SmallVec<[CompanyNumber; 4]>) -> u64 {
        companies.sort_unstable();
        let company_of = |row| self.segment.company_of(Row(row));
        let rows = self.deleted.rows().iter();
        rows.filter(|&row| companies.binary_search(&company_of(row)).is_ok())
            .count() as u64
    }
}
