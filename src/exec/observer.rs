//! Observers of runs, so that `explain` reports what the real code did.
//!
//! Runs are generic over their observer. Searches use [`Unobserved`], whose calls compile to nothing;
//! `explain` runs the same code with [`Counting`].

use std::fmt::{self, Debug};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::live::LiveSegment;
use crate::plan::{
    AppliedPart, Clause, ExecutionExplanation, PhraseStep, Plan, StepActual, StepExplanation,
};

/// Observes the run of a plan, or an eager evaluation.
pub(crate) trait Observer: Debug + Default + Sync {
    /// A point in time, if times are measured.
    type Time: Copy;
    /// The result of observing a run.
    type Explained;

    /// Whether other threads may run parts that it does not observe.
    const SPLITS: bool;

    /// The start time of a step.
    fn now() -> Self::Time;

    /// Called after a step ran by a method. `left` counts the remaining rows; it returns `None` if the method does
    /// not know.
    fn ran(
        &mut self,
        step: StepKey,
        method: Method,
        since: Self::Time,
        left: impl FnOnce() -> Option<u64>,
    );

    /// Called when a step reads stored sets, codes or texts. `bytes` says how many.
    fn read(&mut self, bytes: impl FnOnce() -> u64);

    /// Called when zone maps show that all rows of a window are in these ranges. `left` counts the candidates.
    fn took_whole(&mut self, ranges: impl Iterator<Item = usize>, left: impl Fn() -> u64);

    /// Called after an eager evaluation applied a part of the filter. `left` counts the candidates.
    fn applied(&mut self, part: AppliedPart<'_>, since: Self::Time, left: impl FnOnce() -> u64);

    /// Explains an eager evaluation, given the part of the filter after which no row was left, if any, and the phrases
    /// that were checked for the rows of a page.
    fn explain_eager(
        self,
        run: Run,
        no_match: Option<Clause<'_>>,
        phrases: &[PhraseStep<'_>],
    ) -> Self::Explained;

    /// Explains the run.
    fn explain(self, run: Run, plan: &Plan<'_>, live: LiveSegment<'_>) -> Self::Explained;
}

/// A step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKey {
    Required(usize),
    Range(usize),
    /// Deleted rows come after the steps of the plan.
    Excluded(usize),
    Phrase(usize),
}

/// The method of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Only its rows were read.
    Scan,
    /// Its rows were intersected with the other sets while the plan was bound.
    NarrowList,
    /// Its rows became the candidates.
    Lead,
    /// Combined with the next step in one pass.
    LeadWithNext,
    /// Combined with the previous step in one pass.
    InPassBefore,
    Intersect,
    /// Counted without forming the intersection.
    CountIntersection,
    /// Looked up for each row of the leading list.
    LookUp,
    /// As `LookUp`, of an excluded set: rows that are found are dropped.
    LookUpExcluded,
    /// Found through the per-block sorted permutation.
    Permutation,
    CompareCodes,
    /// Decided for a whole block by its zone map.
    TakeWhole,
    CheckRows,
    Subtract,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Scan => "scan",
            Method::NarrowList => "lead with",
            Method::Lead => "lead with",
            Method::LeadWithNext => "lead (fused with the next step) with",
            Method::InPassBefore => "intersect (fused with the step before)",
            Method::Intersect => "intersect",
            Method::CountIntersection => "count in",
            Method::LookUp => "look rows up in",
            Method::LookUpExcluded => "drop rows found in",
            Method::Permutation => "read the sorted permutation of",
            Method::CompareCodes => "compare codes of",
            Method::TakeWhole => "take whole blocks of",
            Method::CheckRows => "check row by row",
            Method::Subtract => "drop rows of",
        })
    }
}

