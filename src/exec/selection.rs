//! The first matches of a segment by value.
//!
//! Rows with amounts are walked in the order of these ([`value_walk`](super::value_walk)) while that takes less time than
//! forming sets; otherwise blocks are evaluated, the one with the first values first
//! ([`value_blocks`](super::value_blocks)).
//!
//! Where sets are formed by reading titles, one range of values is evaluated after another, until there are enough
//! matches: a range of codes is a step of the plan like that of a filter, so zone maps skip blocks and permutations list
//! rows. The first range has the rows among which the wanted matches are expected, and later ones four times as many.
//! A single value, and the rows without one, are read by descending row and end early.

use std::ops::Range;

use smallvec::SmallVec;

use super::executed_matches::ExecutedMatches;
use super::execution::Execution;
use super::first_keys::FirstKeys;
use super::live::{LiveSegment, Request};
use super::matches::MatchRuns;
use super::observer::{Counters, Observer, Run, Strategy};
use super::row_test::RowTest;
use super::value_blocks::ValueBlocks;
use super::value_column::{ValueColumn, ValueParts, WantedValues};
use super::value_walk::ValueWalk;
use crate::Result;
use crate::encoding::column::NO_CODE;
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::row::Row;
use crate::plan::{CodeRange, Plan, PlanStorage, RangeStep};
use crate::query::{IdOrder, SortKey};
use crate::signal::SignalId;

/// With at most this many expected matches, all are evaluated at once.
const FEW_MATCHES: f64 = 1024.0;

/// A range of values has the rows of this many times the wanted matches, which may be fewer than expected.
const MARGIN: f64 = 1.5;

/// The first matches of a segment by value, in order.
pub(crate) struct Selected<'a, E> {
    /// Codes and rows.
    found: Vec<(u32, u32)>,
    column: Option<ValueColumn<'a>>,
    ids: FrameOfReference<'a>,
    pub(crate) counters: Counters,
    pub(crate) explained: E,
}

impl<E> Selected<'_, E> {
    /// The keys and rows of the matches, in order.
    pub(crate) fn matches(&self) -> impl Iterator<Item = (SortKey, Row)> {
        self.found.iter().map(|&(code, row)| {
            let key = SortKey {
                value: self.column.and_then(|column| column.value(code)),
                id: SignalId::of_checked(self.ids.get(Row(row).index())),
            };
            (key, Row(row))
        })
    }
}

impl<'a> LiveSegment<'a> {
    /// Finds the first wanted matches by value.
    ///
    /// # Errors
    /// A part of the segment that the request or the order needs is damaged.
    pub(crate) fn select<O: Observer>(
        self,
        request: &Request<'_>,
        wanted: &WantedValues,
    ) -> Result<Selected<'a, O::Explained>> {
        let mut storage = PlanStorage::new();
        let plan = self.plan(&mut storage, request, Some(wanted.max))?;
        if plan.no_match.is_some() {
            return Ok(Selected {
                found: Vec::new(),
                column: None,
                ids: self.segment.ids()?,
                counters: Counters::default(),
                explained: self.explain_no_match::<O>(plan),
            });
        }
        let column = ValueColumn::of(self.segment, wanted.order)?;
        let filtered = plan
            .ranges
            .iter()
            .find(|step| step.column == column.column());
        let allowed = filtered.map(|step| step.codes.clone());
        let rows = self.segment.row_count();
        let mut share = plan.expected_share(rows) * self.live_share();
        if let Some(step) = filtered.filter(|_| share > 0.0) {
            // Ranges of values are chosen among the rows that the filter allows.
            share = (share / step.expected_share(rows)).min(1.0);
        }
        let mut parts = column.parts(wanted, self.segment)?;
        if let Some(allowed) = &allowed {
            parts.restrict(allowed);
        }
        let mut selection = Selection::<O> {
            live: self,
            request,
            column,
            allowed: allowed.as_deref(),
            share,
            wanted: wanted.max,
            found: Vec::new(),
            parts: 0,
            walks: false,
            forms_blocks: false,
            counters: Counters::default(),
            observer: O::default(),
        };
        selection.run(&mut storage, parts)?;
        let run = Run {
            strategy: selection.strategy(),
            counters: selection.counters,
        };
        Ok(Selected {
            found: selection.found,
            column: Some(column),
            ids: self.segment.ids()?,
            counters: selection.counters,
            explained: selection.observer.explain(run, storage.plan(), self),
        })
    }
}

