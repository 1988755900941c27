//! Sums and quantiles of amounts as decimal numbers: exact, and rounded once to the nearest double.
//!
//! An amount is the decimal number that JSON shows for it, the shortest that reads back as the same double. Doubles are
//! added nowhere.

use num_bigint::BigInt;

/// Hundredths below this number are the shortest decimals of their doubles: no two numbers of 15 digits share one.
const HUNDREDTHS_MAX: u64 = 1_000_000_000_000_000;

/// A decimal number: digits and the power of ten that they are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal of an amount, which is finite and not negative.
    fn of(amount: f64) -> Decimal {
        // The standard library writes the shortest digits: `1.25e7`.
        let text = format!("{amount:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, digits)| digits.len());
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        // At most 17 digits, and an exponent of at most three.
        Decimal {
            digits: digits.parse().unwrap_or_default(),
            exponent: exponent.parse::<i32>().unwrap_or_default() - fraction as i32,
        }
    }

    /// The digits if the number is written with a smaller exponent.
    fn digits_at(self, exponent: i32) -> BigInt {
        let zeros = u32::try_from(self.exponent - exponent).unwrap_or_default();
        BigInt::from(self.digits) * BigInt::from(10).pow(zeros)
    }
}

/// The double nearest to a decimal number, ties to even; the greatest double for any number above it.
fn nearest(digits: &impl std::fmt::Display, exponent: i32) -> f64 {
    // Parsing rounds correctly, however many digits there are.
    let parsed = format!("{digits}e{exponent}").parse::<f64>();
    parsed.unwrap_or_default().min(f64::MAX)
}

/// The number of hundredths of an amount if these are its shortest decimal.
pub(crate) fn hundredths(amount: f64) -> Option<u64> {
    // Rounds without a call. At the limit the product and the sum are off by less than a quarter, so the integer is the
    // nearest; above it the conversion saturates.
    let rounded = (amount * 100.0 + 0.5) as u64;
    // Both numbers are exact, so the quotient is the double nearest to the decimal.
    (rounded < HUNDREDTHS_MAX && rounded as f64 / 100.0 == amount).then_some(rounded)
}

/// A sum of amounts, each several times: an integer in hundredths while all amounts are, and digits of any number for
/// the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecimalSum {
    /// 2³² signals of less than 10¹⁵ hundredths fit several times.
    hundredths: i128,
    /// The sum of all other amounts.
    others: Option<Box<(BigInt, i32)>>,
}

impl DecimalSum {
    /// Adds an amount `count` times.
    pub(crate) fn add(&mut self, amount: f64, count: u64) {
        match hundredths(amount) {
            Some(hundredths) => self.hundredths += i128::from(hundredths) * i128::from(count),
            None => self.add_other(Decimal::of(amount), count),
        }
    }

    fn add_other(&mut self, amount: Decimal, count: u64) {
        let empty = || Box::new((BigInt::ZERO, amount.exponent));
        let (digits, exponent) = &mut **self.others.get_or_insert_with(empty);
        if amount.exponent < *exponent {
            let zeros = amount.exponent.abs_diff(*exponent);
            *digits *= BigInt::from(10).pow(zeros);
            *exponent = amount.exponent;
        }
        *digits += amount.digits_at(*exponent) * count;
    }

    /// The sum, rounded once.
    pub(crate) fn rounded(&self) -> f64 {
        let Some((digits, exponent)) = self.others.as_deref() else {
            return rounded_hundredths(self.hundredths);
        };
        let lowest = (*exponent).min(-2);
        let ten = |from: i32| BigInt::from(10).pow(from.abs_diff(lowest));
        let sum = digits * ten(*exponent) + BigInt::from(self.hundredths) * ten(-2);
        nearest(&sum, lowest)
    }
}

/// The double nearest to a number of hundredths.
pub(crate) fn rounded_hundredths(hundredths: i128) -> f64 {
    // Up to 2⁵³ the integer is exact, so that the division rounds once.
    if hundredths <= 1 << f64::MANTISSA_DIGITS {
        // No sum is negative; an integer of 64 bits is converted by one instruction.
        return hundredths as u64 as f64 / 100.0;
    }
    nearest(&hundredths, -2)
}

/// The amount that is `quarters` quarters of the way from one amount to the next, rounded once.
pub(crate) fn between(low: f64, high: f64, quarters: u64) -> f64 {
    if quarters == 0 || low == high {
        return low;
    }
    if let (Some(low), Some(high)) = (hundredths(low), hundredths(high)) {
        // At most 4·10¹⁵ hundredths, which is exact, so that the division rounds once.
        return (low * (4 - quarters) + high * quarters) as f64 / 400.0;
    }
    let (low, high) = (Decimal::of(low), Decimal::of(high));
    let exponent = low.exponent.min(high.exponent);
    let weighted = low.digits_at(exponent) * (4 - quarters) + high.digits_at(exponent) * quarters;
    // A quarter is 25 hundredths.
    nearest(&(weighted * 25), exponent - 2)
}

/// The index of the lower amount of a quartile among `count` ascending amounts, and the quarters from it to the next.
pub(crate) fn quartile(count: u64, quartile: u64) -> (u64, u64) {
    let position = u128::from(quartile) * u128::from(count.saturating_sub(1));
    ((position / 4) as u64, (position % 4) as u64)
}

/// The sum of some amounts by arbitrary precision alone: what [`DecimalSum`] agrees with.
pub(super) fn plain_sum(amounts: &[f64]) -> f64 {
    let decimals: Vec<Decimal> = amounts.iter().map(|&amount| Decimal::of(amount)).collect();
    let lowest = decimals.iter().map(|decimal| decimal.exponent).min();
    let lowest = lowest.unwrap_or_default();
    let sum: BigInt = decimals
        .iter()
        .map(|decimal| decimal.digits_at(lowest))
        .sum();
    nearest(&sum, lowest)
}

/// A quartile of ascending amounts by arbitrary precision alone: what [`between`] agrees with.
pub(super) fn plain_quartile(amounts: &[f64], number: usize) -> f64 {
    let position = number * (amounts.len() - 1);
    let (index, quarters) = (position / 4, position % 4);
    let low = Decimal::of(amounts[index]);
    let high = Decimal::of(amounts[(index + 1).min(amounts.len() - 1)]);
    let exponent = low.exponent.min(high.exponent);
    let weighted = low.digits_at(exponent) * (4 - quarters) + high.digits_at(exponent) * quarters;
    // A quarter is 25 hundredths.
    nearest(&(weighted * 25), exponent - 2)
}

#[cfg(test)]
mod tests;
