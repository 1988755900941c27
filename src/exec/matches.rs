//! Matches in an order, a run at a time, whichever way they are found.

use std::ops::Range;

use super::observer::{Observer, Run};
use crate::encoding::row::Row;

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

/// Keeps the matches for later, on the heap.
#[derive(Debug)]
pub(crate) struct Boxed;

impl<'a, O: Observer> Consumer<'a, O> for Boxed {
    type Output = Box<dyn Matches<O> + 'a>;

    fn consume(self, matches: impl Matches<O> + 'a) -> Self::Output {
        Box::new(matches)
    }
}

/// Some matches, in the order asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchRun<'s>(pub(super) &'s [u32]);

impl<'s> MatchRun<'s> {
    /// The number of matches.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The match at an index.
    pub(crate) fn get(&self, index: usize) -> Option<Row> {
        self.0.get(index).copied().map(Row)
    }

    /// The rows of the matches.
    pub(crate) fn rows(&self) -> &'s [u32] {
        self.0
    }

    /// A part of the run, by index.
    pub(crate) fn part(&self, range: Range<usize>) -> MatchRun<'s> {
        MatchRun(&self.0[range])
    }

    /// The index of the first match for which `before` is false; it has to be false for all after.
    pub(crate) fn partition_point(&self, mut before: impl FnMut(Row) -> bool) -> usize {
        self.0.partition_point(|&row| before(Row(row)))
    }
}
