//! Eager evaluation: the steps of a filter are applied to few rows as the planner finds them.
//!
//! Sorting and binding steps and starting an execution takes longer than narrowing a few thousand rows of one block.
//! Once no row is left, the rest of the filter is not even looked up. The order of words is checked last, for the
//! rows that a page reads.

use std::ops::Range;

use smallvec::SmallVec;

use super::buffer_pool::PooledCandidates;
use super::execution::BoundRange;
use super::live::{LiveSegment, Request};
use super::matches::{MatchRun, MatchRuns};
use super::observer::{Counters, Observer, Run, Strategy};
use super::operand::{BoundCheck, Operand};
use super::output::OutputBuffer;
use super::remaining::Remaining;
use super::row_window::RowWindow;
use crate::Result;
use crate::encoding::row::Row;
use crate::encoding::zone_map::Overlap;
use crate::kernels::block::BLOCK_ROWS;
use crate::plan::{
    self, AppliedPart, Clause, Estimate, PhraseStep, Planned, RangeStep, Step, StepSink, Stop,
    Strategies,
};
use crate::query::Filter;
use crate::segment::Segment;

/// Up to this many rows are evaluated eagerly: with half as many, pages and counts on four segments
/// take <!--figure:kernels.eager-->2 %<!--end--> more instructions (`benches/instructions`). More are left to plans,
/// which form no more candidates than a page needs.
const EAGER_ROWS_MAX: usize = 8192;

/// The phrases of a filter that must be checked row by row.
pub(crate) type PhraseSteps<'q> = SmallVec<[PhraseStep<'q>; 1]>;

/// Whether few rows of a segment are evaluated eagerly. One segment is seldom small.
pub(crate) fn may_be_eager(filter: &Filter, segments: usize, strategies: &Strategies) -> bool {
    segments > 1 && strategies.eager_evaluation && has_several_sets(filter)
}

/// Whether a filter consists of several sets. One set is left to a plan, whose count is stored and whose pages are
/// scans.
fn has_several_sets(filter: &Filter) -> bool {
    let phrases = filter.all.iter().chain(&filter.company_words);
    let words: usize = phrases.map(|phrase| phrase.terms().len()).sum();
    let others = [
        filter.company_slug.is_some(),
        !filter.companies.is_empty(),
        filter.ids.is_some(),
        filter.activity_ids.is_some(),
    ];
    let others = others.into_iter().filter(|&is_given| is_given).count();
    words + filter.filtered_facets().count() + others > 1
        || !filter.any.is_empty()
        || !filter.none.is_empty()
        || filter.has_ranges()
}

impl Request<'_> {
    /// Whether a range of rows is evaluated eagerly: few rows of one block.
    pub(crate) fn is_eager(&self, rows: &Range<u32>) -> bool {
        self.may_be_eager
            && (1..=EAGER_ROWS_MAX).contains(&rows.len())
            // There is at least one row, so `end - 1` does not underflow.
            && Row(rows.start).block() == Row(rows.end - 1).block()
    }
}

/// The live rows of a range that match a filter except for its phrases.
pub(crate) struct Evaluated<'q, O> {
    candidates: PooledCandidates,
    window: RowWindow,
    /// The part of the filter after which no row was left.
    pub(crate) no_match: Option<Clause<'q>>,
    observer: O,
}

