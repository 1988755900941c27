//! The column of an order by value: which codes come first, how many rows they have, and which are left after a key.

use std::ops::Range;

use super::live::LiveSegment;
use crate::Result;
use crate::encoding::row::Row;
use crate::encoding::rows_by_code::RowsByCode;
use crate::encoding::zone_map::OrderedColumn;
use crate::plan::{Clause, CodeRange, Estimate, RangeColumn, Statistics};
use crate::query::{SortField, SortKey, SortValue, ValueOrder};
use crate::segment::Segment;

/// The matches that are wanted of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedValues {
    pub(crate) order: ValueOrder,
    /// Only matches after this key are wanted.
    pub(crate) after: Option<SortKey>,
    /// Matches after this key are not wanted.
    pub(crate) until: Option<SortKey>,
    /// The maximum number.
    pub(crate) max: usize,
}

/// A column in an order.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueColumn<'a> {
    order: ValueOrder,
    ordered: &'a OrderedColumn<'a>,
    values: Values<'a>,
    /// The rows of each code, if they are stored.
    rows: Option<RowsByCode<'a>>,
}

/// The sorted values of a column: code `n` means the value at index `n - 1`.
#[derive(Clone, Copy, Debug)]
enum Values<'a> {
    Days(&'a [i32]),
    Amounts(&'a [f64]),
}

/// The rows after a key, in the order of reading.
#[derive(Debug)]
pub(super) struct ValueParts {
    /// The code of the key's value, and the rows of it that are left.
    pub(super) tied: Option<(u32, Range<u32>)>,
    /// The codes of all other values.
    pub(super) codes: CodeRange,
    /// The rows among which those without a value are left; `None` if they are not wanted.
    pub(super) missing: Option<Range<u32>>,
}

impl ValueParts {
    /// Leaves out what a filter's codes, of which there is at least one, exclude.
    pub(super) fn restrict(&mut self, allowed: &[CodeRange]) {
        let (first, last) = (allowed.first(), allowed.last());
        let start = first.map_or(1, |codes| *codes.start());
        let end = last.map_or(0, |codes| *codes.end());
        self.codes = *self.codes.start().max(&start)..=*self.codes.end().min(&end);
        self.missing = None;
    }
}

impl<'a> ValueColumn<'a> {
    pub(super) fn of(segment: &'a Segment, order: ValueOrder) -> Result<ValueColumn<'a>> {
        Ok(match order.field {
            SortField::Date => ValueColumn {
                order,
                ordered: segment.day_column()?,
                values: Values::Days(segment.days()?),
                rows: None,
            },
            SortField::Amount => ValueColumn {
                order,
                ordered: segment.amount_column()?,
                values: Values::Amounts(segment.amounts()?),
                rows: Some(segment.rows_by_amount()?),
            },
        })
    }

    pub(super) fn order(&self) -> ValueOrder {
        self.order
    }

    /// The column for the steps of plans.
    pub(super) fn column(&self) -> RangeColumn {
        match self.order.field {
            SortField::Date => RangeColumn::Date,
            SortField::Amount => RangeColumn::Amount,
        }
    }

    /// The clause by which explanations name a range of codes.
    pub(super) fn clause(&self) -> Clause<'static> {
        match self.order.field {
            SortField::Date => Clause::Dates,
            SortField::Amount => Clause::Amounts(None, None),
        }
    }

    /// The code of a row.
    #[inline(always)]
    pub(super) fn code(&self, row: Row) -> u32 {
        self.ordered.column.get(row)
    }

    /// The value of a code; `None` for that of no value.
    pub(super) fn value(&self, code: u32) -> Option<SortValue> {
        let index = code.checked_sub(1)? as usize;
        match self.values {
            Values::Days(days) => days.get(index).copied().map(SortValue::of_day),
            Values::Amounts(amounts) => amounts.get(index).copied().map(SortValue::of_amount),
        }
    }

    /// The codes of a range that rows of a block can have, by its zone map.
    pub(super) fn in_block(&self, block: u32, codes: &CodeRange) -> CodeRange {
        let zone = self.ordered.blocks[block as usize];
        *codes.start().max(&zone.min)..=*codes.end().min(&zone.max)
    }

    /// The codes of a range without those before the first that a row of a block has, if permutations are stored. A block
    /// with undated rows has code 0, so its zone does not tell its first date.
    pub(super) fn starting_at_first_row(&self, block: u32, codes: CodeRange) -> CodeRange {
        let zone = self.ordered.blocks[block as usize];
        let first = self.first_code(&codes);
        // The ends of a zone are codes of rows.
        if codes.is_empty() || first == zone.min || first == zone.max {
            return codes;
        }
        let Some(offsets) = self.offsets_in(block, &codes) else {
            return codes;
        };
        let (start, end) = (*codes.start(), *codes.end());
        let code = |&offset: &u16| self.code(Row::of(block, offset));
        // A damaged permutation may list rows with other codes.
        if self.order.descending {
            start..=offsets.last().map_or(0, code).min(end)
        } else {
            offsets.first().map_or(u32::MAX, code).max(start)..=end
        }
    }

    /// The first code of a range.
    pub(super) fn first_code(&self, codes: &CodeRange) -> u32 {
        if self.order.descending {
            *codes.end()
        } else {
            *codes.start()
        }
    }

    /// The codes of a range from its first one up to this one.
    pub(super) fn up_to(&self, codes: &CodeRange, last: u32) -> CodeRange {
        if self.order.descending {
            last.max(*codes.start())..=*codes.end()
        } else {
            *codes.start()..=last.min(*codes.end())
        }
    }

    /// The offsets of a block's rows with these codes by ascending code, if permutations are stored.
    pub(super) fn offsets_in(&self, block: u32, codes: &CodeRange) -> Option<&'a [u16]> {
        self.ordered.offsets_in(block, codes)
    }

    /// The span of offsets that contains a block's rows with these codes.
    pub(super) fn span(&self, block: u32, codes: &CodeRange) -> Range<u32> {
        self.ordered.span(block, std::slice::from_ref(codes))
    }

    /// The number of rows with these codes, if rows are stored by code.
    pub(super) fn listed_rows(&self, codes: &CodeRange) -> Option<u64> {
        Some(self.rows?.count(codes))
    }

    /// The number of rows with a value, if rows are stored by code.
    pub(super) fn listed_rows_in_all(&self) -> Option<u64> {
        // A segment has fewer values than rows, so their number fits.
        self.listed_rows(&(1..=self.len() as u32))
    }

    /// The rows with a code, ascending; none if they are not stored by code.
    pub(super) fn listed(&self, code: u32) -> &'a [u32] {
        self.rows.map_or(&[], |rows| rows.rows_of(code))
    }

    /// The rows that are wanted.
    pub(super) fn parts(&self, wanted: &WantedValues, segment: &Segment) -> Result<ValueParts> {
        // A segment has fewer values than rows, so their number fits.
        let (mut start, mut end) = (1, self.len() as u32);
        let (mut tied, mut missing) = (None, 0..segment.row_count());
        if let Some(key) = wanted.after {
            let rows_before = segment.ids()?.count_below(key.id.get()) as u32;
            match key.value {
                None => (end, missing.end) = (0, rows_before),
                Some(value) => {
                    let (smaller, is_value) = self.find(value);
                    tied = is_value.then_some((smaller + 1, 0..rows_before));
                    if self.order.descending {
                        end = smaller;
                    } else {
                        start = smaller + 1 + u32::from(is_value);
                    }
                }
            }
        }
        if let Some(key) = wanted.until {
            match key.value {
                None => missing.start = segment.ids()?.count_below(key.id.get()) as u32,
                Some(value) => {
                    missing = 0..0;
                    let (smaller, is_value) = self.find(value);
                    if self.order.descending {
                        start = start.max(smaller + 1);
                    } else {
                        end = end.min(smaller + u32::from(is_value));
                    }
                }
            }
        }
        Ok(ValueParts {
            tied,
            codes: start..=end,
            missing: Some(missing),
        })
    }

    /// The first codes of a range that have this many rows, or all of them. A code with as many of its own is alone.
    pub(super) fn first_codes(&self, codes: &CodeRange, rows: Option<u64>) -> CodeRange {
        let width = codes.end() - codes.start() + 1;
        let (Some(rows), Some(_)) = (rows, self.ordered.orders) else {
            return codes.clone();
        };
        let first = |n: u32| self.first_of(codes, n);
        let has_enough = |n: u32| self.rows_in(&first(n)) >= rows;
        let mut upper = 1;
        // Invariant: fewer codes than half of `upper` do not have enough rows.
        while upper < width && !has_enough(upper) {
            upper = upper.saturating_mul(2).min(width);
        }
        let (mut low, mut high) = (upper / 2, upper);
        // Invariant: `low` codes do not have enough rows, or are none; `high` codes have, or are all or twice as many.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if has_enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let last = self.first_of(&self.without(codes, &first(high - 1)), 1);
        if high > 1 && self.rows_in(&last) >= rows {
            return first(high - 1);
        }
        first(high)
    }

    /// The codes of a range without its first ones.
    pub(super) fn without(&self, codes: &CodeRange, first: &CodeRange) -> CodeRange {
        if first.is_empty() {
            return codes.clone();
        }
        if self.order.descending {
            *codes.start()..=first.start() - 1
        } else {
            first.end() + 1..=*codes.end()
        }
    }

    /// The estimated number of rows with these codes.
    pub(super) fn estimate(&self, live: LiveSegment<'_>, codes: &[CodeRange]) -> Result<Estimate> {
        if self.ordered.orders.is_none() {
            return live.rows_in_ranges(self.column(), codes);
        }
        let rows = codes.iter().map(|codes| self.rows_in(codes)).sum();
        Ok(Estimate::exact(rows))
    }

    /// The first `n` codes of a range.
    pub(super) fn first_of(&self, codes: &CodeRange, n: u32) -> CodeRange {
        let (start, end) = (*codes.start(), *codes.end());
        if self.order.descending {
            end - n + 1..=end
        } else {
            // No code is the maximum of its type, so the sum fits.
            start..=start + n - 1
        }
    }

    /// The number of rows with these codes, by the permutations of the blocks. Cost: two reads per block.
    fn rows_in(&self, codes: &CodeRange) -> u64 {
        let of_block = |block: usize| {
            let offsets = self.ordered.offsets_in(block as u32, codes);
            offsets.map_or(0, <[u16]>::len) as u64
        };
        (0..self.ordered.blocks.len()).map(of_block).sum()
    }

    fn len(&self) -> usize {
        match self.values {
            Values::Days(days) => days.len(),
            Values::Amounts(amounts) => amounts.len(),
        }
    }

    /// The number of smaller values, and whether this one is among the values.
    fn find(&self, value: SortValue) -> (u32, bool) {
        let smaller = match self.values {
            Values::Days(days) => days.partition_point(|&day| SortValue::of_day(day) < value),
            Values::Amounts(amounts) => {
                amounts.partition_point(|&amount| SortValue::of_amount(amount) < value)
            }
        } as u32;
        (smaller, self.value(smaller + 1) == Some(value))
    }
}
