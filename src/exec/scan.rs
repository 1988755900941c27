//! Direct scans of a set whose live rows all match: all rows, a posting, or the rows of companies.
//!
//! A page of one word, of one company or of all signals takes a fifth less time than through an execution
//! (`benches/queries`, rare term).

use std::ops::Range;

use super::candidate_rows::CandidateRows;
use super::matches::{MatchRun, MatchRuns};
use super::observer::{Method, Observer, Run, StepKey, Strategy};
use super::operand::rows_of;
use super::output::OutputBuffer;
use super::remaining::Remaining;
use super::row_window::RowWindow;
use super::union::ListUnion;
use crate::Result;
use crate::encoding::posting::{BlockRows, Posting};
use crate::encoding::row::Row;
use crate::kernels::bits;
use crate::plan::{Access, Plan};
use crate::query::IdOrder;
use crate::segment::Segment;

/// Stepping over this many deleted rows takes less time than looking up one row among them.
const WALKED_PER_ROW: usize = 4;

/// A set whose live rows all match.
#[derive(Debug)]
pub(super) enum ScanSource<'a> {
    /// No rows.
    Nothing,
    /// All rows.
    Everything,
    /// The rows of a posting.
    Posting(Posting<'a>),
    /// The rows of companies.
    Companies(ListUnion<'a>),
}

/// The live rows of a set in runs, in either order, starting at any row.
#[derive(Debug)]
pub(super) struct Scan<'a, O> {
    source: ScanSource<'a>,
    /// The segment's deleted rows, if any.
    deleted: Option<Posting<'a>>,
    remaining: Remaining,
    output: OutputBuffer,
    observer: O,
}

impl<'a> ScanSource<'a> {
    /// A scan for the matches of a plan within a range of rows, if the plan allows it.
    ///
    /// # Errors
    /// A set of the plan is damaged.
    #[inline(always)]
    pub(super) fn of(
        plan: &'a Plan<'_>,
        segment: &'a Segment,
        order: IdOrder,
        rows: &Range<u32>,
    ) -> Result<Option<ScanSource<'a>>> {
        if plan.is_everything() {
            return Ok(Some(ScanSource::Everything));
        }
        let Some(step) = plan.only_step() else {
            return Ok(None);
        };
        Ok(match &step.access {
            Access::One(source) => Some(ScanSource::Posting(rows_of(segment, *source)?)),
            Access::Rows(listed) => Some(ScanSource::Posting(Posting::List(listed))),
            Access::Union(_) => match plan.only_companies() {
                None => None,
                Some(companies) => {
                    let by_company = segment.rows_by_company()?;
                    let rows_of = |&company| Row::numbers(by_company.get(company));
                    let lists = companies.iter().map(rows_of).collect();
                    Some(ScanSource::Companies(ListUnion::new(lists, rows, order)))
                }
            },
            Access::OfCompanies(_) | Access::UnionWithRows(_) | Access::AnyPhrase(_) => None,
        })
    }

    /// The bytes that reading some of its rows reads.
    fn bytes_of(&self, rows: &[u32]) -> u64 {
        let listed = size_of_val(rows) as u64;
        match self {
            ScanSource::Nothing | ScanSource::Everything => 0,
            ScanSource::Companies(_) | ScanSource::Posting(Posting::List(_)) => listed,
            // The rows are in reading order: in a bitset, a bit each from the first to the last; in an array, two bytes each.
            ScanSource::Posting(_) => {
                let ends = rows.first().zip(rows.last());
                let span = ends.map_or(0, |(first, last)| u64::from(first.abs_diff(*last)));
                (listed / 2).min(span / 8 + 1)
            }
        }
    }

    fn strategy(&self) -> Strategy {
        match self {
            ScanSource::Nothing => Strategy::NoMatch,
            ScanSource::Everything => Strategy::DirectScan("all rows"),
            ScanSource::Posting(_) => Strategy::DirectScan("one posting"),
            ScanSource::Companies(_) => Strategy::DirectScan("the merged lists of companies"),
        }
    }
}

