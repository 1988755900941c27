//! A plan bound to its segment.
//!
//! This file binds plans and runs those whose leading list is short; [`narrowing`](super::narrowing)
//! forms and narrows the candidates of blocks.

use std::ops::Range;

use smallvec::SmallVec;

use super::buffer_pool::PooledCandidates;
use super::bytes_read::{LINE_BYTES, TEXT_BYTES, of_look_ups};
use super::candidates::Candidates;
use super::companies;
use super::live::LiveSegment;
use super::observer::{Counters, Method, Observer, Run, StepKey, Strategy, Unobserved};
use super::operand::{BoundCheck, Operand};
use super::output::OutputBuffer;
use super::row_test::RowTest;
use super::row_window::RowWindow;
use crate::Result;
use crate::encoding::posting::Posting;
use crate::encoding::row::Row;
use crate::encoding::zone_map::{OrderedColumn, Overlap};
use crate::kernels::block::block_count;
use crate::kernels::retain::retain_where;
use crate::plan::{Access, CodeRange, Plan, RangeColumn, RangeStep, Step, Strategies};
use crate::segment::Segment;

/// A leading list of at most this many rows per block is scanned row by row: looking up that many rows in the
/// other sets takes less time than forming a block's candidates.
const SCANNED_ROWS_PER_BLOCK: u32 = 16;

/// Up to this many rows are looked up individually in the sets, which is faster than forming candidates.
const FEW_ROWS_MAX: usize = 32;

/// Whether a range has so few rows that each is looked up individually.
pub(super) fn are_few(rows: &Range<u32>) -> bool {
    rows.len() <= FEW_ROWS_MAX
}

