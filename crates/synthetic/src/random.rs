//! Platform-independent random numbers and distributions.
//!
//! All arithmetic is on integers, including logarithms and powers, because the results of floating-point libraries
//! differ between platforms.

/// Fraction bits of fixed-point numbers in this file.
const FRACTION_BITS: u32 = 32;

/// 1 as a fixed-point number.
const ONE: u64 = 1 << FRACTION_BITS;

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
///
/// It has full period, is fast, and different seeds give independent-looking streams, so each record can have its
/// own stream.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The stream of one record: the `index`-th of its `kind` in the corpus with a seed.
    pub(super) fn of_record(seed: u64, kind: u64, index: u64) -> Random {
        let corpus = mix(seed.wrapping_add(mix(kind)));
        Random {
            state: mix(corpus ^ index.wrapping_mul(GOLDEN_GAMMA)),
        }
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// A uniform number below `bound`, or 0 if `bound` is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// `true` with a probability of `percent`.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A uniformly chosen item.
    ///
    /// # Panics
    ///
    /// Panics where `items` is empty; the lists of this module are constants.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// A randomly chosen item, by weight.
    ///
    /// # Panics
    ///
    /// Panics where `items` is empty; the lists of this module are constants.
    pub(super) fn weighted<T: Copy>(&mut self, items: &[(u64, T)]) -> T {
        let mut left = self.below(items.iter().map(|(weight, _)| weight).sum());
        for (weight, item) in items {
            if left < *weight {
                return *item;
            }
            left -= weight;
        }
        items[items.len() - 1].1
    }

    /// A log-uniform number from `low` to `low` times two to the power of `octaves`.
    pub(super) fn logarithmic(&mut self, low: u64, octaves: u64) -> u64 {
        let power = power_of_two(self.below(octaves << FRACTION_BITS));
        ((u128::from(low) * u128::from(power)) >> FRACTION_BITS) as u64
    }

    /// A rank of at least `first` that exceeds `x` with a probability of about `first / x`.
    ///
    /// Rank r has a share proportional to 1 / r². With such a tail, the number of distinct ranks grows as the square
    /// root of the number of draws, and half of them are drawn once.
    pub(super) fn tail_rank(&mut self, first: u64) -> u64 {
        let divisor = (self.bits() >> (64 - FRACTION_BITS)) + 1;
        (first << FRACTION_BITS) / divisor
    }
}

/// Zipf's law with a flattened head: rank r, counted from 0, has a share proportional to 1 / (r + 1 + `flatness`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    ranks: u64,
    offset: u64,
    lowest_exponent: u64,
    exponent_span: u64,
}

impl Zipf {
    /// The distribution over `ranks` ranks, at least one.
    pub(super) const fn new(ranks: u64, flatness: u64) -> Zipf {
        let offset = 1 + flatness;
        let lowest_exponent = binary_logarithm(offset);
        let exponent_span = binary_logarithm(offset + ranks) - lowest_exponent;
        Zipf {
            ranks,
            offset,
            lowest_exponent,
            exponent_span,
        }
    }

    /// A rank from 0 to `ranks - 1`.
    pub(super) fn sample(&self, random: &mut Random) -> u64 {
        let exponent = self.lowest_exponent + random.below(self.exponent_span);
        let position = power_of_two(exponent) >> FRACTION_BITS;
        position.saturating_sub(self.offset).min(self.ranks - 1)
    }

    /// An item, the first ones most frequently. The distribution must have as many ranks as there are items.
    pub(super) fn pick<T: Copy>(&self, random: &mut Random, items: &[T]) -> T {
        items[self.sample(random) as usize]
    }
}

/// 2^64 divided by the golden ratio: the step of SplitMix64.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The binary logarithm of a positive number, as a fixed-point number rounded down.
///
/// Squaring the mantissa doubles its logarithm, so each squaring yields one bit.
const fn binary_logarithm(number: u64) -> u64 {
    let whole = number.ilog2();
    let mut mantissa = ((number as u128) << 63) >> whole;
    let mut logarithm = whole as u64;
    let mut bit = 0;
    while bit < FRACTION_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let reached_two = mantissa >> 64 == 1;
        if reached_two {
            mantissa >>= 1;
        }
        logarithm = (logarithm << 1) | reached_two as u64;
        bit += 1;
    }
    logarithm
}

/// Two to the power of a fixed-point number below 31, as a fixed-point number.
///
/// Between integer powers, 2^f is approximated by 1 + f (a + (1 - a) f), which is exact at both ends and has an
/// error of at most 0.4 %.
fn power_of_two(exponent: u64) -> u64 {
    /// The slope a of the approximation at f = 0.
    const SLOPE: u64 = (ONE * 6565) / 10_000;
    let fraction = exponent & (ONE - 1);
    let slope = SLOPE + (((ONE - SLOPE) * fraction) >> FRACTION_BITS);
    (ONE + ((slope * fraction) >> FRACTION_BITS)) << (exponent >> FRACTION_BITS)
}

#[cfg(test)]
mod tests;