impl<'a> LiveSegment<'a> {
    /// Applies a filter to a range of rows, and collects the phrases that are left to check.
    ///
    /// # Errors
    /// A part of the segment that the filter needs is damaged.
    pub(crate) fn evaluate<'q, O: Observer>(
        self,
        phrases: &mut PhraseSteps<'q>,
        request: &Request<'q>,
        rows: &Range<u32>,
    ) -> Result<Evaluated<'q, O>> {
        let mut evaluation = Evaluation::new(self, rows, phrases);
        let visited = evaluation.visit(request);
        evaluation.finish(visited)
    }

    /// The number of live matches, by eager evaluation.
    pub(super) fn count_eagerly<O: Observer>(
        self,
        request: &Request<'_>,
    ) -> Result<(u64, O::Explained)> {
        let mut phrases = PhraseSteps::new();
        let mut evaluation = Evaluation::<O>::new(self, &self.rows(), &mut phrases);
        let visited = evaluation.visit(request);
        // Only if every part of the filter was visited: an earlier stop leaves steps unknown.
        if visited.is_ok() && evaluation.is_everything() {
            let run = Run::without_visits(Strategy::StoredCount);
            let explained = evaluation.observer.explain_eager(run, None, &[]);
            return Ok((self.live_rows(), explained));
        }
        let evaluated = evaluation.finish(visited)?;
        if evaluated.no_match.is_some() {
            return Ok((0, evaluated.explain_no_match()));
        }
        let checks = bind_all(self.segment, &phrases)?;
        Ok(evaluated.count(&phrases, &checks))
    }
}