impl<'a, O: Observer> Scan<'a, O> {
    /// Scans a set's live rows within a range. A source of companies must already have the same order and range.
    #[inline(always)]
    pub(super) fn new(
        source: ScanSource<'a>,
        deleted: Option<Posting<'a>>,
        order: IdOrder,
        rows: Range<u32>,
    ) -> Scan<'a, O> {
        Scan {
            source,
            deleted,
            remaining: Remaining::new(order, rows),
            output: OutputBuffer::new(),
            observer: O::default(),
        }
    }

    /// Reads the next rows of the set, including deleted ones.
    #[inline(always)]
    fn read(&mut self, wanted: usize) {
        self.output.reset(0, wanted);
        match &mut self.source {
            ScanSource::Nothing => {}
            ScanSource::Everything => self.remaining.take(&mut self.output),
            ScanSource::Companies(union) => self.output.extend(union),
            &mut ScanSource::Posting(Posting::List(rows)) => {
                self.remaining.take_listed(rows, &mut self.output);
            }
            &mut ScanSource::Posting(posting) => self.take_from_block(posting, wanted),
        }
    }

    /// Removes deleted rows from those just read. Usually no deleted row lies between the first and the last, which
    /// two searches show if both are in one block.
    #[inline(always)]
    fn drop_deleted(&mut self) {
        let Some(deleted) = self.deleted else { return };
        let ([first, .., last] | [first @ last]) = *self.output.rows() else {
            return;
        };
        // The rows are in reading order, which may descend.
        let (first, last) = (Row(first.min(last)), Row(first.max(last)));
        // The bounds below hold for one block only.
        if first.block() != last.block() {
            return self.output.retain(|row| !deleted.contains(row));
        }
        let offsets = first.offset().into()..u32::from(last.offset()) + 1;
        let (block, order) = (first.block(), self.remaining.order());
        let deleted = deleted.block(block).between(&offsets);
        match deleted {
            // `None`, for a bitset, is less than any number, so bitsets get to the last arm.
            _ if deleted.listed() > Some(WALKED_PER_ROW * self.output.rows().len()) => {
                self.output.retain(|row| !deleted.contains(row.offset()));
            }
            BlockRows::List(rows) => self.output.subtract(rows, 0, order),
            BlockRows::Array(offsets) => {
                let start = Row::of(block, 0).0;
                self.output.subtract(offsets, start, order);
            }
            BlockRows::Bits(bits) => self.output.retain(|row| !bits::test(bits, row.offset())),
        }
    }

    /// Takes rows from the next block of a posting that has some.
    fn take_from_block(&mut self, posting: Posting<'a>, wanted: usize) {
        // Invariant: `remaining` is the range not yet read. Each iteration shortens it.
        while !self.remaining.is_empty() && self.output.rows().is_empty() {
            let block = match self.remaining.order() {
                IdOrder::OldestFirst => posting.next_block(self.remaining.block()),
                IdOrder::NewestFirst => posting.previous_block(self.remaining.block()),
            };
            let Some(block) = block.filter(|&block| self.remaining.has_block(block)) else {
                return self.remaining.clear();
            };
            self.output.reset(block, wanted);
            let offsets = self.remaining.offsets(RowWindow::whole(block));
            let rows = CandidateRows::of_block(posting.block(block));
            rows.collect(&offsets, self.remaining.order(), &mut self.output);
            self.remaining.advance(block, &offsets, &self.output);
        }
    }
}

impl<O: Observer> MatchRuns<O> for Scan<'_, O> {
    #[inline(always)]
    fn next_run(&mut self, wanted: usize) -> MatchRun<'_> {
        // Each iteration reads more rows, or finds that there are none.
        while self.output.rows().is_empty() {
            let started = O::now();
            self.read(wanted);
            let read = self.output.rows().len() as u64;
            let step = StepKey::Required(0);
            self.observer
                .read(|| self.source.bytes_of(self.output.rows()));
            self.observer
                .ran(step, Method::Scan, started, || Some(read));
            if read == 0 {
                break;
            }
            self.drop_deleted();
        }
        MatchRun(self.output.rows())
    }

    #[inline(always)]
    fn take(&mut self, n: usize) {
        self.output.take(n);
    }

    fn finish(&mut self) -> (Run, O) {
        let run = Run::without_visits(self.source.strategy());
        (run, std::mem::take(&mut self.observer))
    }
}
