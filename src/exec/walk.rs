//! Matches that need not be looked for: all rows, those of a posting, or those of some companies.
//!
//! A page of one word, of one company or of all signals takes a fifth less than with all that narrowing
//! needs (`benches/queries`, rare term).

use std::ops::Range;

use super::ahead::Ahead;
use super::batch::Batch;
use super::candidates::CandidateRows;
use super::operand::rows_of;
use super::stream::{Run, Runs};
use super::union::ListUnion;
use super::window::Window;
use crate::encoding::posting::Posting;
use crate::plan::{Access, Plan, Source};
use crate::query::Order;
use crate::segment::Segment;

/// A set of rows, all of which are matches.
#[derive(Debug)]
pub(crate) enum Walked<'a> {
    /// All rows.
    Everything,
    /// Those of a posting.
    Posting(Posting<'a>),
    /// Those of companies.
    Companies(ListUnion<'a>),
}

/// The rows of a set, a few at a time, in either order, from any row on.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    walked: Walked<'a>,
    ahead: Ahead,
    /// Rows that have been found and do not lie ahead any more.
    batch: Batch,
}

impl<'a> Walked<'a> {
    /// What a plan comes to on its segment, of which no row is deleted, where that can be walked in an
    /// order among some rows.
    #[inline(always)]
    pub(crate) fn of(
        plan: &'a Plan<'_>,
        segment: &'a Segment,
        order: Order,
        rows: &Range<u32>,
    ) -> Option<Walked<'a>> {
        if plan.is_everything() {
            return Some(Walked::Everything);
        }
        match &plan.only_step()?.access {
            Access::One(source) => Some(Walked::Posting(rows_of(segment, *source))),
            Access::Rows(listed) => Some(Walked::Posting(Posting::List(listed))),
            Access::Union(union) => {
                let listed = |source: &Source| match source {
                    Source::Company(company) => Some(segment.company_rows(*company)),
                    Source::Posting(_) => None,
                };
                let lists = union.iter().map(listed).collect::<Option<_>>()?;
                Some(Walked::Companies(ListUnion::new(lists, rows, order)))
            }
            Access::OfCompanies(_) | Access::Phrase { .. } => None,
        }
    }
}

impl<'a> Walk<'a> {
    /// Those of a set's rows that are among some rows; of companies the order and the rows are those that
    /// their walk was made for.
    #[inline(always)]
    pub(crate) fn new(walked: Walked<'a>, order: Order, rows: Range<u32>) -> Walk<'a> {
        Walk {
            walked,
            ahead: Ahead::new(order, rows),
            batch: Batch::new(),
        }
    }

    /// Takes rows from the next block of a posting that has some.
    fn take_from_block(&mut self, posting: Posting<'a>, wanted: usize) {
        // Every round looks at some rows, which are then behind it, or ends.
        while !self.ahead.is_empty() && self.batch.rows().is_empty() {
            let block = match self.ahead.order() {
                Order::OldestFirst => posting.next_block(self.ahead.block()),
                Order::NewestFirst => posting.previous_block(self.ahead.block()),
            };
            let Some(block) = block.filter(|&block| self.ahead.has_block(block)) else {
                return self.ahead.clear();
            };
            self.batch.begin(block, wanted);
            let offsets = self.ahead.offsets(Window::whole(block));
            let rows = CandidateRows::of_block(posting.block(block));
            rows.collect(&offsets, self.ahead.order(), &mut self.batch);
            self.ahead.leave(block, &offsets, &self.batch);
        }
    }
}

impl Runs for Walk<'_> {
    #[inline(always)]
    fn run(&mut self, wanted: usize) -> Run<'_> {
        if self.batch.rows().is_empty() {
            self.batch.begin(0, wanted);
            match &mut self.walked {
                Walked::Everything => self.ahead.take(&mut self.batch),
                Walked::Companies(union) => self.batch.extend(union),
                &mut Walked::Posting(Posting::List(rows)) => {
                    self.ahead.take_listed(rows, &mut self.batch);
                }
                &mut Walked::Posting(posting) => self.take_from_block(posting, wanted),
            }
        }
        Run(self.batch.rows())
    }

    #[inline(always)]
    fn take(&mut self, count: usize) {
        self.batch.take(count);
    }
}
