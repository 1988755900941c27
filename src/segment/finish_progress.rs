//! How far finishing a segment has come.

use std::fmt::{self, Debug, Formatter};

/// A step of finishing a segment, with its share of the time that all take: thousandths of a build with compression
/// over a million generated signals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FinishStep(u32);

impl FinishStep {
    /// Choosing the symbols of compressed records.
    pub(crate) const TRAIN: FinishStep = FinishStep(50);
    /// Writing compressed records.
    pub(crate) const COMPRESS: FinishStep = FinishStep(700);
    /// The columns and postings of facets.
    pub(crate) const FACETS: FinishStep = FinishStep(28);
    /// The other columns of signals.
    pub(crate) const COLUMNS: FinishStep = FinishStep(40);
    /// The dictionary and the postings of titles.
    pub(crate) const TITLE_TERMS: FinishStep = FinishStep(32);
    /// The token streams of titles.
    pub(crate) const TITLE_STREAMS: FinishStep = FinishStep(14);
    /// Counting the pairs of words.
    pub(crate) const TITLE_PAIRS: FinishStep = FinishStep(50);
    /// The postings of pairs of words.
    pub(crate) const PAIR_POSTINGS: FinishStep = FinishStep(14);
    /// Names and the other columns of companies.
    pub(crate) const COMPANIES: FinishStep = FinishStep(40);
    /// The postings.
    pub(crate) const POSTINGS: FinishStep = FinishStep(10);
    /// Making the files durable.
    pub(crate) const SYNC: FinishStep = FinishStep(22);
}

/// The sum of all steps.
const ALL: f64 = 1000.0;

/// Tells which share of finishing a segment is done.
pub(crate) struct FinishProgress<'t> {
    tell: &'t mut dyn FnMut(f64),
    done: f64,
    all: f64,
}

impl<'t> FinishProgress<'t> {
    pub(crate) fn new(tell: &'t mut dyn FnMut(f64)) -> FinishProgress<'t> {
        FinishProgress {
            tell,
            done: 0.0,
            all: ALL,
        }
    }

    /// A step is done.
    pub(crate) fn end(&mut self, step: FinishStep) {
        self.end_part(step, 1);
    }

    /// One of `parts` equal parts of a step is done.
    pub(crate) fn end_part(&mut self, step: FinishStep, parts: usize) {
        self.done += f64::from(step.0) / parts.max(1) as f64;
        (self.tell)((self.done / self.all).min(1.0));
    }

    /// A step is not taken.
    pub(crate) fn skip(&mut self, step: FinishStep) {
        self.all -= f64::from(step.0);
    }
}

impl Debug for FinishProgress<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FinishProgress")
            .field("done", &self.done)
            .field("all", &self.all)
            .finish_non_exhaustive()
    }
}
