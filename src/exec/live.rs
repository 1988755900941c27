//! A live segment and a request to it: what every question to a segment is about.
//!
//! A segment file never changes, so its deleted rows are stored separately.

use std::ops::Range;

use time::Date;

use super::observer::Observer;
use super::parallel::SharedExecutor;
use crate::Result;
use crate::encoding::row::{CompanyNumber, Row};
use crate::plan::Strategies;
use crate::query::{Filter, IdOrder};
use crate::segment::{Deleted, Segment};
use crate::signal::SignalId;

/// A segment with its deleted rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveSegment<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) deleted: &'a Deleted,
}

/// A request, the same for every segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) filter: &'a Filter,
    /// The date used as today.
    pub(crate) today: Date,
    pub(crate) order: IdOrder,
    pub(crate) strategies: &'a Strategies,
    /// Whether few rows of a segment are evaluated without a plan.
    pub(crate) may_be_eager: bool,
    /// What runs parts of a large segment on several threads.
    pub(crate) executor: Option<&'a SharedExecutor>,
}

impl<'a> Request<'a> {
    /// The executor, for an observer of the request to a segment of that size.
    pub(crate) fn executor_for<O: Observer>(
        &self,
        segment: &Segment,
    ) -> Option<&'a SharedExecutor> {
        // What is observed stays on one thread, so that times and counters are those of all its steps.
        let splits = |executor: &&SharedExecutor| O::SPLITS && executor.splits(segment.row_count());
        self.executor.filter(splits)
    }
}

impl<'a> LiveSegment<'a> {
    /// All rows, including deleted ones.
    pub(super) fn rows(self) -> Range<u32> {
        0..self.segment.row_count()
    }

    /// The number of rows that are not deleted.
    pub(crate) fn live_rows(self) -> u64 {
        u64::from(self.segment.row_count()) - self.deleted.row_count()
    }

    /// The share of rows that are not deleted; 1 without rows.
    pub(super) fn live_share(self) -> f64 {
        let rows = f64::from(self.segment.row_count().max(1));
        1.0 - self.deleted.row_count() as f64 / rows
    }

    /// The live row of an id.
    pub(crate) fn row(self, id: SignalId) -> Result<Option<Row>> {
        let row = self.segment.row(id)?;
        Ok(row.filter(|&row| !self.deleted.contains(row)))
    }

    /// The live company with a slug, by number.
    pub(crate) fn company_by_slug(self, slug: &str) -> Result<Option<CompanyNumber>> {
        let company = self.segment.company_keys()?.by_slug(slug);
        if self.deleted.has_no_company() {
            return Ok(company);
        }
        match company {
            Some(company) if self.is_live(company)? => Ok(Some(company)),
            _ => Ok(None),
        }
    }

    /// Whether a company is live.
    pub(crate) fn is_live(self, company: CompanyNumber) -> Result<bool> {
        let is_deleted = self.deleted.contains_company(company, self.segment)?;
        Ok(!is_deleted)
    }

    /// Keeps the live ones of some companies.
    pub(crate) fn live_companies(self, found: Vec<CompanyNumber>) -> Result<Vec<CompanyNumber>> {
        if self.deleted.has_no_company() {
            return Ok(found);
        }
        let mut live = Vec::with_capacity(found.len());
        for company in found {
            if self.is_live(company)? {
                live.push(company);
            }
        }
        Ok(live)
    }
}