/// A selection under way.
struct Selection<'s, O> {
    live: LiveSegment<'s>,
    request: &'s Request<'s>,
    column: ValueColumn<'s>,
    /// The codes that the filter allows; `None` for all.
    allowed: Option<&'s [CodeRange]>,
    /// The expected share of matches among rows with any allowed value.
    share: f64,
    wanted: usize,
    /// Codes and rows of the matches so far, in order.
    found: Vec<(u32, u32)>,
    /// The number of ranges of values that were evaluated.
    parts: u32,
    /// Whether rows were walked in the order of their values.
    walks: bool,
    /// Whether blocks were evaluated in the order of their values.
    forms_blocks: bool,
    counters: Counters,
    observer: O,
}

impl<O: Observer> Selection<'_, O> {
    fn run(&mut self, storage: &mut PlanStorage<'_>, parts: ValueParts) -> Result<()> {
        if let Some((code, rows)) = parts.tied {
            self.take_value(storage, code, rows)?;
        }
        if self.request.strategies.ordered_blocks && !storage.plan().reads_titles() {
            self.take_in_order(storage, &parts.codes)?;
        } else {
            self.take_ranges(storage, parts.codes)?;
        }
        if let Some(rows) = parts.missing {
            self.take_value(storage, NO_CODE, rows)?;
        }
        Ok(())
    }

    /// Takes the first matches with codes in a range: by rows or blocks in the order of their values.
    fn take_in_order(&mut self, storage: &mut PlanStorage<'_>, codes: &CodeRange) -> Result<()> {
        let allowed = self.allowed_codes(codes);
        if self.left() == 0 || allowed.is_empty() {
            return Ok(());
        }
        let is_filtered = storage.move_last(self.column.column());
        let plan = storage.plan();
        let mut execution = Execution::<O>::unbound(self.live, self.request.strategies);
        execution.observer = std::mem::take(&mut self.observer);
        let all_rows = 0..self.live.segment.row_count();
        execution.bind(self.live, plan, &all_rows)?;
        if is_filtered {
            // The order itself restricts rows to the codes.
            execution.ranges.pop();
        }
        let tests = RowTest::of_all(&execution, plan, self.column.listed_rows_in_all())?;
        let descending = self.column.order().descending;
        // Invariant: `found` has the first matches with the codes before these.
        for index in 0..allowed.len() {
            let index = if descending {
                allowed.len() - 1 - index
            } else {
                index
            };
            self.take_codes(&mut execution, (plan, &tests), allowed[index].clone());
        }
        let (run, observer) = execution.finish();
        self.counters += run.counters;
        self.observer = observer;
        Ok(())
    }

    /// Takes the first matches with codes in a range, none of which was taken before.
    fn take_codes<'a>(
        &mut self,
        execution: &mut Execution<'a, O>,
        (plan, tests): (&Plan<'_>, &[RowTest<'a>]),
        mut codes: CodeRange,
    ) {
        if self.left() == 0 {
            return;
        }
        let by = (self.column, tests);
        // A short leading list takes the least of all.
        if self.request.strategies.ordered_rows && !execution.leads_with_few() {
            let sought = (&codes, self.left());
            if let Some(mut walk) = ValueWalk::new(by, (self.live, plan), sought) {
                self.walks = true;
                codes = walk.run(execution, &codes, (&mut self.found, self.wanted));
            }
        }
        // What the walk left, or everything.
        if self.left() > 0 && !codes.is_empty() {
            self.forms_blocks = true;
            let blocks = ValueBlocks::new(execution, by, (self.left(), self.first_rows()));
            self.found.extend(blocks.run(&codes));
        }
    }

    /// Takes the first matches with codes in a range: one range after another.
    fn take_ranges(&mut self, storage: &mut PlanStorage<'_>, codes: CodeRange) -> Result<()> {
        let all_rows = 0..self.live.segment.row_count();
        let mut rest = codes;
        let mut rows_wanted = self.first_rows();
        // Invariant: `found` has the first matches with codes that are not in `rest`. Each iteration shortens it.
        while self.left() > 0 && !rest.is_empty() {
            let codes = self.column.first_codes(&rest, rows_wanted);
            rest = self.column.without(&rest, &codes);
            rows_wanted = rows_wanted.map(|rows| rows.saturating_mul(4));
            if codes.start() == codes.end() {
                self.take_value(storage, *codes.start(), all_rows.clone())?;
            } else {
                self.take_values(storage, codes)?;
            }
        }
        Ok(())
    }

    fn strategy(&self) -> Strategy {
        match (self.walks, self.forms_blocks) {
            (true, true) => Strategy::RowsThenBlocks,
            (true, false) => Strategy::RowsByValue,
            (false, true) => Strategy::BlocksByValue,
            (false, false) => Strategy::ByValue(self.parts),
        }
    }

    /// The number of matches that are still wanted.
    fn left(&self) -> usize {
        self.wanted - self.found.len()
    }

    /// The number of rows with values in the first range; `None` if all are evaluated at once.
    fn first_rows(&self) -> Option<u64> {
        let expected = self.share * f64::from(self.live.segment.row_count());
        let are_many = expected > FEW_MATCHES;
        // The share is positive if matches are expected. A float that is too large becomes the maximum.
        are_many.then(|| (self.wanted as f64 * MARGIN / self.share) as u64)
    }

    /// Takes the matches with one code, or without a value, among some rows.
    fn take_value(
        &mut self,
        storage: &mut PlanStorage<'_>,
        code: u32,
        rows: Range<u32>,
    ) -> Result<()> {
        if self.left() == 0 || rows.is_empty() || !self.restrict(storage, code..=code)? {
            return Ok(());
        }
        let request = Request {
            order: IdOrder::NewestFirst,
            ..*self.request
        };
        let mut matches = ExecutedMatches::<O>::unbound(self.live, &request, rows);
        matches.observe_with(std::mem::take(&mut self.observer));
        matches.bind(self.live, storage.plan())?;
        // Each iteration takes some matches, or finds that there are no more.
        while self.left() > 0 {
            let left = self.left();
            let run = matches.next_run(left);
            let n = run.len().min(left);
            self.found
                .extend(run.rows()[..n].iter().map(|&row| (code, row)));
            matches.take(n);
            if n == 0 {
                break;
            }
        }
        let (run, observer) = matches.finish();
        self.counters += run.counters;
        self.observer = observer;
        Ok(())
    }

    /// Takes the first matches with codes in a range.
    fn take_values(&mut self, storage: &mut PlanStorage<'_>, codes: CodeRange) -> Result<()> {
        if !self.restrict(storage, codes.clone())? {
            return Ok(());
        }
        let strategies = self.request.strategies;
        let mut execution = Execution::<O>::unbound(self.live, strategies);
        execution.observer = std::mem::take(&mut self.observer);
        execution.bind(
            self.live,
            storage.plan(),
            &(0..self.live.segment.row_count()),
        )?;
        let column = self.column;
        let mut first = FirstKeys::new(self.left(), column.order());
        if !execution.visit_listed(|row| first.push(column.code(row), row)) {
            let mut next = execution.block_at_or_after(0);
            // Invariant: `first` has the first matches of all blocks before `next`.
            while let Some(block) = next {
                let first_code = column.first_code(&column.in_block(block, &codes));
                if strategies.early_stop && !first.takes(first_code) {
                    execution.counters.blocks_skipped += 1;
                } else {
                    execution.load_block(block);
                    execution.evaluate_residual();
                    execution.candidates().for_each(|offset| {
                        let row = Row::of(block, offset);
                        first.push(column.code(row), row);
                    });
                }
                next = execution.block_at_or_after(block + 1);
            }
        }
        self.found.extend(first.sorted());
        let (run, observer) = execution.finish();
        self.counters += run.counters;
        self.observer = observer;
        Ok(())
    }

    /// Restricts the plan to codes. Returns whether the filter allows any of them.
    fn restrict(&mut self, storage: &mut PlanStorage<'_>, codes: CodeRange) -> Result<bool> {
        let codes = self.allowed_codes(&codes);
        if codes.is_empty() {
            return Ok(false);
        }
        self.parts += 1;
        storage.restrict(RangeStep {
            clause: self.column.clause(),
            column: self.column.column(),
            estimate: self.column.estimate(self.live, &codes)?,
            codes,
        });
        Ok(true)
    }

    /// The codes of a range that the filter allows.
    fn allowed_codes(&self, codes: &CodeRange) -> SmallVec<[CodeRange; 2]> {
        let allowed = self.allowed.unwrap_or(std::slice::from_ref(codes));
        let both = allowed.iter().filter_map(|allowed| {
            let (start, end) = (allowed.start(), allowed.end());
            let both = *start.max(codes.start())..=*end.min(codes.end());
            (!both.is_empty()).then_some(both)
        });
        both.collect()
    }
}

#[cfg(test)]
mod tests;