/// The strategy of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// A clause has no rows in the segment.
    NoMatch,
    /// The number of matches is stored.
    StoredCount,
    /// Every row of a set matches.
    DirectScan(&'static str),
    /// The rows of a short leading list are looked up in the other sets.
    LeadingList,
    /// Each of a few rows is looked up in all sets.
    FewRows,
    /// Candidates are formed and narrowed block by block.
    Blocks,
    /// The parts of the filter are applied to few rows as they are looked up.
    Eager,
    /// This many ranges of values are evaluated one after another.
    ByValue(u32),
    /// Rows are looked up in the order of their values.
    RowsByValue,
    /// Blocks are evaluated, the one with the first values first.
    BlocksByValue,
    /// Rows in the order of their values, then blocks.
    RowsThenBlocks,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::NoMatch => f.write_str("no results"),
            Strategy::StoredCount => f.write_str("answered from the stored count"),
            Strategy::DirectScan(set) => write!(f, "direct scan of {set}"),
            Strategy::LeadingList => f.write_str("row by row over the leading list"),
            Strategy::FewRows => f.write_str("row by row over a few rows"),
            Strategy::Blocks => f.write_str("block by block"),
            Strategy::Eager => f.write_str("part by part over few rows"),
            Strategy::RowsByValue => f.write_str("rows in the order of their values"),
            Strategy::BlocksByValue => f.write_str("blocks in the order of their values"),
            Strategy::RowsThenBlocks => {
                f.write_str("rows, then blocks, in the order of their values")
            }
            Strategy::ByValue(1) => f.write_str("by value, in one range"),
            Strategy::ByValue(parts) => {
                write!(f, "by value, in {parts} ranges one after another")
            }
        }
    }
}

/// Counters that every run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Rows that were checked individually.
    pub(crate) rows_checked: u64,
    /// Blocks whose candidates were formed.
    pub(crate) blocks_visited: u64,
    /// Blocks without rows of the leading set, or outside a range.
    pub(crate) blocks_skipped: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.rows_checked += other.rows_checked;
        self.blocks_visited += other.blocks_visited;
        self.blocks_skipped += other.blocks_skipped;
    }
}

/// A summary of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) strategy: Strategy,
    pub(crate) counters: Counters,
}

impl Run {
    /// A run that visits nothing.
    pub(super) fn without_visits(strategy: Strategy) -> Run {
        Run {
            strategy,
            counters: Counters::default(),
        }
    }

    /// The explanation of the run, given the part of the filter that matches nothing, if any, the steps, and the bytes
    /// that they read.
    fn explanation(
        self,
        no_match: Option<Clause<'_>>,
        steps: Vec<StepExplanation>,
        bytes_read: u64,
    ) -> ExecutionExplanation {
        let Run { strategy, counters } = self;
        ExecutionExplanation {
            strategy: strategy.to_string(),
            no_match: no_match.map(|clause| clause.to_string()),
            steps,
            rows_checked: counters.rows_checked,
            blocks_visited: counters.blocks_visited,
            blocks_skipped: counters.blocks_skipped,
            bytes_read,
        }
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    type Time = ();
    type Explained = ();

    const SPLITS: bool = true;

    #[inline(always)]
    fn now() {}

    #[inline(always)]
    fn ran(&mut self, _: StepKey, _: Method, (): (), _: impl FnOnce() -> Option<u64>) {}

    #[inline(always)]
    fn read(&mut self, _: impl FnOnce() -> u64) {}

    #[inline(always)]
    fn took_whole(&mut self, _: impl Iterator<Item = usize>, _: impl Fn() -> u64) {}

    #[inline(always)]
    fn applied(&mut self, _: AppliedPart<'_>, (): (), _: impl FnOnce() -> u64) {}

    #[inline(always)]
    fn explain_eager(self, _: Run, _: Option<Clause<'_>>, _: &[PhraseStep<'_>]) {}

    #[inline(always)]
    fn explain(self, _: Run, _: &Plan<'_>, _: LiveSegment<'_>) {}
}

/// Counts the remaining rows and the time of each step.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    steps: Vec<(StepKey, StepCounts)>,
    /// The steps of an eager evaluation.
    eager_steps: Vec<StepExplanation>,
    /// See [`bytes_read`](super::bytes_read).
    bytes_read: u64,
}

/// The observations of one step.
#[derive(Clone, Debug)]
pub(crate) struct StepCounts {
    /// Remaining rows, over all windows; `None` if a method did not know.
    pub(crate) left: Option<u64>,
    pub(crate) time: Duration,
    /// The methods, in the order of first use.
    pub(crate) methods: SmallVec<[Method; 2]>,
}

