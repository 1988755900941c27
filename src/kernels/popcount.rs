//! Counting the rows that two bitsets share.
//!
//! AVX-512 counts the bits of eight words with one instruction. AVX2 has no such instruction, and the
//! compiler needs twelve for four words. Adding up sixteen vectors with carry-save adders first, so that
//! only one in sixteen is counted, takes seven (Harley and Seal; Mula, Kurz and Lemire, "Faster Population
//! Counts Using AVX2 Instructions", 2018).

use multiversion::multiversion;
use multiversion::target::match_target;

/// Words of an AVX2 vector.
const LANES: usize = 4;

/// Words added up per count: sixteen vectors.
const ROUND_WORDS: usize = 16 * LANES;

type Vector = [u64; LANES];

/// The number of rows in the intersection of two sets.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
pub(crate) fn count_both(bits: &[u64], other: &[u64]) -> u32 {
    match_target! {
        "x86_64+avx2+popcnt+bmi1+bmi2" => count_by_digits(bits, other),
        _ => count_by_word(bits, other),
    }
}

#[inline(always)]
fn count_by_word(bits: &[u64], other: &[u64]) -> u32 {
    let both = bits.iter().zip(other).map(|(word, other)| word & other);
    both.map(u64::count_ones).sum()
}

#[inline(always)]
fn count_by_digits(bits: &[u64], other: &[u64]) -> u32 {
    let (rounds, rest) = bits.as_chunks::<ROUND_WORDS>();
    let (other_rounds, other_rest) = other.as_chunks::<ROUND_WORDS>();
    let mut sixteens: Vector = [0; LANES];
    let mut digits = Digits::default();
    // The bits so far are those of the digits plus sixteen times those counted.
    for (words, others) in rounds.iter().zip(other_rounds) {
        let carried = digits.add_round(words, others);
        for (sixteens, carried) in sixteens.iter_mut().zip(carried) {
            *sixteens += u64::from(carried.count_ones());
        }
    }
    // A block has 65,536 rows, so the cast does not truncate.
    16 * sixteens.iter().sum::<u64>() as u32 + digits.count() + count_by_word(rest, other_rest)
}

/// A number below sixteen per bit position, with one vector per binary digit.
#[derive(Default)]
struct Digits {
    ones: Vector,
    twos: Vector,
    fours: Vector,
    eights: Vector,
}

impl Digits {
    /// Adds sixteen vectors. Returns the carry beyond the eights.
    #[inline(always)]
    fn add_round(&mut self, words: &[u64; ROUND_WORDS], others: &[u64; ROUND_WORDS]) -> Vector {
        let (words, _) = words.as_chunks::<LANES>();
        let (others, _) = others.as_chunks::<LANES>();
        let mut eights = [[0; LANES]; 2];
        // Two of each digit carry into the next.
        for (eighth, eights) in eights.iter_mut().enumerate() {
            let mut fours = [[0; LANES]; 2];
            for (fourth, fours) in fours.iter_mut().enumerate() {
                let mut twos = [[0; LANES]; 2];
                for (pair, twos) in twos.iter_mut().enumerate() {
                    // At most 14: a round has sixteen vectors.
                    let first = 8 * eighth + 4 * fourth + 2 * pair;
                    let [first, second] = [first, first + 1].map(|at| and(words[at], others[at]));
                    *twos = add(&mut self.ones, first, second);
                }
                *fours = add(&mut self.twos, twos[0], twos[1]);
            }
            *eights = add(&mut self.fours, fours[0], fours[1]);
        }
        add(&mut self.eights, eights[0], eights[1])
    }

    fn count(&self) -> u32 {
        let ones = |digit: &Vector| digit.iter().map(|word| word.count_ones()).sum::<u32>();
        8 * ones(&self.eights) + 4 * ones(&self.fours) + 2 * ones(&self.twos) + ones(&self.ones)
    }
}

#[inline(always)]
fn and(a: Vector, b: Vector) -> Vector {
    let mut both = a;
    both.iter_mut().zip(b).for_each(|(a, b)| *a &= b);
    both
}

/// Adds two bits to each bit of a digit. Returns the carry (a carry-save adder).
#[inline(always)]
fn add(digit: &mut Vector, a: Vector, b: Vector) -> Vector {
    let mut carried = [0; LANES];
    for lane in 0..LANES {
        let either = digit[lane] ^ a[lane];
        carried[lane] = digit[lane] & a[lane] | either & b[lane];
        digit[lane] = either ^ b[lane];
    }
    carried
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_count_the_same(
            words in prop::collection::vec(any::<[u64; 2]>(), 0..300),
            full in any::<bool>(),
        ) {
            let side = |side: usize| {
                let words = words.iter().map(|pair| if full { u64::MAX } else { pair[side] });
                words.collect::<Vec<u64>>()
            };
            let (bits, other) = (side(0), side(1));
            let expected = bits.iter().zip(&other).map(|(a, b)| (a & b).count_ones()).sum::<u32>();
            prop_assert_eq!(count_by_digits(&bits, &other), expected);
            prop_assert_eq!(count_both(&bits, &other), expected);
        }
    }
}
