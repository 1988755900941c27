//! Figures of the amounts of a group, from the bits of amounts in any order.

use super::answer::AmountFigures;
use super::decimal::{DecimalSum, between, quartile};
use crate::query::{AggregateQuery, Measure};
use crate::signal::Currency;

/// The figures of at least one amount in a currency. Amounts are not negative, so their bits compare like them.
///
/// Cost: a few nanoseconds per amount, and a selection per quantile.
pub(crate) fn measured_amounts(
    query: &AggregateQuery,
    currency: Option<Currency>,
    bits: &mut [u64],
) -> AmountFigures {
    let mut figures = AmountFigures {
        currency,
        count: bits.len() as u64,
        ..AmountFigures::default()
    };
    if query.has(Measure::Sum) {
        figures.sum = Some(sum_of_bits(bits));
    }
    if query.has(Measure::Min) {
        figures.min = bits.iter().min().copied().map(f64::from_bits);
    }
    if query.has(Measure::Max) {
        figures.max = bits.iter().max().copied().map(f64::from_bits);
    }
    if query.has(Measure::Median) {
        figures.median = Some(selected(bits, 2));
    }
    if query.has(Measure::P25) {
        figures.p25 = Some(selected(bits, 1));
    }
    if query.has(Measure::P75) {
        figures.p75 = Some(selected(bits, 3));
    }
    figures
}

/// The exact sum of amounts, rounded once.
pub(crate) fn sum_of_bits(bits: &[u64]) -> f64 {
    let mut sum = DecimalSum::default();
    bits.iter()
        .for_each(|&bits| sum.add(f64::from_bits(bits), 1));
    sum.rounded()
}

/// A quartile of amounts, which are reordered.
fn selected(bits: &mut [u64], number: u64) -> f64 {
    let (index, quarters) = quartile(bits.len() as u64, number);
    let (_, low, above) = bits.select_nth_unstable(index as usize);
    let low = *low;
    // All amounts after the selected one are at least as large; the next is the smallest of them.
    let next = if quarters > 0 {
        above.iter().min()
    } else {
        None
    };
    let amount = f64::from_bits;
    between(amount(low), amount(next.copied().unwrap_or(low)), quarters)
}