/// A plan, ready to run on its segment.
#[derive(Debug)]
pub(super) struct Execution<'a, O> {
    pub(super) segment: &'a Segment,
    pub(super) required: SmallVec<[Operand<'a>; 4]>,
    /// The step of the plan for each required set.
    steps: SmallVec<[usize; 4]>,
    /// The index of the required set that determines which blocks may have matches.
    pub(super) lead: usize,
    pub(super) excluded: SmallVec<[Operand<'a>; 2]>,
    pub(super) ranges: SmallVec<[BoundRange<'a>; 1]>,
    pub(super) phrases: SmallVec<[BoundCheck<'a>; 1]>,
    /// The expected selectivity.
    pub(super) expected_share: f64,
    pub(super) strategies: &'a Strategies,
    pub(super) candidates: PooledCandidates,
    /// The window of the candidates.
    pub(super) window: Option<RowWindow>,
    /// The ranges that contain some rows of the current block and not others.
    pub(super) residual_ranges: SmallVec<[usize; 2]>,
    /// The rows of the current block in the first residual range with a permutation.
    pub(super) permuted: PermutedRange<'a>,
    pub(super) counters: Counters,
    pub(super) observer: O,
}

/// Offsets of a block's rows, in any order, for each range of codes.
pub(super) type RangeOffsets<'a> = SmallVec<[&'a [u16]; 2]>;

/// The rows of a block in a residual range.
#[derive(Debug)]
pub(super) enum PermutedRange<'a> {
    /// Not looked up.
    Unknown,
    /// So few that setting them one by one is faster; with the index among the residual ranges.
    Few(usize, RangeOffsets<'a>),
    /// Too many; only their number is used.
    Many(usize),
}

#[derive(Clone, Debug)]
pub(super) struct BoundRange<'a> {
    pub(super) ordered: &'a OrderedColumn<'a>,
    pub(super) codes: &'a [CodeRange],
}

impl<'a, O: Observer> Execution<'a, O> {
    /// An execution of no plan yet: see [`bind`](Self::bind).
    #[inline(always)]
    pub(super) fn unbound(live: LiveSegment<'a>, strategies: &'a Strategies) -> Execution<'a, O> {
        Execution {
            segment: live.segment,
            required: SmallVec::new(),
            steps: SmallVec::new(),
            lead: 0,
            excluded: SmallVec::new(),
            ranges: SmallVec::new(),
            phrases: SmallVec::new(),
            expected_share: 1.0,
            strategies,
            candidates: PooledCandidates::take(),
            window: None,
            residual_ranges: SmallVec::new(),
            permuted: PermutedRange::Unknown,
            counters: Counters::default(),
            observer: O::default(),
        }
    }

    /// Binds a plan that may have matches, for a range of rows, in place, because moving the result takes as long as
    /// binding. What is bound has been checked, so that running it cannot fail.
    ///
    /// # Errors
    /// A set, column or token stream that the plan needs is damaged.
    pub(super) fn bind(
        &mut self,
        live: LiveSegment<'a>,
        plan: &'a Plan<'_>,
        rows: &Range<u32>,
    ) -> Result<()> {
        let segment = self.segment;
        // Merging sorts all rows of a union, which does not pay off for few look-ups.
        let merges_unions = !are_few(rows);
        self.expected_share = plan.expected_share(segment.row_count());
        self.bind_required(&plan.required, rows, merges_unions)?;
        self.read_titles_last();
        for step in &plan.excluded {
            let operand = Operand::bind(segment, step, merges_unions)?;
            self.excluded.push(operand);
        }
        // After the exclusions of the plan, as `StepKey::Excluded` numbers them.
        // Where few rows are live, others are deleted, so nothing else is looked at without deletions.
        if let Some(deleted) = live.deleted.posting()
            && !self.lead_by_live(live, plan)
        {
            self.excluded.push(Operand::One(deleted));
        }
        for step in &plan.ranges {
            self.ranges.push(BoundRange::bind(segment, step)?);
        }
        for step in &plan.phrases {
            self.phrases.push(BoundCheck::bind(segment, &step.check)?);
        }
        Ok(())
    }

    /// Binds the rows that are in all required sets, the rarest of which come first, and in no excluded one, whether
    /// deleted or not.
    pub(super) fn bind_sets(
        &mut self,
        required: impl Iterator<Item = Operand<'a>>,
        excluded: SmallVec<[Operand<'a>; 2]>,
    ) {
        self.required = required.collect();
        self.steps = (0..self.required.len()).collect();
        self.excluded = excluded;
        self.read_titles_last();
    }

    /// Another execution of what is bound, for a thread of its own.
    pub(super) fn fork(&self) -> Execution<'a, Unobserved> {
        Execution {
            segment: self.segment,
            required: self.required.clone(),
            steps: self.steps.clone(),
            lead: self.lead,
            excluded: self.excluded.clone(),
            ranges: self.ranges.clone(),
            phrases: self.phrases.clone(),
            expected_share: self.expected_share,
            strategies: self.strategies,
            candidates: PooledCandidates::take(),
            window: None,
            residual_ranges: SmallVec::new(),
            permuted: PermutedRange::Unknown,
            counters: Counters::default(),
            observer: Unobserved,
        }
    }

    /// Binds the required sets. If rows of companies lead, they are immediately intersected with the following
    /// sets up to the first one with many sources, and form one set with these.
    #[inline(always)]
    fn bind_required(
        &mut self,
        steps: &'a [Step<'_>],
        range: &Range<u32>,
        merges_unions: bool,
    ) -> Result<()> {
        let operand = |step: &'a Step<'_>| Operand::bind(self.segment, step, merges_unions);
        if let Some((lead, others)) = steps.split_first()
            && let Access::OfCompanies(rows) = &lead.access
        {
            // Sets with many sources take too long per row, so they are combined with the
            // candidates later.
            let looked_up = others.iter().position(Step::has_many_sources);
            let (looked_up, combined) = others.split_at(looked_up.unwrap_or(others.len()));
            let mut sets: SmallVec<[Operand<'_>; 2]> = SmallVec::new();
            for step in looked_up {
                sets.push(operand(step)?);
            }
            self.counters.rows_checked += rows.len() as u64;
            let rows = companies::narrowed(rows, range, &sets, &mut self.observer);
            // Required set 0 is the narrowed list. The sets looked up for it have no set of their
            // own.
            self.steps.push(0);
            self.steps.extend(looked_up.len() + 1..steps.len());
            self.required.push(Operand::Merged(rows));
            for step in combined {
                self.required.push(operand(step)?);
            }
            return Ok(());
        }
        self.steps.extend(0..steps.len());
        for step in steps {
            self.required.push(operand(step)?);
        }
        Ok(())
    }

    /// Returns a summary of the run, and its observer, which is replaced by a new one.
    pub(super) fn finish(&mut self) -> (Run, O) {
        let run = Run {
            strategy: match self.leading_list() {
                Some(_) => Strategy::LeadingList,
                None => Strategy::Blocks,
            },
            counters: self.counters,
        };
        (run, std::mem::take(&mut self.observer))
    }

    /// The segment.
    pub(super) fn segment(&self) -> &'a Segment {
        self.segment
    }

    /// Leads with the rows that are not deleted, if they are listed and rarer than what the plan requires. Returns whether
    /// they lead.
    fn lead_by_live(&mut self, live: LiveSegment<'a>, plan: &Plan<'_>) -> bool {
        let Some(rows) = live.deleted.live() else {
            return false;
        };
        let first = plan.required.first();
        if first.is_some_and(|step| step.estimate.expected <= rows.len() as u64) {
            return false;
        }
        self.expected_share *= rows.len() as f64 / f64::from(self.segment.row_count());
        // No step of the plan is theirs.
        self.steps.insert(0, plan.required.len());
        self.required.insert(0, Operand::One(Posting::List(rows)));
        self.lead = 0;
        true
    }

    /// Moves the set that needs reading titles to the end, so that only titles of rows in all other sets are read.
    /// If it is the rarest, it still determines which blocks to visit.
    fn read_titles_last(&mut self) {
        let last = self.required.len().saturating_sub(1);
        let reading = self.required.iter().position(Operand::reads_titles);
        if let Some(set) = reading.filter(|&set| set < last) {
            // Rotating keeps the order of the others. A set that led before still leads at its new
            // index.
            self.required[set..].rotate_left(1);
            self.steps[set..].rotate_left(1);
            self.lead = if set == 0 { last } else { 0 };
        }
    }

    /// The step of a required set.
    pub(super) fn required_step(&self, set: usize) -> StepKey {
        StepKey::Required(self.steps[set])
    }

    /// Whether every row of the leading set matches.
    fn is_only_required(&self) -> bool {
        self.required.len() == 1 && self.has_nothing_else()
    }

    /// Whether the intersection of the required sets is not narrowed further.
    pub(super) fn has_nothing_else(&self) -> bool {
        self.excluded.is_empty() && self.ranges.is_empty() && self.phrases.is_empty()
    }

    /// The rows of the leading set if it is a short list or the only set, so that scanning it is fastest.
    pub(super) fn leading_list(&self) -> Option<&[u32]> {
        let rows = self.listed_lead()?;
        (self.is_short(rows) || self.is_only_required()).then_some(rows)
    }

    /// Whether the leading set is a short list.
    pub(super) fn leads_with_few(&self) -> bool {
        self.listed_lead().is_some_and(|rows| self.is_short(rows))
    }

    /// The rows of the leading set, if it is a list.
    #[inline(always)]
    fn listed_lead(&self) -> Option<&[u32]> {
        match self.required.first()? {
            Operand::One(Posting::List(rows)) => Some(rows),
            Operand::Merged(rows) => Some(rows),
            _ => None,
        }
    }

    #[inline(always)]
    fn is_short(&self, rows: &[u32]) -> bool {
        // At most 65,535 blocks with 16 rows each, so the product fits.
        let max = SCANNED_ROWS_PER_BLOCK * block_count(self.segment.row_count());
        rows.len() <= max as usize
    }

    /// Keeps the matches among rows of the leading list.
    pub(super) fn retain_listed(&mut self, output: &mut OutputBuffer) {
        let n = output.rows().len() as u64;
        let (is_only_required, step) = (self.is_only_required(), self.required_step(0));
        let (observer, residual) = self.residual();
        observer.read(|| size_of::<u32>() as u64 * n);
        observer.ran(step, Method::Scan, O::now(), || Some(n));
        if !is_only_required {
            output.retain(|row| residual.keeps(row, observer));
            self.counters.rows_checked += n;
        }
    }

    /// Visits every match if the leading list is scanned. Returns whether it is.
    pub(super) fn visit_listed(&mut self, mut visit: impl FnMut(Row)) -> bool {
        if self.leading_list().is_none() {
            return false;
        }
        let (is_only_required, step) = (self.is_only_required(), self.required_step(0));
        let (observer, residual) = self.residual();
        let rows = residual.leading_rows();
        let n = rows.len() as u64;
        observer.read(|| size_of::<u32>() as u64 * n);
        observer.ran(step, Method::Scan, O::now(), || Some(n));
        for &row in rows {
            if residual.keeps(Row(row), observer) {
                visit(Row(row));
            }
        }
        if !is_only_required {
            self.counters.rows_checked += n;
        }
        true
    }

    /// Keeps the matches among the rows of an output buffer. Cost: one look-up per row and step.
    pub(super) fn retain_few(&mut self, output: &mut OutputBuffer) {
        self.counters.rows_checked += output.rows().len() as u64;
        let (observer, steps) = self.all_steps();
        output.retain(|row| steps.keeps(row, observer));
    }

    /// Keeps the matches among rows in any order, given the tests of all required sets. Where phrases are checked row by
    /// row, it stops after the first `max`. Cost: one look-up per step for each row that the steps before left.
    pub(super) fn retain_rows(&mut self, tests: &[RowTest<'_>], max: usize, rows: &mut Vec<u32>) {
        self.counters.rows_checked += rows.len() as u64;
        for test in tests {
            let started = O::now();
            self.observer.read(|| of_look_ups(rows.len()));
            test.retain(&self.required[test.set()], rows);
            let step = StepKey::Required(self.steps[test.set()]);
            self.observer
                .ran(step, Method::LookUp, started, || Some(rows.len() as u64));
        }
        for (index, range) in self.ranges.iter().enumerate() {
            let (step, started) = (StepKey::Range(index), O::now());
            self.observer.read(|| of_look_ups(rows.len()));
            retain_where(rows, |row| range.contains(Row(row)));
            self.observer
                .ran(step, Method::CheckRows, started, || Some(rows.len() as u64));
        }
        for (index, set) in self.excluded.iter().enumerate() {
            let (step, started) = (StepKey::Excluded(index), O::now());
            self.observer.read(|| of_look_ups(rows.len()));
            retain_where(rows, |row| !set.contains(Row(row)));
            self.observer
                .ran(step, Method::LookUpExcluded, started, || {
                    Some(rows.len() as u64)
                });
        }
        self.retain_phrases(max, rows);
    }

    /// Keeps the first `max` rows that contain the phrases that are checked row by row, if there are such phrases.
    pub(super) fn retain_phrases(&mut self, max: usize, rows: &mut Vec<u32>) {
        if self.phrases.is_empty() {
            return;
        }
        let mut left = max;
        let (phrases, observer) = (&self.phrases, &mut self.observer);
        let mut passes = |row: Row| {
            phrases.iter().enumerate().all(|(index, phrase)| {
                let started = O::now();
                let passes = phrase.passes(row);
                let step = StepKey::Phrase(index);
                observer.read(|| TEXT_BYTES);
                observer.ran(step, Method::CheckRows, started, || Some(passes.into()));
                passes
            })
        };
        rows.retain(|&row| {
            let keeps = left > 0 && passes(Row(row));
            left -= usize::from(keeps);
            keeps
        });
    }

    /// The step of each required set.
    pub(super) fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// Whether phrases are checked row by row.
    pub(super) fn checks_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Whether every row is a match.
    pub(super) fn takes_all(&self) -> bool {
        self.required.is_empty() && self.has_nothing_else()
    }

    /// All steps including the leading one, separate from the observer.
    fn all_steps(&mut self) -> (&mut O, Residual<'_, 'a>) {
        let (observer, residual) = self.residual();
        let all = Residual {
            leading: 0,
            ..residual
        };
        (observer, all)
    }

    /// The steps, separate from the observer.
    #[inline(always)]
    fn residual(&mut self) -> (&mut O, Residual<'_, 'a>) {
        let residual = Residual {
            required: &self.required,
            steps: &self.steps,
            leading: 1,
            excluded: &self.excluded,
            ranges: &self.ranges,
            phrases: &self.phrases,
        };
        (&mut self.observer, residual)
    }
}

