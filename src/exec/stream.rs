//! The matches of an execution in id order, found as they are asked for.

use std::ops::Range;

use super::batch::Batch;
use super::candidates::CandidateRows;
use super::execution::Execution;
use super::lists::between;
use super::union::ListUnion;
use super::window::{Window, WindowSize};
use crate::plan::{Plan, Strategies};
use crate::query::Order;
use crate::segment::{BLOCK_ROWS, Posting, Row, Segment};

/// Matching rows, a few at a time, in either order, from any row on.
#[derive(Debug)]
pub(crate) struct RowStream<'a> {
    execution: Execution<'a>,
    order: Order,
    /// The rows that have not been looked at: from `start` to before `end`.
    start: u32,
    end: u32,
    /// The window whose candidates are formed.
    window: Option<Window>,
    /// That of the next window, once there was a first.
    next_size: Option<WindowSize>,
    /// The lists that are walked, where several are.
    union: Option<ListUnion<'a>>,
    /// Matches that have been found and are not among the rows above any more.
    batch: Batch,
}

/// Some matches, in the stream's order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'s>(&'s [u32]);

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
            order,
            start: rows.start,
            end: rows.end,
            window: None,
            union: None,
            next_size: None,
            batch: Batch::new(),
        }
    }

    /// Binds a plan; as [`Execution::bind`].
    pub(crate) fn bind(&mut self, plan: &'a Plan<'_>, deleted: Option<Posting<'a>>) {
        let rows = self.start..self.end;
        self.execution.bind(plan, &rows, deleted);
    }

    /// The next matches; empty where there are none any more. They stay the next ones until they
    /// are [taken](Self::take). No more rows are looked at than it takes to find `wanted`.
    pub(crate) fn run(&mut self, wanted: usize) -> Run<'_> {
        if self.batch.rows().is_empty() {
            if self.execution.is_everything() {
                self.take_all(wanted);
            } else if self.execution.walked_rows().is_some() {
                self.walk(wanted);
            } else if let Some(posting) = self.execution.only_posting() {
                self.walk_blocks(posting, wanted);
            } else if self.union.is_some() || self.begin_union() {
                self.walk_union(wanted);
            } else {
                self.find(wanted);
            }
        }
        Run(self.batch.rows())
    }

    /// Takes so many of the run.
    pub(crate) fn take(&mut self, count: usize) {
        self.batch.take(count);
    }

    /// Keeps a trace; as [`Execution::trace`].
    pub(crate) fn trace(&mut self) {
        self.execution.trace();
    }

    /// The execution, for what it counted.
    pub(crate) fn into_execution(self) -> Execution<'a> {
        self.execution
    }

    /// How many rows were looked at one by one so far.
    pub(crate) fn rows_checked(&self) -> u64 {
        self.execution.rows_checked()
    }

    /// Takes the next rows, where every row is a match.
    fn take_all(&mut self, wanted: usize) {
        self.batch.begin(0, wanted);
        let count = (self.batch.room() as u32).min(self.end.saturating_sub(self.start));
        match self.order {
            Order::OldestFirst => {
                let behind = self.start + count;
                self.batch.extend(self.start..behind);
                self.start = behind;
            }
            Order::NewestFirst => {
                let first = self.end - count;
                self.batch.extend((first..self.end).rev());
                self.end = first;
            }
        }
    }

    /// Takes matches from the leading list, row by row.
    fn walk(&mut self, wanted: usize) {
        // Every round looks at some rows, which are then behind it, or ends.
        while self.start < self.end && self.batch.rows().is_empty() {
            self.batch.begin(0, wanted);
            let rows = self.execution.walked_rows().unwrap_or_default();
            let rows = between(rows, &(self.start..self.end));
            let room = self.batch.room();
            self.batch.extend_from(rows, self.order);
            let last = self.batch.rows().last().filter(|_| rows.len() > room);
            match (self.order, last) {
                (Order::OldestFirst, Some(&last)) => self.start = last + 1,
                (Order::NewestFirst, Some(&last)) => self.end = last,
                (_, None) => self.start = self.end,
            }
            self.execution.keep_walked(&mut self.batch);
        }
    }

    /// Takes matches from the next block of a posting that has some.
    fn walk_blocks(&mut self, posting: Posting<'a>, wanted: usize) {
        // Every round looks at some rows, which are then behind it, or ends.
        while self.start < self.end && self.batch.rows().is_empty() {
            let (first, last) = (Row(self.start).block(), Row(self.end - 1).block());
            let block = match self.order {
                Order::OldestFirst => posting.next_block(first),
                Order::NewestFirst => posting.previous_block(last),
            };
            let Some(block) = block.filter(|block| (first..=last).contains(block)) else {
                self.start = self.end;
                return;
            };
            self.batch.begin(block, wanted);
            let offsets = self.offsets_left(Window::whole(block));
            let rows = CandidateRows::of_block(posting.block(block));
            rows.collect(&offsets, self.order, &mut self.batch);
            self.leave_behind(block, &offsets);
        }
    }

    /// Begins to walk several lists, where they are all that there is.
    fn begin_union(&mut self) -> bool {
        let rows = self.start..self.end;
        let lists = self.execution.walked_union();
        self.union = lists.map(|lists| ListUnion::new(lists, &rows, self.order));
        self.union.is_some()
    }

    /// Takes the next rows of several lists.
    fn walk_union(&mut self, wanted: usize) {
        self.batch.begin(0, wanted);
        if let Some(union) = &mut self.union {
            self.batch.extend(union);
        }
    }

    /// Takes matches from the next window that has some. Apart, so that [`run`](Self::run) is short
    /// where nothing has to be found.
    #[inline(never)]
    fn find(&mut self, wanted: usize) {
        // Every round looks at some rows, which are then behind it, or ends.
        while self.start < self.end && self.batch.rows().is_empty() {
            let Some(window) = self.window.or_else(|| self.enter_window(wanted)) else {
                self.start = self.end;
                return;
            };
            self.batch.begin(window.block(), wanted);
            let offsets = self.offsets_left(window);
            let candidates = self.execution.candidates();
            candidates.collect(&offsets, self.order, &mut self.batch);
            if self.leave_behind(window.block(), &offsets) {
                self.window = None;
            }
            self.execution.keep_matches(&mut self.batch);
        }
    }

    /// The offsets of a window that have not been looked at.
    fn offsets_left(&self, window: Window) -> Range<u32> {
        let first = window.block() * BLOCK_ROWS;
        let start = self.start.saturating_sub(first).max(window.start());
        start..(self.end - first).min(window.end())
    }

    /// Leaves what was looked at behind: some offsets of a block, up to the last row of the batch where
    /// that is full. Returns whether it was all of them.
    fn leave_behind(&mut self, block: u32, offsets: &Range<u32>) -> bool {
        let first = block * BLOCK_ROWS;
        let is_all = self.batch.room() > 0;
        let last = self.batch.rows().last().filter(|_| !is_all);
        match (self.order, last) {
            (Order::OldestFirst, Some(&last)) => self.start = last + 1,
            (Order::OldestFirst, None) => self.start = first + offsets.end,
            (Order::NewestFirst, Some(&last)) => self.end = last,
            (Order::NewestFirst, None) => self.end = first + offsets.start,
        }
        is_all
    }

    /// Forms the candidates of the next window.
    fn enter_window(&mut self, wanted: usize) -> Option<Window> {
        let (first, last) = (Row(self.start), Row(self.end - 1));
        let block = match self.order {
            Order::OldestFirst => self.execution.block_at_or_after(first.block()),
            Order::NewestFirst => self.execution.block_at_or_before(last.block()),
        };
        let block = block.filter(|block| (first.block()..=last.block()).contains(block))?;
        let size = match self.next_size {
            Some(size) => size,
            None => self.execution.first_window_size(wanted),
        };
        let span = self.execution.open(block);
        let block_start = block * BLOCK_ROWS;
        let (offset, edge) = match self.order {
            Order::OldestFirst => (self.start.saturating_sub(block_start), 0),
            Order::NewestFirst => ((self.end - block_start).min(BLOCK_ROWS), BLOCK_ROWS),
        };
        let size = match self.execution.size_among_many(wanted) {
            Some(among_many) if offset == edge => among_many,
            _ => size,
        };
        let window = match self.order {
            Order::OldestFirst => Window::from(block, offset, size, &span),
            Order::NewestFirst => Window::before(block, offset, size, &span),
        };
        self.next_size = Some(size.greater());
        self.execution.enter(window, &span);
        self.window = Some(window);
        Some(window)
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