impl Counting {
    /// The observations of a step, if it ran.
    pub(crate) fn step(&self, step: StepKey) -> Option<&StepCounts> {
        let found = self.steps.iter().find(|(key, _)| *key == step);
        found.map(|(_, counts)| counts)
    }

    fn step_mut(&mut self, step: StepKey) -> &mut StepCounts {
        let found = self.steps.iter().position(|(key, _)| *key == step);
        let index = found.unwrap_or_else(|| {
            let counts = StepCounts {
                left: Some(0),
                time: Duration::ZERO,
                methods: SmallVec::new(),
            };
            self.steps.push((step, counts));
            self.steps.len() - 1
        });
        &mut self.steps[index].1
    }

    fn actual(&self, step: StepKey) -> Option<StepActual> {
        let counts = self.step(step)?;
        let methods = counts.methods.iter().map(ToString::to_string);
        Some(StepActual {
            methods: methods.collect(),
            left: counts.left,
            time: counts.time,
        })
    }
}

impl Observer for Counting {
    type Time = Instant;
    type Explained = ExecutionExplanation;

    const SPLITS: bool = false;

    fn now() -> Instant {
        Instant::now()
    }

    fn ran(
        &mut self,
        step: StepKey,
        method: Method,
        since: Instant,
        left: impl FnOnce() -> Option<u64>,
    ) {
        let time = since.elapsed();
        let counts = self.step_mut(step);
        counts.time += time;
        // The remaining rows of a narrowed list are the result of the later steps.
        if counts.methods.contains(&Method::NarrowList) {
            return;
        }
        // Stays `None` once a method does not know the number.
        counts.left = counts.left.zip(left()).map(|(sum, left)| sum + left);
        if !counts.methods.contains(&method) {
            counts.methods.push(method);
        }
    }

    fn read(&mut self, bytes: impl FnOnce() -> u64) {
        self.bytes_read += bytes();
    }

    fn took_whole(&mut self, ranges: impl Iterator<Item = usize>, left: impl Fn() -> u64) {
        for range in ranges {
            let step = StepKey::Range(range);
            self.ran(step, Method::TakeWhole, Counting::now(), || Some(left()));
        }
    }

    fn applied(&mut self, part: AppliedPart<'_>, since: Instant, left: impl FnOnce() -> u64) {
        let time = since.elapsed();
        let step = StepExplanation::applied(part, left(), time);
        self.eager_steps.push(step);
    }

    fn explain_eager(
        self,
        run: Run,
        no_match: Option<Clause<'_>>,
        phrases: &[PhraseStep<'_>],
    ) -> ExecutionExplanation {
        let mut steps = self.eager_steps;
        // The part of the filter may have matches of its own.
        let was_applied = steps.last().is_some_and(|step| step.actual == Some(0));
        let no_match = no_match.filter(|_| !was_applied);
        steps.extend(phrases.iter().map(StepExplanation::checked));
        run.explanation(no_match, steps, self.bytes_read)
    }

    fn explain(self, run: Run, plan: &Plan<'_>, live: LiveSegment<'_>) -> ExecutionExplanation {
        let required = (0..plan.required.len()).map(StepKey::Required);
        let ranges = (0..plan.ranges.len()).map(StepKey::Range);
        let is_any_deleted = live.deleted.row_count() > 0;
        let excluded = plan.excluded.len() + usize::from(is_any_deleted);
        let excluded = (0..excluded).map(StepKey::Excluded);
        let phrases = (0..plan.phrases.len()).map(StepKey::Phrase);
        // The order of `Plan::explain`, which finds the actual numbers by index.
        let keys = required.chain(ranges).chain(excluded).chain(phrases);
        let actuals: Vec<Option<StepActual>> = keys.map(|key| self.actual(key)).collect();
        let steps = match run.strategy {
            Strategy::NoMatch => Vec::new(),
            _ => plan.explain(&actuals, live.deleted.row_count()),
        };
        run.explanation(plan.no_match, steps, self.bytes_read)
    }
}