/// The steps that each row of a leading list must pass.
struct Residual<'e, 'a> {
    required: &'e [Operand<'a>],
    steps: &'e [usize],
    /// The number of leading sets to skip: 0 or 1.
    leading: usize,
    excluded: &'e [Operand<'a>],
    ranges: &'e [BoundRange<'a>],
    phrases: &'e [BoundCheck<'a>],
}

impl<'e> Residual<'e, '_> {
    /// The rows of the leading list.
    fn leading_rows(&self) -> &'e [u32] {
        match &self.required[0] {
            Operand::One(Posting::List(rows)) => rows,
            Operand::Merged(rows) => rows,
            _ => unreachable!("only listed rows are scanned"),
        }
    }

    /// Whether a row passes all steps except the leading one.
    #[inline(always)]
    fn keeps<O: Observer>(&self, row: Row, observer: &mut O) -> bool {
        let mut keeps = |step, method, started, keeps: bool| {
            observer.read(|| LINE_BYTES);
            observer.ran(step, method, started, || Some(keeps.into()));
            keeps
        };
        // Stops at the first step that fails, so later steps run for few rows.
        for (index, set) in self.required.iter().enumerate().skip(self.leading) {
            let (step, started) = (StepKey::Required(self.steps[index]), O::now());
            if !keeps(step, Method::LookUp, started, set.contains(row)) {
                return false;
            }
        }
        for (index, range) in self.ranges.iter().enumerate() {
            let (step, started) = (StepKey::Range(index), O::now());
            if !keeps(step, Method::CheckRows, started, range.contains(row)) {
                return false;
            }
        }
        for (index, set) in self.excluded.iter().enumerate() {
            let (step, started) = (StepKey::Excluded(index), O::now());
            if !keeps(step, Method::LookUpExcluded, started, !set.contains(row)) {
                return false;
            }
        }
        // Texts come last, because reading them takes the longest.
        for (index, phrase) in self.phrases.iter().enumerate() {
            let (step, started) = (StepKey::Phrase(index), O::now());
            if !keeps(step, Method::CheckRows, started, phrase.passes(row)) {
                return false;
            }
        }
        true
    }
}

