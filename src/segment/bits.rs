//! Operations on the bitset of a block.
//!
//! The loops are plain; `multiversion` compiles each for the vector instructions of several
//! generations of processors and picks at run time, since nobody builds for their own processor.

use multiversion::multiversion;

use super::row::BlockBits;

/// Whether a row is set.
pub(crate) fn test(bits: &BlockBits, offset: u16) -> bool {
    bits[usize::from(offset / 64)] >> (offset % 64) & 1 == 1
}

/// Sets a row.
pub(crate) fn set(bits: &mut BlockBits, offset: u16) {
    bits[usize::from(offset / 64)] |= 1 << (offset % 64);
}

/// Clears a row.
pub(crate) fn clear(bits: &mut BlockBits, offset: u16) {
    bits[usize::from(offset / 64)] &= !(1 << (offset % 64));
}

/// The rows that are set in some words of a block, ascending.
pub(crate) fn ones(first_word: usize, words: &[u64]) -> impl Iterator<Item = u16> + '_ {
    let places = first_word..;
    places.zip(words).flat_map(|(place, &word)| WordOnes {
        word,
        base: place as u16 * 64,
    })
}

/// Lists the rows that are set in some words of a block, ascending, behind what the list has. Cost:
/// half that of asking [`ones`] for each.
pub(crate) fn list(first_word: usize, words: &[u64], offsets: &mut Vec<u16>) {
    offsets.reserve(count(words) as usize);
    for (place, &word) in (first_word..).zip(words) {
        let ones = WordOnes {
            word,
            base: place as u16 * 64,
        };
        ones.for_each(|offset| offsets.push(offset));
    }
}

/// The bits of one word, lowest first.
struct WordOnes {
    word: u64,
    base: u16,
}

impl Iterator for WordOnes {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.word == 0 {
            return None;
        }
        let offset = self.base + self.word.trailing_zeros() as u16;
        self.word &= self.word - 1;
        Some(offset)
    }
}

/// The number of rows that are set.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
pub(crate) fn count(bits: &[u64]) -> u32 {
    bits.iter().map(|word| word.count_ones()).sum()
}

/// Keeps the rows that are in both.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn intersect(bits: &mut [u64], other: &[u64]) {
    for (word, other) in bits.iter_mut().zip(other) {
        *word &= other;
    }
}

/// Adds the rows of the other.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn unite(bits: &mut [u64], other: &[u64]) {
    for (word, other) in bits.iter_mut().zip(other) {
        *word |= other;
    }
}

/// Removes the rows of the other.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn subtract(bits: &mut [u64], other: &[u64]) {
    for (word, other) in bits.iter_mut().zip(other) {
        *word &= !other;
    }
}

/// The number of rows that are in both, without changing either.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
pub(crate) fn count_both(bits: &[u64], other: &[u64]) -> u32 {
    bits.iter()
        .zip(other)
        .map(|(word, other)| (word & other).count_ones())
        .sum()
}
