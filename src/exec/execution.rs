//! A plan bound to its segment, and the narrowing of one block.

use std::ops::Range;
use std::time::Instant;

use smallvec::SmallVec;

use super::batch::Batch;
use super::candidates::{self, CandidateRows};
use super::companies;
use super::operand::{BoundCheck, Operand};
use super::scratch::Scratch;
use super::trace::{StepTrace, Trace};
use super::window::{Window, WindowSize};
use crate::encoding::posting::Posting;
use crate::encoding::row::Row;
use crate::encoding::zone_map::{OrderedColumn, Overlap};
use crate::kernels::block::{BLOCK_ROWS, block_count};
use crate::plan::{Access, CodeRange, Plan, RangeColumn, Step, Strategies};
use crate::segment::Segment;

/// A leading list of at most so many rows a block is walked row by row: forming a block's candidates
/// takes longer than looking that many rows up in the other sets.
const WALKED_ROWS_PER_BLOCK: u32 = 16;

/// With at most so many rows of a block in a range, they are set one by one: that takes about a
/// nanosecond each, and comparing the codes of the whole block four microseconds.
const FEW_IN_RANGE_MAX: usize = 2048;

/// With fewer rows of a block in the leading set, the block's order is not asked: those that it says are
/// in the range are seldom less (`benches/queries`, country + size + last days).
const LEAD_ROWS_MIN: usize = 4096;

