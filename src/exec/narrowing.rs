//! Forms and narrows the candidates of one block.

use std::ops::Range;

use super::bytes_read::{LINE_BYTES, TEXT_BYTES, of_both};
use super::candidate_rows::CandidateRows;
use super::candidates;
use super::execution::{BoundRange, Execution, PermutedRange};
use super::observer::{Method, Observer, StepKey};
use super::operand::{BoundCheck, Operand};
use super::output::OutputBuffer;
use super::row_window::{RowWindow, WindowSize};
use crate::encoding::row::Row;
use crate::encoding::zone_map::Overlap;
use crate::kernels::block::{BLOCK_ROWS, block_count};

/// Up to this many rows of a block in a range are set one by one, at about a nanosecond each; comparing the
/// codes of the whole block takes <!--figure:kernels.codes-->6<!--end--> microseconds.
const FEW_IN_RANGE_MAX: usize = 2048;

/// With fewer rows of a block in the leading set, the block's permutation is not read, because the range
/// seldom has fewer rows (`benches/queries`, country + size + last days).
const LEAD_ROWS_MIN: usize = 4096;

/// From this many excluded sets on, counting the candidates first pays off: it takes as long as subtracting two
/// sets from bits.
const MANY_EXCLUDED: usize = 4;

/// From this many rows of a block in the sources of phrases on, ranges and excluded sets are applied before titles are
/// read, at up to 50 nanoseconds each; comparing the codes of the whole block
/// takes <!--figure:kernels.codes-->6<!--end--> microseconds.
const MANY_TITLES: usize = 512;

impl<'a, O: Observer> Execution<'a, O> {
    /// The size of the first window of a page with `wanted` matches.
    pub(super) fn first_window_size(&self, wanted: usize) -> WindowSize {
        WindowSize::of(wanted, self.expected_share)
    }

    /// The size of the next window of a page in the current block, if the block's permutation gives the number of
    /// rows in the range.
    pub(super) fn size_by_permutation(&self, wanted: usize) -> Option<WindowSize> {
        match self.permuted {
            PermutedRange::Many(rows) => {
                let share = rows as f64 / f64::from(BLOCK_ROWS);
                Some(WindowSize::of(wanted, self.expected_share * share))
            }
            _ => None,
        }
    }

    /// The first block from `block` on that may have matches.
    pub(super) fn block_at_or_after(&mut self, block: u32) -> Option<u32> {
        let end = block_count(self.segment.row_count());
        let mut next = block;
        // Invariant: no block in `block..next` has matches. Each iteration returns or advances `next`.
        while next < end {
            // Without required sets, every block may have matches.
            let led = match self.required.get(self.lead) {
                Some(lead) => lead.next_block(next)?,
                None => next,
            };
            self.counters.blocks_skipped += u64::from(led - next);
            if self.ranges_allow(led) {
                return Some(led);
            }
            self.counters.blocks_skipped += 1;
            next = led + 1;
        }
        None
    }

    /// The last block up to and including `block` that may have matches.
    pub(super) fn block_at_or_before(&mut self, block: u32) -> Option<u32> {
        let mut next = Some(block);
        // Invariant: no block after `next` up to `block` has matches. Each iteration returns or moves `next`.
        while let Some(block) = next {
            let led = match self.required.get(self.lead) {
                Some(lead) => lead.previous_block(block)?,
                None => block,
            };
            self.counters.blocks_skipped += u64::from(block - led);
            if self.ranges_allow(led) {
                return Some(led);
            }
            self.counters.blocks_skipped += 1;
            next = led.checked_sub(1);
        }
        None
    }

    /// Reads the zone maps and the permutation of a block. Returns a span that contains its rows in all ranges.
    pub(super) fn load_block_statistics(&mut self, block: u32) -> Range<u32> {
        self.residual_ranges.clear();
        let mut span = 0..BLOCK_ROWS;
        for (index, range) in self.ranges.iter().enumerate() {
            // Invariant: `span` contains the block's rows in all ranges before this one.
            if !self.strategies.block_zones {
                self.residual_ranges.push(index);
            } else if range.classify(block) != Overlap::All {
                self.residual_ranges.push(index);
                let of_range = range.span(block);
                span = span.start.max(of_range.start)..span.end.min(of_range.end);
            }
        }
        // If no row can be in all ranges, the permutation is not needed.
        self.permuted = if span.is_empty() {
            PermutedRange::Unknown
        } else {
            self.read_permutation(block)
        };
        span
    }

