//! Entropy bounds: the minimum number of bits of symbols and sets.

use std::f64::consts::{LN_2, PI};

use hashbrown::HashMap;

/// The bits that identify a set of `k` out of `n` items: log2 of `n` choose `k`.
pub(crate) fn choice_bits(n: f64, k: f64) -> f64 {
    (ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)) / LN_2
}

/// The natural logarithm of a factorial, by Stirling's series, whose error is below 0.001.
fn ln_factorial(n: f64) -> f64 {
    if n < 1.0 {
        return 0.0;
    }
    n * n.ln() - n + (2.0 * PI * n).ln() / 2.0 + 1.0 / (12.0 * n)
}

/// The bits of symbols: their number times their order-0 entropy.
pub(crate) fn of_symbols(symbols: impl Iterator<Item = u64>) -> f64 {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    let mut total = 0_u64;
    for symbol in symbols {
        *counts.entry(symbol).or_default() += 1;
        total += 1;
    }
    let bits = |count: &u64| *count as f64 * (total as f64 / *count as f64).log2();
    counts.values().map(bits).sum()
}

/// The bits of numbers coded as differences to their predecessors.
pub(crate) fn of_differences(numbers: impl Iterator<Item = u64>) -> f64 {
    let mut before = 0_u64;
    of_symbols(numbers.map(|number| number.wrapping_sub(std::mem::replace(&mut before, number))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_take_the_bits_that_tell_them_apart() {
        // 10 choose 3 is 120, and a single possible set needs no bits.
        assert!((choice_bits(10.0, 3.0) - 120_f64.log2()).abs() < 0.01);
        assert_eq!(choice_bits(7.0, 0.0), 0.0);
        assert!(choice_bits(7.0, 7.0).abs() < 1e-9);
    }

    #[test]
    fn symbols_take_the_bits_of_their_frequencies() {
        assert_eq!(of_symbols([5, 5, 5].into_iter()), 0.0);
        assert_eq!(of_symbols([1, 2, 3, 4].into_iter()), 8.0);
        assert_eq!(of_symbols([1, 1, 2, 3].into_iter()), 6.0);
        assert_eq!(of_differences([3, 6, 9, 12].into_iter()), 0.0);
    }
}
