//! The matches of an execution in id order, found as they are asked for.

use std::ops::Range;

use super::ahead::Ahead;
use super::batch::Batch;
use super::execution::Execution;
use super::trace::Trace;
use super::window::{Window, WindowSize};
use crate::encoding::posting::Posting;
use crate::encoding::row::Row;
use crate::plan::{Plan, Strategies};
use crate::query::Order;
use crate::segment::Segment;

/// Matching rows, a few at a time, in either order, from any row on.
#[derive(Debug)]
pub(crate) struct RowStream<'a> {
    execution: Execution<'a>,
    ahead: Ahead,
    /// The window whose candidates are formed.
    window: Option<Window>,
    /// That of the next window, once there was a first.
    next_size: Option<WindowSize>,
    /// Matches that have been found and do not lie ahead any more.
    batch: Batch,
}

/// Some matches, in the stream's order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'s>(pub(super) &'s [u32]);

/// Matches in an order, a run at a time.
pub(crate) trait Runs {
    /// The next matches; empty where there are none any more. They stay the next ones until they
    /// are [taken](Self::take). No more rows are looked at than it takes to find `wanted`.
    fn run(&mut self, wanted: usize) -> Run<'_>;

    /// Takes so many of the run.
    fn take(&mut self, count: usize);

    /// How many rows were looked at one by one so far.
    fn rows_checked(&self) -> u64 {
        0
    }

    /// What was seen on the way, where a trace is kept.
    fn trace(&self) -> Option<&Trace> {
        None
    }
}

impl<'a> RowStream<'a> {
    /// The matches among some rows of a segment, once a plan is [bound](Self::bind). Made in its
    /// place: moving it takes as long as a short plan.
    #[inline(always)]
    pub(crate) fn new(
        segment: &'a Segment,
        strategies: &'a Strategies,
        order: Order,
        rows: Range<u32>,
    ) -> Self {
        RowStream {
            execution: Execution::new(segment, strategies),
            ahead: Ahead::new(order, rows),
            window: None,
            next_size: None,
            batch: Batch::new(),
        }
    }

    /// Binds a plan; as [`Execution::bind`].
    pub(crate) fn bind(&mut self, plan: &'a Plan<'_>, deleted: Option<Posting<'a>>) {
        let rows = self.ahead.rows();
        self.execution.bind(plan, &rows, deleted);
    }

    /// Keeps a trace; as [`Execution::trace`].
    pub(crate) fn keep_trace(&mut self) {
        self.execution.keep_trace();
    }

    /// Takes matches from the leading list, row by row.
    fn walk(&mut self, wanted: usize) {
        // Every round looks at some rows, which are then behind it, or ends.
        while !self.ahead.is_empty() && self.batch.rows().is_empty() {
            self.batch.begin(0, wanted);
            let rows = self.execution.walked_rows().unwrap_or_default();
            self.ahead.take_listed(rows, &mut self.batch);
            self.execution.keep_walked(&mut self.batch);
        }
    }

    /// Takes matches from the next window that has some. Apart, so that [`run`](Self::run) is short
    /// where nothing has to be found.
    #[inline(never)]
    fn find(&mut self, wanted: usize) {
        // Every round looks at some rows, which are then behind it, or ends.
        while !self.ahead.is_empty() && self.batch.rows().is_empty() {
            let Some(window) = self.window.or_else(|| self.enter_window(wanted)) else {
                return self.ahead.clear();
            };
            self.batch.begin(window.block(), wanted);
            let offsets = self.ahead.offsets(window);
            let candidates = self.execution.candidates();
            candidates.collect(&offsets, self.ahead.order(), &mut self.batch);
            if self.ahead.leave(window.block(), &offsets, &self.batch) {
                self.window = None;
            }
            self.execution.keep_matches(&mut self.batch);
        }
    }

    /// Forms the candidates of the next window.
    fn enter_window(&mut self, wanted: usize) -> Option<Window> {
        let order = self.ahead.order();
        let block = match order {
            Order::OldestFirst => self.execution.block_at_or_after(self.ahead.block()),
            Order::NewestFirst => self.execution.block_at_or_before(self.ahead.block()),
        };
        let block = block.filter(|&block| self.ahead.has_block(block))?;
        let size = match self.next_size {
            Some(size) => size,
            None => self.execution.first_window_size(wanted),
        };
        let span = self.execution.open(block);
        let (offset, edge) = self.ahead.entry(block);
        let size = match self.execution.size_among_many(wanted) {
            Some(among_many) if offset == edge => among_many,
            _ => size,
        };
        let window = match order {
            Order::OldestFirst => Window::from(block, offset, size, &span),
            Order::NewestFirst => Window::before(block, offset, size, &span),
        };
        self.next_size = Some(size.greater());
        self.execution.enter(window, &span);
        self.window = Some(window);
        Some(window)
    }
}

impl Runs for RowStream<'_> {
    fn run(&mut self, wanted: usize) -> Run<'_> {
        if self.batch.rows().is_empty() {
            match self.execution.walked_rows() {
                Some(_) => self.walk(wanted),
                None => self.find(wanted),
            }
        }
        Run(self.batch.rows())
    }

    fn take(&mut self, count: usize) {
        self.batch.take(count);
    }

    fn rows_checked(&self) -> u64 {
        self.execution.rows_checked()
    }

    fn trace(&self) -> Option<&Trace> {
        self.execution.trace()
    }
}

impl<'s> Run<'s> {
    /// The number of matches.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The match at a place.
    pub(crate) fn get(&self, place: usize) -> Option<Row> {
        self.0.get(place).copied().map(Row)
    }

    /// The places of the matches in the segment.
    pub(crate) fn places(&self) -> &'s [u32] {
        self.0
    }

    /// The matches at some places, all of which have to be there.
    pub(crate) fn part(&self, places: Range<usize>) -> Run<'s> {
        Run(&self.0[places])
    }

    /// How many of the matches, from the first on, fulfil a condition that no match behind the last
    /// of them does.
    pub(crate) fn partition_point(&self, mut before: impl FnMut(Row) -> bool) -> usize {
        self.0.partition_point(|&row| before(Row(row)))
    }
}
