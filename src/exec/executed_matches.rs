//! The matches of an execution in id order, found lazily.

use std::ops::Range;

use super::execution::{Execution, are_few};
use super::live::{LiveSegment, Request};
use super::matches::{MatchRun, MatchRuns};
use super::observer::{Observer, Run, Strategy};
use super::output::OutputBuffer;
use super::remaining::Remaining;
use super::row_window::{RowWindow, WindowSize};
use crate::Result;
use crate::plan::Plan;
use crate::query::IdOrder;

/// Matching rows in runs, in either order, starting at any row.
#[derive(Debug)]
pub(super) struct ExecutedMatches<'a, O> {
    execution: Execution<'a, O>,
    remaining: Remaining,
    /// Whether each row is looked up individually.
    are_few: bool,
    /// The window of the current candidates.
    window: Option<RowWindow>,
    /// The size of the next window, after the first one.
    next_size: Option<WindowSize>,
    /// Found matches. Their rows are no longer among the remaining ones.
    output: OutputBuffer,
}

impl<'a, O: Observer> ExecutedMatches<'a, O> {
    /// Matches of no plan yet within a range of rows: see [`bind`](Self::bind).
    #[inline(always)]
    pub(super) fn unbound(live: LiveSegment<'a>, request: &Request<'a>, rows: Range<u32>) -> Self {
        ExecutedMatches {
            execution: Execution::unbound(live, request.strategies),
            are_few: are_few(&rows),
            remaining: Remaining::new(request.order, rows),
            window: None,
            next_size: None,
            output: OutputBuffer::new(),
        }
    }

    /// Binds a plan that may have matches.
    ///
    /// # Errors
    /// As [`Execution::bind`].
    #[inline(always)]
    pub(super) fn bind(&mut self, live: LiveSegment<'a>, plan: &'a Plan<'_>) -> Result<()> {
        self.execution.bind(live, plan, &self.remaining.rows())
    }

    /// Reports to an observer that has already observed other parts of the run.
    pub(super) fn observe_with(&mut self, observer: O) {
        self.execution.observer = observer;
    }

    /// Takes the matches from few rows.
    fn look_up(&mut self, wanted: usize) {
        // Invariant: `remaining` is the range not yet read. Each iteration shortens it.
        while !self.remaining.is_empty() && self.output.rows().is_empty() {
            self.output.reset(0, wanted);
            self.remaining.take(&mut self.output);
            self.execution.retain_few(&mut self.output);
        }
    }

    /// Takes matches from the leading list, row by row.
    fn scan_leading_list(&mut self, wanted: usize) {
        // Invariant: `remaining` is the range not yet read. Each iteration shortens it.
        while !self.remaining.is_empty() && self.output.rows().is_empty() {
            self.output.reset(0, wanted);
            let rows = self.execution.leading_list().unwrap_or_default();
            self.remaining.take_listed(rows, &mut self.output);
            self.execution.retain_listed(&mut self.output);
        }
    }

    /// Takes matches from the next window that has some. Not inlined, so that the fast path of
    /// [`next_run`](Self::next_run) stays short.
    #[inline(never)]
    fn find(&mut self, wanted: usize) {
        // Invariant: `remaining` is the range not yet read. Each iteration shortens it.
        while !self.remaining.is_empty() && self.output.rows().is_empty() {
            let Some(window) = self.window.or_else(|| self.load_next_window(wanted)) else {
                return self.remaining.clear();
            };
            self.output.reset(window.block(), wanted);
            let offsets = self.remaining.offsets(window);
            let candidates = self.execution.candidates();
            candidates.collect(&offsets, self.remaining.order(), &mut self.output);
            // Before `retain_matches`, which may drop the last row: `advance` continues after it.
            if self
                .remaining
                .advance(window.block(), &offsets, &self.output)
            {
                // The window has been read to its end, so the next iteration forms another.
                self.window = None;
            }
            self.execution.retain_matches(&mut self.output);
        }
    }

    /// Forms the candidates of the next window.
    fn load_next_window(&mut self, wanted: usize) -> Option<RowWindow> {
        let order = self.remaining.order();
        let block = match order {
            IdOrder::OldestFirst => self.execution.block_at_or_after(self.remaining.block()),
            IdOrder::NewestFirst => self.execution.block_at_or_before(self.remaining.block()),
        };
        let block = block.filter(|&block| self.remaining.has_block(block))?;
        let size = match self.next_size {
            Some(size) => size,
            None => self.execution.first_window_size(wanted),
        };
        let span = self.execution.load_block_statistics(block);
        let (offset, edge) = self.remaining.start_in(block);
        // The permutation tells the rows of a whole block, so it helps only if the block is read
        // from its edge.
        let size = match self.execution.size_by_permutation(wanted) {
            Some(by_permutation) if offset == edge => by_permutation,
            _ => size,
        };
        let window = match order {
            IdOrder::OldestFirst => RowWindow::from(block, offset, size, &span),
            IdOrder::NewestFirst => RowWindow::before(block, offset, size, &span),
        };
        // Windows grow fourfold, so that a page with fewer matches than expected needs few of them.
        self.next_size = Some(size.grown());
        self.execution.load_window(window, &span);
        self.window = Some(window);
        Some(window)
    }
}

impl<O: Observer> MatchRuns<O> for ExecutedMatches<'_, O> {
    fn next_run(&mut self, wanted: usize) -> MatchRun<'_> {
        if self.output.rows().is_empty() {
            match self.execution.leading_list() {
                _ if self.are_few => self.look_up(wanted),
                Some(_) => self.scan_leading_list(wanted),
                None => self.find(wanted),
            }
        }
        MatchRun(self.output.rows())
    }

    fn take(&mut self, n: usize) {
        self.output.take(n);
    }

    fn finish(&mut self) -> (Run, O) {
        let (mut run, observer) = self.execution.finish();
        if self.are_few {
            run.strategy = Strategy::FewRows;
        }
        (run, observer)
    }
}
