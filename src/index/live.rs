//! A segment as part of a snapshot: with the rows that were deleted since it was written.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::deleted::Deleted;
use crate::Result;
use crate::encoding::row::Row;
use crate::exec::{Execution, Walked};
use crate::plan::{Plan, Strategies};
use crate::query::{Filter, Order};
use crate::segment::Segment;
use crate::signal::SignalId;
use time::Date;

/// A segment and what is deleted of it.
#[derive(Clone, Debug)]
pub(crate) struct LiveSegment {
    /// Its number in the directory: later segments have greater ones.
    pub(crate) number: u64,
    /// Its file, for messages; none in memory.
    pub(crate) path: Option<Arc<Path>>,
    pub(crate) segment: Arc<Segment>,
    pub(crate) deleted: Arc<Deleted>,
}

impl LiveSegment {
    /// Checks every byte of the segment and every rule; the error names the file.
    pub(crate) fn verify(&self) -> Result<()> {
        self.segment.verify().map_err(|error| match &self.path {
            Some(path) => error.at(path),
            None => error,
        })
    }

    /// The number of rows that are not deleted.
    pub(crate) fn live_rows(&self) -> u64 {
        u64::from(self.segment.row_count()) - self.deleted.row_count()
    }

    /// Whether a row is there, live, and that of an id.
    pub(crate) fn has(&self, row: Row, id: SignalId) -> bool {
        self.segment.is_of(row, id) && !(self.deleted.is_some() && self.deleted.contains(row))
    }

    /// The live row of an id.
    pub(crate) fn row(&self, id: SignalId) -> Option<Row> {
        self.segment
            .row(id)
            .filter(|&row| !self.deleted.contains(row))
    }

    /// The live rows of a company, ascending.
    pub(crate) fn company_rows(&self, company: u32) -> impl Iterator<Item = Row> + '_ {
        let rows = self
            .segment
            .company_rows(company)
            .iter()
            .map(|&row| Row(row));
        rows.filter(|&row| !self.deleted.contains(row))
    }

    /// The live company with a slug, by number.
    pub(crate) fn company_by_slug(&self, slug: &str) -> Option<u32> {
        let company = self.segment.company_keys().by_slug(slug)?;
        (!self.deleted.contains_company(company)).then_some(company)
    }

    /// Plans a filter; as [`Plan::fill`].
    pub(crate) fn plan<'q>(
        &self,
        filter: &'q Filter,
        today: Date,
        strategies: &Strategies,
        wanted: Option<usize>,
    ) -> Plan<'q> {
        Plan::new(filter, today, self, strategies, wanted)
    }

    /// What a plan comes to, where its rows can be walked; as [`Walked::of`].
    #[inline(always)]
    pub(crate) fn walked<'a>(
        &'a self,
        plan: &'a Plan<'_>,
        strategies: &Strategies,
        order: Order,
        rows: &Range<u32>,
    ) -> Option<Walked<'a>> {
        let may_walk = strategies.walked_lists && !self.deleted.is_some();
        may_walk
            .then(|| Walked::of(plan, &self.segment, order, rows))
            .flatten()
    }

    /// Binds a plan, and keeps a trace of it where that is asked for.
    pub(crate) fn execution<'a>(
        &'a self,
        plan: &'a Plan<'_>,
        strategies: &'a Strategies,
        is_traced: bool,
    ) -> Execution<'a> {
        let mut execution = Execution::new(&self.segment, strategies);
        if is_traced {
            execution.keep_trace();
        }
        let rows = 0..self.segment.row_count();
        execution.bind(plan, &rows, self.deleted.posting());
        execution
    }

    /// The number of live rows that match.
    pub(crate) fn count(&self, filter: &Filter, today: Date, strategies: &Strategies) -> u64 {
        let mut plan = Plan::default();
        plan.fill(filter, today, self, strategies, None);
        if strategies.stored_counts && plan.impossible.is_none() {
            if plan.is_everything() {
                return self.live_rows();
            }
            if let Some(count) = plan.stored_count()
                && self.deleted.row_count() == 0
            {
                return count;
            }
        }
        self.execution(&plan, strategies, false).count()
    }
}
