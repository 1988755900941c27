//! Sums of the amounts of cells, and their extremes: added up in one pass, without listing the amounts.

use super::group_table::NO_CELL;
use super::live::SegmentHandle;
use super::measuring::{SegmentCells, currencies_of, currency_numbers};
use crate::Result;
use crate::aggregate::{AmountFigures, hundredths, rounded_hundredths};
use crate::exec::{GroupColumn, fold_into, read_column};
use crate::query::{AggregateQuery, Facet, GroupBy, Measure};
use crate::signal::Currency;

/// Slots, each of a cell and a currency, above which amounts are listed instead: 48 bytes each.
const SLOTS_MAX: usize = 1 << 18;

/// Slots up to which each thread has sums of its own, which are then added up.
const SPLIT_SLOTS_MAX: usize = 1 << 14;

/// The amounts of cells by currency, added up.
pub(super) struct CellSums {
    /// Ascending, that of amounts without one last.
    currencies: Vec<Option<Currency>>,
    /// Cell by cell, a slot for each currency.
    slots: Vec<SlotSum>,
}

/// The amounts of a slot.
#[derive(Clone, Copy)]
struct SlotSum {
    count: u64,
    /// 2³² amounts below 10¹⁵ hundredths fit several times.
    hundredths: i128,
    min: f64,
    max: f64,
}

impl SlotSum {
    const NONE: SlotSum = SlotSum {
        count: 0,
        hundredths: 0,
        min: f64::INFINITY,
        max: 0.0,
    };

    fn add(&mut self, amount: f64, hundredths: u64) {
        self.count += 1;
        self.hundredths += i128::from(hundredths);
        self.min = self.min.min(amount);
        self.max = self.max.max(amount);
    }

    fn add_all(&mut self, other: &SlotSum) {
        self.count += other.count;
        self.hundredths += other.hundredths;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// Adds the sums of other matches to those of the same slots.
fn add_slots(slots: &mut [SlotSum], others: &[SlotSum]) {
    let sums = slots.iter_mut().zip(others);
    sums.for_each(|(sum, other)| sum.add_all(other));
}

impl CellSums {
    /// Adds up the amounts of matches in `cells` cells; `None` if the query needs quantiles, an amount has more than two
    /// decimals, or there are too many slots.
    ///
    /// # Errors
    /// The amounts or their currencies are damaged.
    ///
    /// Cost: a pass over the amounts of blocks, some reads per match with an amount, and a division per different amount.
    pub(super) fn collect(
        query: &AggregateQuery,
        segments: &[SegmentHandle],
        matches: &[SegmentCells<'_, '_>],
        cells: usize,
    ) -> Result<Option<CellSums>> {
        let has_quantiles = [Measure::Median, Measure::P25, Measure::P75]
            .into_iter()
            .any(|measure| query.has(measure));
        let currencies = currencies_of(segments);
        if has_quantiles || cells * currencies.len() > SLOTS_MAX {
            return Ok(None);
        }
        let mut sums = CellSums {
            slots: vec![SlotSum::NONE; cells * currencies.len()],
            currencies,
        };
        for (handle, matched) in segments.iter().zip(matches) {
            if !sums.add_segment(handle, matched, cells)? {
                return Ok(None);
            }
        }
        Ok(Some(sums))
    }

    /// Adds the matches of a segment. Returns whether all its amounts are of hundredths.
    fn add_segment(
        &mut self,
        handle: &SegmentHandle,
        matched: &SegmentCells<'_, '_>,
        cells: usize,
    ) -> Result<bool> {
        let segment = &*handle.segment;
        let (column, amounts) = (segment.amount_column()?.column, segment.amounts()?);
        // Negative zero is zero.
        let decimals = amounts.iter().map(|amount| hundredths(amount + 0.0));
        let Some(decimals) = decimals.collect::<Option<Vec<u64>>>() else {
            return Ok(false);
        };
        let currency = GroupColumn::of(segment, GroupBy::Facet(Facet::FundingCurrency))?;
        let labels = segment.facet_labels(Facet::FundingCurrency);
        let currencies = currency_numbers(labels, &self.currencies);
        let n = self.currencies.len();
        let add = |slots: &mut Vec<SlotSum>, part| {
            let (mut codes, mut of_currency) = Default::default();
            let mut buffers = [Vec::new(), Vec::new()];
            let matches = matched.matched.part(part);
            matches.for_each_with_value(column, |block, offsets| {
                read_column(column, block, offsets, &mut codes);
                currency.read(block, offsets, &mut of_currency);
                let mut values = codes.iter().zip(&of_currency);
                let add = |combination| {
                    let Some((&code, &currency)) = values.next() else {
                        return;
                    };
                    let cell = matched.cells.get(combination).unwrap_or(NO_CELL);
                    let slot = cell.min(cells as u32 - 1) as usize * n
                        + currencies[currency as usize] as usize;
                    let index = code as usize - 1;
                    slots[slot].add(amounts[index] + 0.0, decimals[index]);
                };
                matched.columns.for_each(block, offsets, &mut buffers, add);
            });
            Ok(())
        };
        let len = self.slots.len();
        // As for counters: adding up many slots of each thread would take longer than it saves.
        fold_into(
            matched.executor.filter(|_| len <= SPLIT_SLOTS_MAX),
            matched.matched.len(),
            &mut self.slots,
            || vec![SlotSum::NONE; len],
            add,
            |slots, others| add_slots(slots, &others),
        )?;
        Ok(true)
    }

    /// The figures of a cell, by currency.
    pub(super) fn of_cell(&self, query: &AggregateQuery, cell: usize) -> Vec<AmountFigures> {
        let n = self.currencies.len();
        self.figures(query, &self.slots[cell * n..(cell + 1) * n])
    }

    /// The figures of all cells.
    pub(super) fn of_all(&self, query: &AggregateQuery) -> Vec<AmountFigures> {
        let mut all = vec![SlotSum::NONE; self.currencies.len()];
        for cell in self.slots.chunks(self.currencies.len()) {
            add_slots(&mut all, cell);
        }
        self.figures(query, &all)
    }

    /// The sum of a cell in its last currency with amounts.
    pub(super) fn sum_of_cell(&self, cell: usize) -> Option<f64> {
        let n = self.currencies.len();
        let slots = &self.slots[cell * n..(cell + 1) * n];
        let last = slots.iter().rev().find(|slot| slot.count > 0);
        last.map(|slot| rounded_hundredths(slot.hundredths))
    }

    fn figures(&self, query: &AggregateQuery, slots: &[SlotSum]) -> Vec<AmountFigures> {
        let has_amounts = |slot: &SlotSum| slot.count > 0;
        let [has_sum, has_min, has_max] =
            [Measure::Sum, Measure::Min, Measure::Max].map(|measure| query.has(measure));
        // There may be many cells, most of them of one currency: a vector that grows would take four times the memory.
        let len = slots.iter().filter(|slot| has_amounts(slot)).count();
        let mut figures = Vec::with_capacity(len);
        let with_amounts = self.currencies.iter().zip(slots);
        for (&currency, slot) in with_amounts.filter(|(_, slot)| has_amounts(slot)) {
            figures.push(AmountFigures {
                currency,
                count: slot.count,
                sum: has_sum.then(|| rounded_hundredths(slot.hundredths)),
                min: has_min.then_some(slot.min),
                max: has_max.then_some(slot.max),
                ..AmountFigures::default()
            });
        }
        figures
    }
}
