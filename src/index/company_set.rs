//! Sets of the companies of a snapshot: a bit for each.

use std::ops::RangeInclusive;

use crate::encoding::column::Column;
use crate::encoding::row::Row;

/// A set of companies, by their numbers in the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CompanySet {
    words: Vec<u64>,
    /// The number of companies of the snapshot; the bits after them are zero.
    len: u32,
}

impl CompanySet {
    /// No company of `len`.
    pub(super) fn none(len: u32) -> CompanySet {
        let words = vec![0; len.div_ceil(u64::BITS) as usize];
        CompanySet { words, len }
    }

    /// All `len` companies.
    pub(super) fn all(len: u32) -> CompanySet {
        let mut set = CompanySet::none(len);
        set.words.fill(u64::MAX);
        let after_last = len % u64::BITS;
        if let Some(last) = set.words.last_mut().filter(|_| after_last > 0) {
            *last = (1 << after_last) - 1;
        }
        set
    }

    /// Adds a company.
    pub(super) fn insert(&mut self, number: u32) {
        self.words[(number / u64::BITS) as usize] |= 1 << (number % u64::BITS);
    }

    /// Whether a company is in the set.
    pub(super) fn contains(&self, number: u32) -> bool {
        self.words[(number / u64::BITS) as usize] >> (number % u64::BITS) & 1 != 0
    }

    /// Keeps the companies that are in another set of the same snapshot.
    pub(super) fn intersect(&mut self, other: &CompanySet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Removes the companies of another set of the same snapshot.
    pub(super) fn subtract(&mut self, other: &CompanySet) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Keeps the companies that pass a test, which may fail.
    pub(super) fn retain<E>(&mut self, test: impl Fn(u32) -> Result<bool, E>) -> Result<(), E> {
        for (word, first) in self.words.iter_mut().zip((0..).step_by(64)) {
            for bit in ones(*word) {
                if !test(first + bit)? {
                    *word &= !(1 << bit);
                }
            }
        }
        Ok(())
    }

    /// Keeps the companies whose code in a column of all companies is within a range.
    pub(super) fn keep_in_range(&mut self, codes: Column<'_>, range: &RangeInclusive<u32>) {
        // A column of companies has the encoding of one of rows.
        codes.keep_in_ranges(Row(0), std::slice::from_ref(range), &mut self.words);
    }

    /// The number of companies in the set.
    pub(super) fn count(&self) -> u64 {
        let counts = self.words.iter().map(|word| u64::from(word.count_ones()));
        counts.sum()
    }

    /// The companies from a number on, ascending.
    pub(super) fn from(&self, start: u32) -> impl Iterator<Item = u32> + '_ {
        let skipped = (start / u64::BITS) as usize;
        let words = self.words.iter().enumerate().skip(skipped);
        words.flat_map(move |(index, &word)| {
            let first = index as u32 * u64::BITS;
            let numbers = ones(word).map(move |bit| first + bit);
            numbers.filter(move |&number| number >= start)
        })
    }

    /// All companies in the set, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.from(0)
    }
}

/// The bits that are set, ascending.
fn ones(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_all_lengths_hold_what_was_put_in() {
        for len in [0, 1, 63, 64, 65, 200] {
            let mut even = CompanySet::all(len);
            let counts: Vec<u32> = (0..len).map(|number| number % 2).collect();
            even.keep_in_range(Column::Four(&counts), &(0..=0));
            let mut third = CompanySet::none(len);
            (0..len).step_by(3).for_each(|number| third.insert(number));
            assert_eq!(even.count(), u64::from(len.div_ceil(2)));
            let mut both = CompanySet::all(len);
            both.intersect(&even);
            both.intersect(&third);
            assert!(both.iter().eq((0..len).step_by(6)));
            both.subtract(&even);
            assert_eq!(both, CompanySet::none(len));
            let mut kept = CompanySet::all(len);
            kept.retain(|number| Ok::<_, ()>(third.contains(number)))
                .expect("no error");
            assert_eq!(kept, third);
            assert!(third.from(4).eq((6..len).step_by(3)));
        }
    }
}