impl<'a> BoundRange<'a> {
    pub(super) fn bind(segment: &'a Segment, step: &'a RangeStep<'_>) -> Result<BoundRange<'a>> {
        let ordered = match step.column {
            RangeColumn::Date => segment.day_column()?,
            RangeColumn::Amount => segment.amount_column()?,
        };
        Ok(BoundRange {
            ordered,
            codes: &step.codes,
        })
    }

    pub(super) fn classify(&self, block: u32) -> Overlap {
        // The column has a zone for every block.
        self.ordered.blocks[block as usize].classify(self.codes)
    }

    /// Keeps the candidates that are in the ranges.
    pub(super) fn narrow(&self, candidates: &mut Candidates) {
        candidates.keep_in_ranges(&self.ordered.column, self.codes);
    }

    /// The span of offsets that contains the block's rows in the ranges, according to its zone maps.
    pub(super) fn span(&self, block: u32) -> Range<u32> {
        self.ordered.span(block, self.codes)
    }

    /// The offsets of a block's rows in the ranges, if the block has a sorted permutation.
    pub(super) fn offsets(&self, block: u32) -> Option<RangeOffsets<'a>> {
        let codes = self.codes.iter();
        // The column as a whole has permutations or none, so all ranges have offsets or none has.
        codes
            .map(|codes| self.ordered.offsets_in(block, codes))
            .collect()
    }

    pub(super) fn contains(&self, row: Row) -> bool {
        let code = self.ordered.column.get(row);
        self.codes.iter().any(|codes| codes.contains(&code))
    }
}
