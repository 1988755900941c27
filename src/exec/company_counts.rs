//! Counts the matches of each company of a segment.

use super::execution::Execution;
use super::live::{LiveSegment, Request};
use super::observer::Unobserved;
use crate::Result;
use crate::encoding::column::{Column, NO_CODE};
use crate::encoding::row::Row;
use crate::plan::{Plan, PlanStorage};

/// With more deleted rows than this share of all, matches are visited instead of subtracting the deleted ones.
const DELETED_SHARE_MAX: u64 = 8;

/// The live matches of each company of a segment, by company number.
#[derive(Debug)]
pub(crate) struct CompanyCounts {
    /// Their number.
    pub(crate) counts: Vec<u32>,
    /// The greatest day code of them, 0 without one; empty unless wanted.
    pub(crate) days: Vec<u32>,
}

impl LiveSegment<'_> {
    /// Counts the matches of each company, and finds their latest days if wanted.
    ///
    /// # Errors
    /// A part of the segment that the request needs is damaged.
    ///
    /// Cost: that of a count, some nanoseconds per match, and clearing a counter per company.
    pub(crate) fn count_by_company(
        self,
        request: &Request<'_>,
        with_days: bool,
    ) -> Result<CompanyCounts> {
        let companies = self.segment.company_count() as usize;
        let mut found = CompanyCounts {
            counts: vec![0; companies],
            days: vec![NO_CODE; if with_days { companies } else { 0 }],
        };
        let mut storage = PlanStorage::new();
        let plan = self.plan(&mut storage, request, None)?;
        if plan.no_match.is_some() {
            return Ok(found);
        }
        if plan.is_everything() && self.has_few_deleted() {
            self.count_stored(&mut found.counts)?;
            if with_days {
                self.find_stored_days(&mut found.days)?;
            }
            return Ok(found);
        }
        // A loop for each width of codes, which saves a branch per match.
        match self.segment.company_column()? {
            Column::One(codes) => {
                self.add_matches(request, plan, |row| codes[row.index()].into(), &mut found)?;
            }
            Column::Two(codes) => {
                self.add_matches(request, plan, |row| codes[row.index()].into(), &mut found)?;
            }
            Column::Four(codes) => {
                self.add_matches(request, plan, |row| codes[row.index()], &mut found)?;
            }
        }
        Ok(found)
    }

    /// Whether subtracting the deleted rows takes less than visiting the others.
    pub(crate) fn has_few_deleted(self) -> bool {
        self.deleted.row_count() * DELETED_SHARE_MAX <= u64::from(self.segment.row_count())
    }

    /// The stored numbers of rows, less the deleted ones.
    fn count_stored(self, counts: &mut [u32]) -> Result<()> {
        let starts = self.segment.rows_by_company()?;
        for (count, company) in counts.iter_mut().zip(self.segment.companies()) {
            *count = starts.get(company).len() as u32;
        }
        for row in self.deleted.rows() {
            let company = self.segment.company_of(Row(row))?;
            // Stored rows have not been compared with the column, so the difference saturates.
            let count = &mut counts[company.index()];
            *count = count.saturating_sub(1);
        }
        Ok(())
    }

    /// The stored latest days, and those of the other rows where the latest is deleted.
    fn find_stored_days(self, days: &mut [u32]) -> Result<()> {
        let (stored, of_company) = (
            self.segment.latest_day_codes()?,
            self.segment.rows_by_company()?,
        );
        days.clone_from_slice(stored);
        let column = self.segment.day_column()?.column;
        for row in self.deleted.rows().iter().map(Row) {
            let company = self.segment.company_of(row)?;
            if column.get(row) == days[company.index()] {
                let rows = of_company.get(company).iter();
                let live = rows.filter(|&&row| !self.deleted.contains(row));
                let latest = live.map(|&row| column.get(row)).max();
                days[company.index()] = latest.unwrap_or(NO_CODE);
            }
        }
        Ok(())
    }

    /// Adds the matches of a plan. `code_of` gives the code of a row's company.
    fn add_matches(
        self,
        request: &Request<'_>,
        plan: &Plan<'_>,
        code_of: impl Fn(Row) -> u32,
        found: &mut CompanyCounts,
    ) -> Result<()> {
        let counts = &mut found.counts;
        // Every row has a company, so its code is at least 1.
        let company_of = |row| code_of(row) as usize - 1;
        if found.days.is_empty() {
            return self.visit_matches(request, plan, |row| counts[company_of(row)] += 1);
        }
        let (days, day_codes) = (&mut found.days, self.segment.day_column()?.column);
        self.visit_matches(request, plan, |row| {
            let company = company_of(row);
            counts[company] += 1;
            // Codes compare like their days.
            days[company] = days[company].max(day_codes.get(row));
        })
    }

    /// Calls `visit` with each match of a plan that may have some.
    fn visit_matches(
        self,
        request: &Request<'_>,
        plan: &Plan<'_>,
        mut visit: impl FnMut(Row),
    ) -> Result<()> {
        let mut execution = Execution::<Unobserved>::unbound(self, request.strategies);
        execution.bind(self, plan, &self.rows())?;
        if execution.visit_listed(&mut visit) {
            return Ok(());
        }
        let mut next = execution.block_at_or_after(0);
        // Invariant: the matches of all blocks before `next` have been visited.
        while let Some(block) = next {
            execution.load_block(block);
            execution.evaluate_residual();
            let rows = execution.candidates();
            rows.for_each(|offset| visit(Row::of(block, offset)));
            next = execution.block_at_or_after(block + 1);
        }
        Ok(())
    }
}
