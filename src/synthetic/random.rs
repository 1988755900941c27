//! Chance that is the same everywhere: a small generator and the distributions drawn from it.
//!
//! Nothing here touches the mathematics library of the platform, whose last digits differ from
//! one to the next: all of it is integer arithmetic, logarithms and powers included.

/// Fraction bits of fixed-point numbers in this file.
const FRACTION_BITS: u32 = 32;

/// 1 as a fixed-point number.
const ONE: u64 = 1 << FRACTION_BITS;

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
///
/// It passes through every 64-bit state once, is fast, and any two seeds give streams that look
/// unrelated, so that each record can have a stream of its own.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// The stream of one record: the `index`-th of its `kind` in the corpus of that seed.
    pub(super) fn of_record(seed: u64, kind: u64, index: u64) -> Random {
        let corpus = mix(seed.wrapping_add(mix(kind)));
        Random {
            state: mix(corpus ^ index.wrapping_mul(GOLDEN_GAMMA)),
        }
    }

    /// Any 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// A number below `bound`, or 0 where `bound` is 0; each as likely as the others.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// Whether something that happens `percent` times in a hundred happens now.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, each as likely as the others.
    ///
    /// # Panics
    ///
    /// Panics where `items` is empty; the lists of this module are constants.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// One of `items`, as likely as its weight says.
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

    /// `low` times a power of two from 0 to `octaves`: every octave as likely as the others.
    pub(super) fn logarithmic(&mut self, low: u64, octaves: u64) -> u64 {
        let power = power_of_two(self.below(octaves << FRACTION_BITS));
        ((u128::from(low) * u128::from(power)) >> FRACTION_BITS) as u64
    }

    /// A rank from `first` on that is beyond `x` in about `first / x` of the cases.
    ///
    /// Rank r then has a share proportional to 1 / r². With such a tail the number of distinct
    /// ranks grows as the square root of the number drawn, and half of them are drawn once.
    pub(super) fn tail_rank(&mut self, first: u64) -> u64 {
        let divisor = (self.bits() >> (64 - FRACTION_BITS)) + 1;
        (first << FRACTION_BITS) / divisor
    }
}

/// Zipf's law with a flattened head: rank r, from 0 on, has a share proportional to
/// 1 / (r + 1 + `flatness`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    ranks: u64,
    offset: u64,
    lowest_exponent: u64,
    exponent_span: u64,
}

impl Zipf {
    /// The law over `ranks` ranks, at least one.
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

    /// One of `items`, the first ones most often; the law has to be over as many ranks.
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
/// Squaring the mantissa doubles its logarithm, so each squaring brings one bit to light.
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
/// Between whole powers 2^f is taken as 1 + f (a + (1 - a) f), which meets it at both ends and is
/// never off by more than 0.4 %.
fn power_of_two(exponent: u64) -> u64 {
    /// The slope a of the approximation at f = 0.
    const SLOPE: u64 = (ONE * 6565) / 10_000;
    let fraction = exponent & (ONE - 1);
    let slope = SLOPE + (((ONE - SLOPE) * fraction) >> FRACTION_BITS);
    (ONE + ((slope * fraction) >> FRACTION_BITS)) << (exponent >> FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_published_generator() {
        let mut random = Random { state: 1_234_567 };
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.bits(), random.bits()], published);
    }

    #[test]
    fn logarithms_and_powers_agree_with_floating_point() {
        for number in [
            1_u64,
            2,
            3,
            10,
            1000,
            65_537,
            5_000_021,
            u64::from(u32::MAX),
        ] {
            let logarithm = binary_logarithm(number) as f64 / ONE as f64;
            assert!(
                (logarithm - (number as f64).log2()).abs() < 1e-8,
                "{number}: {logarithm}"
            );
        }
        for step in 0..=300 {
            let exponent = step as f64 / 10.0;
            let power = power_of_two((exponent * ONE as f64) as u64) as f64 / ONE as f64;
            assert!(
                (power / exponent.exp2() - 1.0).abs() < 0.004,
                "{exponent}: {power}"
            );
        }
    }

    #[test]
    fn zipf_stays_within_its_ranks_and_halves_from_one_to_two() {
        for (ranks, flatness) in [(1, 0), (1, 40), (2, 0), (80, 0), (5_000_000, 20)] {
            let zipf = Zipf::new(ranks, flatness);
            let mut random = Random::of_record(1, 2, ranks);
            assert!(
                (0..20_000).all(|_| zipf.sample(&mut random) < ranks),
                "{ranks} {flatness}"
            );
        }
        let zipf = Zipf::new(1000, 0);
        let mut random = Random::of_record(1, 2, 3);
        let mut drawn = [0_u32; 1000];
        (0..200_000).for_each(|_| drawn[zipf.sample(&mut random) as usize] += 1);
        let ratio = f64::from(drawn[0]) / f64::from(drawn[1]);
        assert!((1.5..2.0).contains(&ratio), "{ratio}");
        assert!(drawn.iter().all(|&count| count > 0));
    }

    #[test]
    fn weights_are_kept() {
        let mut random = Random::of_record(7, 7, 7);
        let items = [(1, 'a'), (0, 'b'), (3, 'c')];
        let drawn: Vec<char> = (0..10_000).map(|_| random.weighted(&items)).collect();
        let count = |wanted| drawn.iter().filter(|&&item| item == wanted).count();
        assert!((2300..2700).contains(&count('a')));
        assert_eq!(count('b'), 0);
    }

    #[test]
    fn half_of_the_tail_ranks_are_drawn_once() {
        let mut random = Random::of_record(3, 1, 4);
        let mut ranks: Vec<u64> = (0..200_000).map(|_| random.tail_rank(100)).collect();
        ranks.sort_unstable();
        let groups: Vec<usize> = ranks.chunk_by(|a, b| a == b).map(<[u64]>::len).collect();
        let once = groups.iter().filter(|&&length| length == 1).count();
        let share = once as f64 / groups.len() as f64;
        assert!((0.45..0.55).contains(&share), "{share}");
    }
}