/// A plan, ready to run on its segment.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    segment: &'a Segment,
    required: SmallVec<[Operand<'a>; 4]>,
    excluded: SmallVec<[Operand<'a>; 2]>,
    ranges: SmallVec<[BoundRange<'a>; 1]>,
    phrases: SmallVec<[BoundCheck<'a>; 1]>,
    is_impossible: bool,
    /// Which share of the rows is expected to match.
    expected_share: f64,
    strategies: &'a Strategies,
    candidates: Scratch,
    /// The rows that the candidates are among.
    window: Option<Window>,
    /// The ranges that the current block neither fails nor fulfils as a whole.
    open_ranges: SmallVec<[usize; 2]>,
    /// What the current block's order tells of the first open range that it is kept for.
    in_range: InRange<'a>,
    trace: Option<Box<Trace>>,
    /// Rows that were looked at one by one.
    rows_checked: u64,
}

/// Offsets of a block's rows, in any order, for each range of codes.
type RangeOffsets<'a> = SmallVec<[&'a [u16]; 2]>;

/// How many of a block's rows are in an open range.
#[derive(Debug)]
enum InRange<'a> {
    /// Not looked up.
    Unknown,
    /// So few that they are better set one by one; where the range stands among the open ones.
    Few(usize, RangeOffsets<'a>),
    /// So many.
    Many(usize),
}

#[derive(Debug)]
struct BoundRange<'a> {
    ordered: &'a OrderedColumn<'a>,
    codes: &'a [CodeRange],
}

impl<'a> Execution<'a> {
    /// What runs on a segment, once a plan is [bound](Self::bind).
    #[inline(always)]
    pub(crate) fn new(segment: &'a Segment, strategies: &'a Strategies) -> Execution<'a> {
        Execution {
            segment,
            required: SmallVec::new(),
            excluded: SmallVec::new(),
            ranges: SmallVec::new(),
            phrases: SmallVec::new(),
            is_impossible: false,
            expected_share: 1.0,
            strategies,
            candidates: Scratch::take(),
            window: None,
            open_ranges: SmallVec::new(),
            in_range: InRange::Unknown,
            trace: None,
            rows_checked: 0,
        }
    }

    /// Binds a plan, in place: moving what was bound takes as long as binding it. `rows` are those that
    /// may be asked for; `deleted` are to be left out.
    pub(crate) fn bind(
        &mut self,
        plan: &'a Plan<'_>,
        rows: &Range<u32>,
        deleted: Option<Posting<'a>>,
    ) {
        let (segment, strategies) = (self.segment, self.strategies);
        self.is_impossible = plan.impossible.is_some();
        self.expected_share = plan.expected_share(segment.row_count());
        self.candidates.allow_lists(strategies.candidate_lists);
        self.bind_required(&plan.required, rows);
        for step in &plan.excluded {
            self.excluded.push(Operand::bind(segment, step, strategies));
        }
        if let Some(deleted) = deleted {
            self.excluded.push(Operand::One(deleted));
        }
        for step in &plan.ranges {
            self.ranges.push(BoundRange::bind(segment, step));
        }
        for step in &plan.phrases {
            self.phrases.push(BoundCheck::bind(segment, &step.check));
        }
        if let Some(trace) = &mut self.trace {
            let steps =
                self.required.len() + self.ranges.len() + self.excluded.len() + self.phrases.len();
            trace.steps.resize(steps, StepTrace::default());
        }
    }

    /// Binds the required sets. Rows of companies that lead are narrowed by the others at once, unless
    /// a trace is to tell how they narrow each other.
    #[inline(always)]
    fn bind_required(&mut self, steps: &'a [Step<'_>], range: &Range<u32>) {
        let operand = |step: &'a Step<'_>| Operand::bind(self.segment, step, self.strategies);
        if let Some((lead, others)) = steps.split_first()
            && let Access::OfCompanies(rows) = &lead.access
            && self.trace.is_none()
        {
            let others: SmallVec<[Operand<'_>; 2]> = others.iter().map(operand).collect();
            self.rows_checked += rows.len() as u64;
            let rows = companies::narrowed(rows, range, &others);
            return self.required.push(Operand::Merged(rows));
        }
        for step in steps {
            self.required.push(operand(step));
        }
    }

    /// Keeps a trace of the plan that is bound next.
    pub(crate) fn keep_trace(&mut self) {
        self.trace = Some(Box::default());
    }

    /// The trace, where one was kept.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// How many rows were looked at one by one so far.
    pub(crate) fn rows_checked(&self) -> u64 {
        self.rows_checked
    }

    /// The segment that this runs on.
    pub(crate) fn segment(&self) -> &'a Segment {
        self.segment
    }

    /// Whether rows may be walked one by one. Not where a part of the filter has no rows, so that none
    /// is a match, and not where a trace is kept, which tells how sets narrow each other.
    fn may_walk(&self) -> bool {
        self.strategies.walked_lists && !self.is_impossible && self.trace.is_none()
    }

    /// Whether the leading set has nothing but matches.
    fn is_only_required(&self) -> bool {
        self.required.len() == 1 && self.has_nothing_else()
    }

    /// Whether nothing narrows what the required sets have in common.
    fn has_nothing_else(&self) -> bool {
        self.excluded.is_empty() && self.ranges.is_empty() && self.phrases.is_empty()
    }

    /// The rows of the leading set, where it is a short list or all that there is: then matches are
    /// best found by walking it.
    pub(super) fn walked_rows(&self) -> Option<&[u32]> {
        let rows: &[u32] = match self.required.first()? {
            _ if !self.may_walk() => return None,
            Operand::One(Posting::List(rows)) => rows,
            Operand::Merged(rows) => rows,
            _ => return None,
        };
        let most = WALKED_ROWS_PER_BLOCK * block_count(self.segment.row_count());
        let is_short = rows.len() <= most as usize;
        (is_short || self.is_only_required()).then_some(rows)
    }

    /// Looks at some rows of the leading list, so that only matches are left of them.
    pub(super) fn keep_walked(&mut self, batch: &mut Batch) {
        if !self.is_only_required() {
            self.rows_checked += batch.rows().len() as u64;
            batch.retain(|row| self.leaves(row));
        }
    }

    /// Every match, where the leading list is walked.
    pub(super) fn walked_matches(&self) -> Option<impl Iterator<Item = Row> + '_> {
        let rows = self.walked_rows()?.iter().copied().map(Row);
        Some(rows.filter(|&row| self.leaves(row)))
    }

    /// Whether all that comes behind the leading set leaves a row.
    fn leaves(&self, row: Row) -> bool {
        self.required[1..].iter().all(|set| set.contains(row))
            && self.ranges.iter().all(|range| range.contains(row))
            && !self.excluded.iter().any(|set| set.contains(row))
            && self.phrases.iter().all(|phrase| phrase.passes(row))
    }

    /// How large the first window of a page is that wants so many matches.
    pub(super) fn first_window_size(&self, wanted: usize) -> WindowSize {
        match self.strategies.small_windows {
            true => WindowSize::of(wanted, self.expected_share),
            false => WindowSize::WHOLE,
        }
    }

    /// How large the next window of a page is in the block that was opened, where its order says
    /// that it has so many rows in the range that there is no need to look at all.
    pub(super) fn size_among_many(&self, wanted: usize) -> Option<WindowSize> {
        match self.in_range {
            InRange::Many(rows) if self.strategies.small_windows => {
                let share = rows as f64 / f64::from(BLOCK_ROWS);
                Some(WindowSize::of(wanted, self.expected_share * share))
            }
            _ => None,
        }
    }

    /// The first block at or behind `block` that may have matches.
    pub(crate) fn block_at_or_after(&mut self, block: u32) -> Option<u32> {
        let end = block_count(self.segment.row_count());
        let mut next = block;
        // Every round either ends or moves on by at least one block.
        while !self.is_impossible && next < end {
            let led = match self.required.first() {
                Some(lead) => lead.next_block(next)?,
                None => next,
            };
            self.skip(u64::from(led - next));
            if self.ranges_allow(led) {
                return Some(led);
            }
            self.skip(1);
            next = led + 1;
        }
        None
    }

    /// The last block at or before `block` that may have matches.
    pub(crate) fn block_at_or_before(&mut self, block: u32) -> Option<u32> {
        let mut next = (!self.is_impossible).then_some(block);
        // Every round either ends or moves on by at least one block.
        while let Some(block) = next {
            let led = match self.required.first() {
                Some(lead) => lead.previous_block(block)?,
                None => block,
            };
            self.skip(u64::from(block - led));
            if self.ranges_allow(led) {
                return Some(led);
            }
            self.skip(1);
            next = led.checked_sub(1);
        }
        None
    }

    /// Judges the ranges in a block; returns where its rows in all of them are, as far as is known.
    pub(super) fn open(&mut self, block: u32) -> Range<u32> {
        self.open_ranges.clear();
        let mut span = 0..BLOCK_ROWS;
        for (place, range) in self.ranges.iter().enumerate() {
            if !self.strategies.block_zones {
                self.open_ranges.push(place);
            } else if range.classify(block) != Overlap::All {
                self.open_ranges.push(place);
                let of_range = range.span(block);
                span = span.start.max(of_range.start)..span.end.min(of_range.end);
            }
        }
        self.in_range = match span.is_empty() {
            true => InRange::Unknown,
            false => self.look_up_order(block),
        };
        span
    }

    /// How many rows the block's order says are in an open range, unless the leading set has few.
    fn look_up_order(&self, block: u32) -> InRange<'a> {
        let has_many = |set: &Operand<'_>| set.rows_in(block) >= LEAD_ROWS_MIN;
        let is_allowed = self.strategies.block_orders && self.trace.is_none();
        if !is_allowed || !self.required.first().is_none_or(has_many) {
            return InRange::Unknown;
        }
        let mut ranges = self.open_ranges.iter().enumerate();
        let found = ranges.find_map(|(place, &range)| {
            let offsets = self.ranges[range].offsets(block)?;
            let rows = offsets.iter().map(|offsets| offsets.len()).sum();
            Some((place, offsets, rows))
        });
        match found {
            None => InRange::Unknown,
            Some((place, offsets, rows)) if rows <= FEW_IN_RANGE_MAX => {
                InRange::Few(place, offsets)
            }
            Some((_, _, rows)) => InRange::Many(rows),
        }
    }

    /// Forms the candidates of a whole block; as [`enter`](Self::enter).
    pub(super) fn enter_block(&mut self, block: u32) {
        let span = self.open(block);
        self.enter(Window::whole(block), &span);
    }

    /// Forms the candidates of a window of the block that was opened, which are in the span: what
    /// all sets leave. Which of them are matches is left to [`keep_matches`](Self::keep_matches) or
    /// [`settle`](Self::settle).
    pub(super) fn enter(&mut self, window: Window, span: &Range<u32>) {
        let block = window.block();
        let before = self.window.replace(window);
        if let Some(trace) = &mut self.trace {
            trace.blocks_visited += u64::from(before.map(|window| window.block()) != Some(block));
        }
        let part = window.within(span);
        self.candidates.enter(part);
        if part.is_empty() {
            return self.candidates.clear();
        }
        for step in self.begin(part)..self.required.len() {
            if self.candidates.are_none() {
                return;
            }
            let started = self.trace.as_ref().map(|_| Instant::now());
            self.required[step].narrow(&mut self.candidates, block);
            self.note(step, started);
        }
        let first = self.required.len() + self.ranges.len();
        for step in 0..self.excluded.len() {
            let started = self.trace.as_ref().map(|_| Instant::now());
            self.excluded[step].subtract(&mut self.candidates, block);
            self.note(first + step, started);
        }
        self.compare_ranges();
    }

    /// Forms the first candidates of a window; returns how many of the required sets they are in.
    fn begin(&mut self, window: Window) -> usize {
        let block = window.block();
        if let InRange::Few(place, offsets) = &self.in_range {
            self.open_ranges.remove(*place);
            self.candidates.load_offsets(offsets);
            return 0;
        }
        match self.required.as_slice() {
            [] => {
                let rows_in_block = self.segment.row_count() - block * BLOCK_ROWS;
                self.candidates.fill(rows_in_block.min(BLOCK_ROWS));
                0
            }
            [Operand::One(first), Operand::One(second), ..] if self.trace.is_none() => {
                let candidates = &mut self.candidates;
                candidates.load_both(first.block(block), second.block(block));
                2
            }
            [first, ..] => {
                let started = self.trace.as_ref().map(|_| Instant::now());
                first.load_into(&mut self.candidates, block);
                self.note(0, started);
                1
            }
        }
    }

    /// The window's candidates.
    pub(crate) fn candidates(&self) -> CandidateRows<'_> {
        self.candidates.rows()
    }

    /// Whether every candidate of the window is a match, without looking at it.
    fn is_settled(&self) -> bool {
        self.open_ranges.is_empty() && self.phrases.is_empty()
    }

    /// Looks at some candidates of the window, so that only matches are left of them.
    pub(super) fn keep_matches(&mut self, batch: &mut Batch) {
        if self.is_settled() {
            return;
        }
        batch.retain(|row| self.passes(row));
    }

    /// Whether a candidate of the window is a match.
    fn passes(&mut self, row: Row) -> bool {
        self.rows_checked += 1;
        for place in 0..self.open_ranges.len() {
            let range = self.open_ranges[place];
            let started = self.trace.as_ref().map(|_| Instant::now());
            let passes = self.ranges[range].contains(row);
            self.note_row(self.required.len() + range, passes, started);
            if !passes {
                return false;
            }
        }
        for phrase in 0..self.phrases.len() {
            let started = self.trace.as_ref().map(|_| Instant::now());
            let passes = self.phrases[phrase].passes(row);
            let first = self.required.len() + self.ranges.len() + self.excluded.len();
            self.note_row(first + phrase, passes, started);
            if !passes {
                return false;
            }
        }
        true
    }

    /// Looks at every candidate of the window, so that only matches are left.
    pub(crate) fn settle(&mut self) {
        let Some(window) = self.window.filter(|_| !self.is_settled()) else {
            return;
        };
        let block = window.block();
        if self.trace.is_some() {
            return self.settle_traced(block);
        }
        let (ranges, phrases) = (&self.ranges, &self.phrases);
        let open_ranges = &self.open_ranges;
        self.candidates.retain(|offset| {
            let row = Row::of(block, offset);
            open_ranges.iter().all(|&range| ranges[range].contains(row))
                && phrases.iter().all(|phrase| phrase.passes(row))
        });
        self.open_ranges.clear();
    }

    /// The number of candidates of the window.
    pub(crate) fn candidate_count(&self) -> u32 {
        self.candidates.count()
    }

    /// The number of matches. Cost: every block that may have some.
    pub(crate) fn count(&mut self) -> u64 {
        if let Some(matches) = self.walked_matches() {
            return matches.count() as u64;
        }
        let mut total = 0;
        let mut next = self.block_at_or_after(0);
        while let Some(block) = next {
            total += u64::from(self.count_of(block));
            next = self.block_at_or_after(block + 1);
        }
        total
    }

    /// The number of a block's matches.
    fn count_of(&mut self, block: u32) -> u32 {
        let is_conjunction = self.has_nothing_else() && self.trace.is_none();
        match self.required.as_slice() {
            [Operand::One(first), Operand::One(last)] if is_conjunction => {
                candidates::count_both(first.block(block), last.block(block))
                    .unwrap_or_else(|| self.count_of_conjunction(block))
            }
            [_, .., _] if is_conjunction => self.count_of_conjunction(block),
            _ => {
                self.enter_block(block);
                self.settle();
                self.candidate_count()
            }
        }
    }

    /// The number of a block's rows that are in all of several required sets.
    fn count_of_conjunction(&mut self, block: u32) -> u32 {
        let window = Window::whole(block);
        self.candidates.enter(window);
        let last = self.required.len() - 1;
        let begun = self.begin(window);
        for set in &self.required[begun.min(last)..last] {
            set.narrow(&mut self.candidates, block);
        }
        match begun > last {
            true => self.candidates.count(),
            false => self.required[last].count_in(&mut self.candidates, block),
        }
    }

    fn settle_traced(&mut self, block: u32) {
        let mut kept = Vec::new();
        self.candidates.rows().for_each(|offset| kept.push(offset));
        kept.retain(|&offset| self.passes(Row::of(block, offset)));
        self.candidates
            .retain(|offset| kept.binary_search(&offset).is_ok());
    }

    /// Keeps the candidates that are in all ranges, so that none is open any more. Done for a page as
    /// well, however few candidates it needs: one that fails takes as long as comparing twenty.
    fn compare_ranges(&mut self) {
        if !self.strategies.compared_ranges || self.trace.is_some() {
            return;
        }
        for &range in &self.open_ranges {
            let BoundRange { ordered, codes } = &self.ranges[range];
            self.candidates.keep_in_ranges(&ordered.column, codes);
        }
        self.open_ranges.clear();
    }

    fn ranges_allow(&self, block: u32) -> bool {
        !self.strategies.block_zones
            || self
                .ranges
                .iter()
                .all(|range| range.classify(block) != Overlap::None)
    }

    fn skip(&mut self, blocks: u64) {
        if let Some(trace) = &mut self.trace {
            trace.blocks_skipped += blocks;
        }
    }

    fn note(&mut self, step: usize, started: Option<Instant>) {
        if let (Some(trace), Some(started)) = (&mut self.trace, started) {
            trace.steps[step].time += started.elapsed();
            trace.steps[step].rows += u64::from(self.candidates.count());
        }
    }

    fn note_row(&mut self, step: usize, passes: bool, started: Option<Instant>) {
        if let (Some(trace), Some(started)) = (&mut self.trace, started) {
            trace.steps[step].time += started.elapsed();
            trace.steps[step].rows += u64::from(passes);
        }
    }
}

impl<'a> BoundRange<'a> {
    fn bind(segment: &'a Segment, step: &'a crate::plan::RangeStep<'_>) -> BoundRange<'a> {
        let ordered = match step.column {
            RangeColumn::Date => segment.day_column(),
            RangeColumn::Amount => segment.amount_column(),
        };
        BoundRange {
            ordered,
            codes: &step.codes,
        }
    }

    fn classify(&self, block: u32) -> Overlap {
        self.ordered.blocks[block as usize].classify(self.codes)
    }

    /// Where the block's rows in the ranges are, as far as its fine zones tell.
    fn span(&self, block: u32) -> Range<u32> {
        self.ordered.span(block, self.codes)
    }

    /// The offsets of a block's rows in the ranges, where the block is kept in order.
    fn offsets(&self, block: u32) -> Option<RangeOffsets<'a>> {
        let codes = self.codes.iter();
        codes
            .map(|codes| self.ordered.offsets_in(block, codes))
            .collect()
    }

    fn contains(&self, row: Row) -> bool {
        let code = self.ordered.column.get(row);
        self.codes.iter().any(|codes| codes.contains(&code))
    }
}