    /// The rows in a residual range according to the block's permutation, unless the leading set has few rows.
    fn read_permutation(&self, block: u32) -> PermutedRange<'a> {
        let has_many = |set: &Operand<'_>| set.rows_in(block) >= LEAD_ROWS_MIN;
        if !self.required.first().is_none_or(has_many) {
            return PermutedRange::Unknown;
        }
        // The first residual range with permutations: only dates have them.
        let mut ranges = self.residual_ranges.iter().enumerate();
        let found = ranges.find_map(|(index, &range)| {
            let offsets = self.ranges[range].offsets(block)?;
            let rows = offsets.iter().map(|offsets| offsets.len()).sum();
            Some((index, offsets, rows))
        });
        match found {
            None => PermutedRange::Unknown,
            Some((index, offsets, rows)) if rows <= FEW_IN_RANGE_MAX => {
                PermutedRange::Few(index, offsets)
            }
            Some((_, _, rows)) => PermutedRange::Many(rows),
        }
    }

    /// Forms the candidates of a whole block; as [`load_window`](Self::load_window).
    pub(super) fn load_block(&mut self, block: u32) {
        let span = self.load_block_statistics(block);
        self.load_window(RowWindow::whole(block), &span);
    }

    /// Forms the candidates of a block within a span, without the phrases that are checked row by row.
    pub(super) fn load_in_span(&mut self, block: u32, span: &Range<u32>) {
        let of_ranges = self.load_block_statistics(block);
        let both = span.start.max(of_ranges.start)..span.end.min(of_ranges.end);
        self.load_window(RowWindow::whole(block), &both);
    }

    /// Whether a block may have matches.
    pub(super) fn may_match(&self, block: u32) -> bool {
        let lead = self.required.get(self.lead);
        lead.is_none_or(|lead| lead.next_block(block) == Some(block)) && self.ranges_allow(block)
    }

    /// Forms the candidates of a window of the current block within a span: the result of all sets. Residual
    /// conditions are left to [`retain_matches`](Self::retain_matches) or
    /// [`evaluate_residual`](Self::evaluate_residual).
    pub(super) fn load_window(&mut self, window: RowWindow, span: &Range<u32>) {
        let block = window.block();
        let before = self.window.replace(window);
        // The windows of a block follow each other, so a block is counted once.
        let is_new = before.map(|window| window.block()) != Some(block);
        self.counters.blocks_visited += u64::from(is_new);
        let part = window.within(span);
        self.candidates.set_window(part);
        // Each range has rows in the block, but no row of these words is in all of them.
        if part.is_empty() {
            return self.candidates.clear();
        }
        let seeded = self.seed(part);
        // The seed has applied the first `seeded` sets.
        let end = self.required.len();
        // A set that reads many titles waits until ranges and exclusions have left fewer
        // candidates.
        let titles = end - usize::from(self.reads_many_titles(block));
        self.narrow_by_all(seeded..titles, block);
        // After a narrow range, exclusions, of which there may be many, are cheap.
        self.compare_ranges();
        if titles < end || self.excludes_many() {
            self.candidates.list_if_sparse();
        }
        // Exclusions that read titles come after everything that does not.
        self.subtract(block, |set| !set.reads_titles());
        // Empty unless a set has been left out above.
        self.narrow_by_all(seeded.max(titles)..end, block);
        self.subtract(block, |set| set.reads_titles());
        self.observe_whole_blocks(block);
    }

    /// Keeps the candidates that are in each of some required sets.
    fn narrow_by_all(&mut self, sets: Range<usize>, block: u32) {
        for set in sets {
            // Sets only remove rows, so an empty list stays empty.
            if self.candidates.are_none() {
                return;
            }
            self.narrow_by(set, block);
        }
    }

    /// Keeps the candidates that are in a required set.
    #[inline(always)]
    fn narrow_by(&mut self, set: usize, block: u32) {
        let started = O::now();
        let operand = &self.required[set];
        self.observer
            .read(|| operand.bytes_beside(&self.candidates));
        operand.narrow(&mut self.candidates, block);
        self.ran(self.required_step(set), Method::Intersect, started);
    }

    /// Subtracts the excluded sets that are due.
    fn subtract(&mut self, block: u32, is_due: impl Fn(&Operand<'_>) -> bool) {
        for step in 0..self.excluded.len() {
            if self.candidates.are_none() {
                return;
            }
            if !is_due(&self.excluded[step]) {
                continue;
            }
            let started = O::now();
            let operand = &self.excluded[step];
            self.observer
                .read(|| operand.bytes_beside(&self.candidates));
            operand.subtract(&mut self.candidates, block);
            self.ran(StepKey::Excluded(step), Method::Subtract, started);
        }
    }

    /// Reports the ranges that contain the whole block to the observer: no step runs for them.
    #[inline(always)]
    fn observe_whole_blocks(&mut self, block: u32) {
        let is_whole = |range: &BoundRange<'_>| {
            self.strategies.block_zones && range.classify(block) == Overlap::All
        };
        let ranges = self.ranges.iter().enumerate();
        let whole = ranges.filter(|(_, range)| is_whole(range));
        let candidates = &self.candidates;
        let left = || u64::from(candidates.count());
        self.observer
            .took_whole(whole.map(|(index, _)| index), left);
    }

    /// Forms the first candidates of a window.
    ///
    /// Returns the number of required sets that they are in.
    fn seed(&mut self, window: RowWindow) -> usize {
        let block = window.block();
        let started = O::now();
        if let PermutedRange::Few(index, offsets) = &self.permuted {
            // The candidates are its rows, so this range is not residual any more.
            let range = self.residual_ranges.remove(*index);
            let bytes = || offsets.iter().map(|part| size_of_val(*part) as u64).sum();
            self.observer.read(bytes);
            self.candidates.load_offsets(offsets);
            self.ran(StepKey::Range(range), Method::Permutation, started);
            return 0;
        }
        match self.required.as_slice() {
            [] => {
                self.candidates.fill(self.segment.row_count());
                0
            }
            // Ranges and exclusions narrow the rows of the whole window before any title is read.
            [_] if self.reads_many_titles(block) => {
                self.candidates.fill(self.segment.row_count());
                0
            }
            // Two stored sets are intersected in one pass instead of copying the first.
            [Operand::One(first), Operand::One(second), ..] => {
                let candidates = &mut self.candidates;
                self.observer.read(|| of_both([first, second], window));
                candidates.load_both(first.block(block), second.block(block));
                self.ran_in_one_pass(started, |candidates| candidates.count());
                2
            }
            [first, ..] => {
                self.observer.read(|| first.bytes_in(window));
                first.load_into(&mut self.candidates, block);
                self.ran(self.required_step(0), Method::Lead, started);
                1
            }
        }
    }

    /// Whether ranges and excluded sets come before the last required set, because it reads many titles of a block.
    fn reads_many_titles(&self, block: u32) -> bool {
        let has_many = |set: &Operand<'_>| set.reads_titles() && set.rows_in(block) >= MANY_TITLES;
        (self.may_compare() || self.excludes_many()) && self.required.last().is_some_and(has_many)
    }

    fn excludes_many(&self) -> bool {
        self.excluded.len() >= MANY_EXCLUDED
    }

    /// The window's candidates.
    pub(super) fn candidates(&self) -> CandidateRows<'_> {
        self.candidates.rows()
    }

    /// The window's candidates, as a list where they are few.
    pub(super) fn sparse_candidates(&mut self) -> CandidateRows<'_> {
        self.candidates.list_if_sparse();
        self.candidates.rows()
    }

    /// Overwrites a list with those of some offsets, ascending, that are among the window's candidates, which must be
    /// bits.
    pub(super) fn list_candidates_among(&self, offsets: &[u16], list: &mut Vec<u16>) {
        self.candidates.list_set(offsets, list);
    }

    /// Whether every candidate of the window matches without further checks.
    fn has_no_residual(&self) -> bool {
        self.residual_ranges.is_empty() && self.phrases.is_empty()
    }

    /// Keeps the matches among candidates of the window.
    pub(super) fn retain_matches(&mut self, output: &mut OutputBuffer) {
        if self.has_no_residual() {
            return;
        }
        output.retain(|row| {
            self.counters.rows_checked += 1;
            let (ranges, residual_ranges) = (&self.ranges, &self.residual_ranges);
            passes(
                row,
                ranges,
                residual_ranges,
                &self.phrases,
                &mut self.observer,
            )
        });
    }

    /// Keeps the matching candidates of the window.
    pub(super) fn evaluate_residual(&mut self) {
        let Some(window) = self.window.filter(|_| !self.has_no_residual()) else {
            return;
        };
        let block = window.block();
        let (ranges, residual_ranges) = (&self.ranges, &self.residual_ranges);
        let (phrases, observer) = (&self.phrases, &mut self.observer);
        self.candidates.retain(|offset| {
            let row = Row::of(block, offset);
            passes(row, ranges, residual_ranges, phrases, observer)
        });
        // The candidates are in all ranges now, so `retain_matches` does not check them again.
        self.residual_ranges.clear();
    }

    /// The number of candidates of the window.
    pub(super) fn candidate_count(&self) -> u32 {
        self.candidates.count()
    }

    /// The number of a block's matches.
    pub(super) fn count_of(&mut self, block: u32) -> u32 {
        let is_conjunction = self.has_nothing_else();
        match self.required.as_slice() {
            // Two stored sets may be counted without forming candidates.
            [Operand::One(first), Operand::One(last)] if is_conjunction => {
                let started = O::now();
                self.observer
                    .read(|| of_both([first, last], RowWindow::whole(block)));
                match candidates::count_both(first.block(block), last.block(block)) {
                    Some(count) => {
                        self.counters.blocks_visited += 1;
                        self.ran_in_one_pass(started, |_| count);
                        count
                    }
                    None => self.count_of_conjunction(block),
                }
            }
            [_, .., _] if is_conjunction => self.count_of_conjunction(block),
            _ => {
                self.load_block(block);
                self.evaluate_residual();
                self.candidate_count()
            }
        }
    }

    /// The number of a block's rows in the intersection of the required sets.
    fn count_of_conjunction(&mut self, block: u32) -> u32 {
        let window = RowWindow::whole(block);
        self.counters.blocks_visited += 1;
        self.candidates.set_window(window);
        // There are at least two required sets, so there is a last one.
        let last = self.required.len() - 1;
        let seeded = self.seed(window);
        for set in seeded.min(last)..last {
            self.narrow_by(set, block);
        }
        // With two stored sets, the seed has applied both.
        if seeded > last {
            return self.candidates.count();
        }
        let started = O::now();
        let operand = &self.required[last];
        self.observer
            .read(|| operand.bytes_beside(&self.candidates));
        let count = operand.count_in(&mut self.candidates, block);
        let (step, method) = (self.required_step(last), Method::CountIntersection);
        self.observer
            .ran(step, method, started, || Some(count.into()));
        count
    }

    /// Keeps the candidates that are in all ranges, so that none is residual. Also done for pages that need few
    /// candidates: checking one that fails takes as long as comparing twenty.
    fn compare_ranges(&mut self) {
        if !self.may_compare() {
            return;
        }
        // By index, because narrowing and reporting borrow all of `self`.
        for index in 0..self.residual_ranges.len() {
            let started = O::now();
            let range = self.residual_ranges[index];
            let bound = &self.ranges[range];
            self.observer.read(|| bound.bytes_beside(&self.candidates));
            bound.narrow(&mut self.candidates);
            self.ran(StepKey::Range(range), Method::CompareCodes, started);
        }
        self.residual_ranges.clear();
    }

    /// Whether ranges can be compared.
    fn may_compare(&self) -> bool {
        !self.residual_ranges.is_empty()
    }

    fn ranges_allow(&self, block: u32) -> bool {
        !self.strategies.block_zones
            || self
                .ranges
                .iter()
                .all(|range| range.classify(block) != Overlap::None)
    }

    /// Reports a step that resulted in the current candidates.
    #[inline(always)]
    fn ran(&mut self, step: StepKey, method: Method, started: O::Time) {
        let left = || Some(self.candidates.count().into());
        self.observer.ran(step, method, started, left);
    }

    /// Reports that the first two required steps ran in one pass.
    #[inline(always)]
    fn ran_in_one_pass(
        &mut self,
        started: O::Time,
        left: impl FnOnce(&candidates::Candidates) -> u32,
    ) {
        let (first, second) = (self.required_step(0), self.required_step(1));
        self.observer
            .ran(first, Method::LeadWithNext, O::now(), || None);
        let left = || Some(left(&self.candidates).into());
        self.observer
            .ran(second, Method::InPassBefore, started, left);
    }
}

/// Whether a candidate is in all residual ranges and contains all phrases.
#[inline(always)]
fn passes<O: Observer>(
    row: Row,
    ranges: &[BoundRange<'_>],
    residual_ranges: &[usize],
    phrases: &[BoundCheck<'_>],
    observer: &mut O,
) -> bool {
    let mut ran = |step, bytes, started, keeps: bool| {
        observer.read(|| bytes);
        observer.ran(step, Method::CheckRows, started, || Some(keeps.into()));
        keeps
    };
    residual_ranges.iter().all(|&range| {
        let started = O::now();
        let keeps = ranges[range].contains(row);
        ran(StepKey::Range(range), LINE_BYTES, started, keeps)
    }) && phrases.iter().enumerate().all(|(index, phrase)| {
        let started = O::now();
        let keeps = phrase.passes(row);
        ran(StepKey::Phrase(index), TEXT_BYTES, started, keeps)
    })
}
