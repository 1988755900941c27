//! Scanning a set whose rows all match: all rows, those of a posting, or those of some companies.
//!
//! A page of one word, of one company or of all signals takes a fifth less than with all that
//! narrowing needs (`benches/queries`, rare term).

use std::ops::Range;

use super::candidate_rows::CandidateRows;
use super::matches::{MatchRun, Matches};
use super::observer::{Method, Observer, Run, StepKey, Strategy};
use super::operand::rows_of;
use super::output::OutputBuffer;
use super::remaining::Remaining;
use super::row_window::RowWindow;
use super::union::ListUnion;
use crate::encoding::posting::Posting;
use crate::encoding::row::Row;
use crate::plan::{Access, Plan, Source};
use crate::query::Order;
use crate::segment::Segment;

/// A set of rows, all of which match.
#[derive(Debug)]
pub(super) enum ScanSource<'a> {
    /// No row.
    Nothing,
    /// All rows.
    Everything,
    /// Those of a posting.
    Posting(Posting<'a>),
    /// Those of companies.
    Companies(ListUnion<'a>),
}

/// The rows of a set, a few at a time, in either order, from any row on.
#[derive(Debug)]
pub(super) struct Scan<'a, O> {
    source: ScanSource<'a>,
    remaining: Remaining,
    output: OutputBuffer,
    observer: O,
}

impl<'a> ScanSource<'a> {
    /// The matches of a plan on its segment, none of whose rows is deleted, where they can be scanned
    /// in an order among some rows.
    #[inline(always)]
    pub(super) fn of(
        plan: &'a Plan<'_>,
        segment: &'a Segment,
        order: Order,
        rows: &Range<u32>,
    ) -> Option<ScanSource<'a>> {
        if plan.is_everything() {
            return Some(ScanSource::Everything);
        }
        match &plan.only_step()?.access {
            Access::One(source) => Some(ScanSource::Posting(rows_of(segment, *source))),
            Access::Rows(listed) => Some(ScanSource::Posting(Posting::List(listed))),
            Access::Union(union) => {
                let listed = |source: &Source| match source {
                    Source::Company(company) => Some(Row::numbers(segment.company_rows(*company))),
                    Source::Posting(_) => None,
                };
                let lists = union.iter().map(listed).collect::<Option<_>>()?;
                Some(ScanSource::Companies(ListUnion::new(lists, rows, order)))
            }
            Access::OfCompanies(_) | Access::Phrase { .. } => None,
        }
    }

    fn strategy(&self) -> Strategy {
        match self {
            ScanSource::Nothing => Strategy::NoMatch,
            ScanSource::Everything => Strategy::DirectScan("all rows"),
            ScanSource::Posting(_) => Strategy::DirectScan("one posting"),
            ScanSource::Companies(_) => Strategy::DirectScan("the merged lists of companies"),
        }
    }
}

impl<'a, O: Observer> Scan<'a, O> {
    /// Scans a set's rows that are among some rows. A source of companies already has the same order
    /// and rows.
    #[inline(always)]
    pub(super) fn new(source: ScanSource<'a>, order: Order, rows: Range<u32>) -> Scan<'a, O> {
        Scan {
            source,
            remaining: Remaining::new(order, rows),
            output: OutputBuffer::new(),
            observer: O::default(),
        }
    }

    /// Takes rows from the next block of a posting that has some.
    fn take_from_block(&mut self, posting: Posting<'a>, wanted: usize) {
        // Invariant: `remaining` holds the rows not yet read. Each turn shortens it or ends.
        while !self.remaining.is_empty() && self.output.rows().is_empty() {
            let block = match self.remaining.order() {
                Order::OldestFirst => posting.next_block(self.remaining.block()),
                Order::NewestFirst => posting.previous_block(self.remaining.block()),
            };
            let Some(block) = block.filter(|&block| self.remaining.has_block(block)) else {
                return self.remaining.clear();
            };
            self.output.reset(block, wanted);
            let offsets = self.remaining.offsets(RowWindow::whole(block));
            let rows = CandidateRows::of_block(posting.block(block));
            rows.collect(&offsets, self.remaining.order(), &mut self.output);
            self.remaining.advance(block, &offsets, &self.output);
        }
    }
}

impl<O: Observer> Matches<O> for Scan<'_, O> {
    #[inline(always)]
    fn next_run(&mut self, wanted: usize) -> MatchRun<'_> {
        if self.output.rows().is_empty() {
            let started = O::now();
            self.output.reset(0, wanted);
            match &mut self.source {
                ScanSource::Nothing => {}
                ScanSource::Everything => self.remaining.take(&mut self.output),
                ScanSource::Companies(union) => self.output.extend(union),
                &mut ScanSource::Posting(Posting::List(rows)) => {
                    self.remaining.take_listed(rows, &mut self.output);
                }
                &mut ScanSource::Posting(posting) => self.take_from_block(posting, wanted),
            }
            let read = || Some(self.output.rows().len() as u64);
            let step = StepKey::Required(0);
            self.observer.ran(step, Method::Scan, started, read);
        }
        MatchRun(self.output.rows())
    }

    #[inline(always)]
    fn take(&mut self, n: usize) {
        self.output.take(n);
    }

    fn finish(&mut self) -> (Run, O) {
        let run = Run::without_visits(self.source.strategy());
        (run, std::mem::take(&mut self.observer))
    }
}