impl<O: Observer> Evaluated<'_, O> {
    /// Explains an evaluation that left no row.
    pub(crate) fn explain_no_match(self) -> O::Explained {
        let run = Run::without_visits(Strategy::Eager);
        self.observer.explain_eager(run, self.no_match, &[])
    }

    /// The number of rows with all phrases.
    fn count(
        mut self,
        phrases: &[PhraseStep<'_>],
        checks: &[BoundCheck<'_>],
    ) -> (u64, O::Explained) {
        let mut counters = Counters {
            blocks_visited: 1,
            ..Counters::default()
        };
        let block = self.window.block();
        for (phrase, check) in phrases.iter().zip(checks) {
            // Invariant: the candidates have all phrases before this one.
            let started = O::now();
            self.candidates.retain(|offset| {
                counters.rows_checked += 1;
                check.passes(Row::of(block, offset))
            });
            let left = || self.candidates.count().into();
            let part = AppliedPart::kept(phrase.clause, phrase.estimate);
            self.observer.applied(part, started, left);
        }
        let run = Run {
            strategy: Strategy::Eager,
            counters,
        };
        let count = self.candidates.count().into();
        (count, self.observer.explain_eager(run, None, &[]))
    }
}

/// Candidates to which steps are applied.
struct Evaluation<'a, 'e, 'q, O> {
    live: LiveSegment<'a>,
    window: RowWindow,
    /// The offsets of the evaluated rows in their block.
    offsets: Range<u32>,
    candidates: PooledCandidates,
    /// Whether the first candidates have been formed.
    are_formed: bool,
    /// The first required step, which is applied together with the next.
    first: Option<Step<'q>>,
    /// Conditions on columns, which are applied after all required steps.
    ranges: SmallVec<[RangeStep<'q>; 1]>,
    phrases: &'e mut PhraseSteps<'q>,
    observer: O,
}

impl<'a, 'e, 'q, O: Observer> Evaluation<'a, 'e, 'q, O> {
    #[inline(always)]
    fn new(live: LiveSegment<'a>, rows: &Range<u32>, phrases: &'e mut PhraseSteps<'q>) -> Self {
        let block = Row(rows.start).block();
        let first = block * BLOCK_ROWS;
        // Eager ranges lie in one block (`is_eager`), so their offsets do, too.
        let offsets = rows.start - first..rows.end - first;
        let window = RowWindow::covering(block, &offsets);
        let mut candidates = PooledCandidates::take();
        candidates.set_window(window);
        Evaluation {
            live,
            window,
            offsets,
            candidates,
            are_formed: false,
            first: None,
            ranges: SmallVec::new(),
            phrases,
            observer: O::default(),
        }
    }

    /// Applies the steps of a filter, except for those that are left for the end.
    fn visit(&mut self, request: &Request<'q>) -> Planned<'q> {
        let (filter, strategies, live) = (request.filter, request.strategies, self.live);
        plan::visit_steps(self, filter, request.today, strategies, &live)
    }

    /// Whether no step was needed, as for the exclusion of words that occur nowhere.
    fn is_everything(&self) -> bool {
        let has_steps = self.are_formed || self.first.is_some() || !self.ranges.is_empty();
        !has_steps && self.phrases.is_empty()
    }

    /// Applies the steps that are left unless no row is left, and returns what was found.
    fn finish(mut self, visited: Planned<'q>) -> Result<Evaluated<'q, O>> {
        // Skipped if the visit has already left no row.
        let applied = visited.and_then(|()| self.apply_rest());
        Ok(Evaluated {
            no_match: Stop::no_match(applied)?,
            candidates: self.candidates,
            window: self.window,
            observer: self.observer,
        })
    }

    /// Applies the conditions on columns, and leaves out deleted rows.
    fn apply_rest(&mut self) -> Planned<'q> {
        // Before the deletions, which are not read if no row is left.
        self.apply_ranges()?;
        let Some(deleted) = self.live.deleted.posting() else {
            return Ok(());
        };
        let started = O::now();
        let deleted = deleted.block(self.window.block());
        self.candidates.subtract(deleted);
        let estimate = Estimate::exact(self.live.deleted.row_count());
        self.applied(AppliedPart::excluded(Clause::Deleted, estimate), started)
    }

    /// Applies the conditions on columns, after what is required.
    fn apply_ranges(&mut self) -> Planned<'q> {
        self.form()?;
        // Taken, because every exclusion comes here: only the first call has conditions left to
        // apply.
        for step in std::mem::take(&mut self.ranges) {
            let started = O::now();
            let range = BoundRange::bind(self.live.segment, &step)?;
            self.observer.read(|| range.bytes_beside(&self.candidates));
            range.narrow(&mut self.candidates);
            self.applied(AppliedPart::kept(step.clause, step.estimate), started)?;
        }
        Ok(())
    }

    /// Forms the first candidates, unless that has been done.
    fn form(&mut self) -> Planned<'q> {
        match self.first.take() {
            Some(step) => self.load(&step),
            None if self.are_formed => Ok(()),
            None => {
                // `fill` sets whole words, so the rows outside of the range are cut off.
                self.candidates.fill(self.live.segment.row_count());
                self.restrict();
                Ok(())
            }
        }
    }

    /// Makes the rows of a step the candidates.
    fn load(&mut self, step: &Step<'q>) -> Planned<'q> {
        self.apply(
            step,
            AppliedPart::kept(step.clause, step.estimate),
            |evaluation, set| {
                evaluation.observer.read(|| set.bytes_in(evaluation.window));
                set.load_into(&mut evaluation.candidates, evaluation.window.block());
                evaluation.restrict();
            },
        )
    }

    /// Binds a step and applies it in some way.
    #[inline(always)]
    fn apply(
        &mut self,
        step: &Step<'q>,
        part: AppliedPart<'q>,
        how: impl FnOnce(&mut Self, &Operand<'_>),
    ) -> Planned<'q> {
        let started = O::now();
        how(self, &Operand::bind(self.live.segment, step, false)?);
        self.applied(part, started)
    }

    /// Reports what combining the candidates with a set reads.
    #[inline(always)]
    fn reads_beside(&mut self, set: &Operand<'_>) {
        self.observer.read(|| set.bytes_beside(&self.candidates));
    }

    /// Removes candidates of the window that are not in the range.
    fn restrict(&mut self) {
        self.candidates.restrict(&self.offsets);
        self.are_formed = true;
    }

    /// Reports a step, and fails if no candidate is left.
    fn applied(&mut self, part: AppliedPart<'q>, started: O::Time) -> Planned<'q> {
        let left = || self.candidates.count().into();
        self.observer.applied(part, started, left);
        // Only an empty list is noticed: counting bits would take a pass after every step.
        if self.candidates.are_none() {
            return Err(Stop::NoMatch(part.clause));
        }
        Ok(())
    }
}

impl<'q, O: Observer> StepSink<'q> for Evaluation<'_, '_, 'q, O> {
    /// Applies a step to the candidates. Of the first two, the one with fewer rows is applied first.
    fn require(&mut self, mut step: Step<'q>) -> Planned<'q> {
        // Invariant: `first` is set only as long as no candidates are formed.
        if !self.are_formed {
            let Some(mut first) = self.first.take() else {
                self.first = Some(step);
                return Ok(());
            };
            if step.estimate.max < first.estimate.max {
                std::mem::swap(&mut step, &mut first);
            }
            self.load(&first)?;
        }
        self.apply(
            &step,
            AppliedPart::kept(step.clause, step.estimate),
            |evaluation, set| {
                evaluation.reads_beside(set);
                set.narrow(&mut evaluation.candidates, evaluation.window.block());
            },
        )
    }

    fn limit(&mut self, step: RangeStep<'q>) -> Planned<'q> {
        let range = BoundRange::bind(self.live.segment, &step)?;
        match range.classify(self.window.block()) {
            Overlap::None => return Err(Stop::NoMatch(step.clause)),
            Overlap::Some => self.ranges.push(step),
            Overlap::All => {}
        }
        Ok(())
    }

    fn exclude(&mut self, step: Step<'q>) -> Planned<'q> {
        // Exclusions are visited last, so all conditions on columns are known and narrow the
        // candidates first.
        self.apply_ranges()?;
        let part = AppliedPart::excluded(step.clause, step.estimate);
        self.apply(&step, part, |evaluation, set| {
            evaluation.reads_beside(set);
            set.subtract(&mut evaluation.candidates, evaluation.window.block());
        })
    }

    fn check(&mut self, step: PhraseStep<'q>) {
        self.phrases.push(step);
    }
}

/// The matches of an eager evaluation.
pub(super) struct EagerMatches<'a, 'q, O> {
    evaluated: Evaluated<'q, O>,
    phrases: BoundChecks<'a>,
    /// The rows that have not been read.
    remaining: Remaining,
    output: OutputBuffer,
    rows_checked: u64,
}

/// Phrases, bound to their segment.
pub(super) type BoundChecks<'a> = SmallVec<[BoundCheck<'a>; 1]>;

/// Binds the phrases of an evaluation.
///
/// # Errors
/// The texts that they are looked for in are damaged.
pub(super) fn bind_all<'a>(
    segment: &'a Segment,
    phrases: &'a [PhraseStep<'_>],
) -> Result<BoundChecks<'a>> {
    let checks = phrases.iter().map(|phrase| &phrase.check);
    checks
        .map(|check| BoundCheck::bind(segment, check))
        .collect()
}

