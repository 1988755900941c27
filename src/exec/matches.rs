//! Matches in an order, a run at a time, whichever way they are found.

use std::ops::Range;

use super::observer::{Observer, Run};

/// Matches in an order, a run at a time.
pub(crate) trait Matches<O: Observer> {
    /// The next matches; empty after the last one. They stay the next ones until they are
    /// [taken](Self::take). No more rows are looked at than it takes to find `wanted`.
    fn next_run(&mut self, wanted: usize) -> MatchRun<'_>;

    /// Takes the first `n` of the run.
    fn take(&mut self, n: usize);

    /// What the run did, and its observer, which is replaced by a fresh one.
    fn finish(&mut self) -> (Run, O);
}

/// What is done with the matches of a segment.
pub(crate) trait Consumer<'a, O: Observer> {
    /// What comes of it.
    type Output;

    /// Takes the matches. Called once, with the type that finds them fastest.
    fn consume(self, matches: impl Matches<O> + 'a) -> Self::Output;
}

/// Some matches, in the order asked for.
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
