//! The interface of match iterators: matches in order, a run at a time.

use std::ops::Range;

use super::observer::{Observer, Run};

/// Matches in an order, a run at a time.
pub(crate) trait MatchRuns<O: Observer> {
    /// The next matches; empty after the last one. They are returned again until they are
    /// [taken](Self::take). Visits no more rows than needed to find `wanted` matches.
    fn next_run(&mut self, wanted: usize) -> MatchRun<'_>;

    /// Takes the first `n` of the run.
    fn take(&mut self, n: usize);

    /// Returns a summary of the run, and its observer, which is replaced by a new one.
    fn finish(&mut self) -> (Run, O);
}

/// A consumer of the matches of a segment.
pub(crate) trait Consumer<'a, O: Observer> {
    /// The result of consuming.
    type Output;

    /// Consumes the matches. Called once, with the implementation that finds them fastest.
    fn consume(self, matches: impl MatchRuns<O> + 'a) -> Self::Output;
}

/// Consecutive matches in the requested order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchRun<'s>(pub(super) &'s [u32]);

impl<'s> MatchRun<'s> {
    /// The number of matches.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The rows of the matches.
    pub(crate) fn rows(&self) -> &'s [u32] {
        self.0
    }

    /// A part of the run, by index.
    pub(crate) fn part(&self, range: Range<usize>) -> MatchRun<'s> {
        MatchRun(&self.0[range])
    }
}