impl<'a, 'q, O: Observer> EagerMatches<'a, 'q, O> {
    #[inline(always)]
    pub(super) fn new(
        evaluated: Evaluated<'q, O>,
        phrases: BoundChecks<'a>,
        remaining: Remaining,
    ) -> Self {
        EagerMatches {
            evaluated,
            phrases,
            remaining,
            output: OutputBuffer::new(),
            rows_checked: 0,
        }
    }

    /// Keeps the rows with all phrases.
    fn check_phrases(&mut self) {
        for check in &self.phrases {
            self.rows_checked += self.output.rows().len() as u64;
            self.output.retain(|row| check.passes(row));
        }
    }
}

impl<O: Observer> MatchRuns<O> for EagerMatches<'_, '_, O> {
    fn next_run(&mut self, wanted: usize) -> MatchRun<'_> {
        let (window, order) = (self.evaluated.window, self.remaining.order());
        // Invariant: `remaining` is the range not yet read. Each iteration shortens it.
        while !self.remaining.is_empty() && self.output.rows().is_empty() {
            self.output.reset(window.block(), wanted);
            let offsets = self.remaining.offsets(window);
            let candidates = self.evaluated.candidates.rows();
            candidates.collect(&offsets, order, &mut self.output);
            let output = &self.output;
            // Before the check, which may drop the last row: `advance` continues after it.
            self.remaining.advance(window.block(), &offsets, output);
            self.check_phrases();
        }
        MatchRun(self.output.rows())
    }

    fn take(&mut self, n: usize) {
        self.output.take(n);
    }

    fn finish(&mut self) -> (Run, O) {
        let run = Run {
            strategy: Strategy::Eager,
            counters: Counters {
                rows_checked: self.rows_checked,
                blocks_visited: 1,
                blocks_skipped: 0,
            },
        };
        (run, std::mem::take(&mut self.evaluated.observer))
    }
}
