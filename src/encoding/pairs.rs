//! Pairs of frequent words: which neighbours in titles have a posting of their own, and its key.
//!
//! A phrase of frequent words would be found by reading the title of each of many rows that have
//! all of its words. Where both of two neighbours are frequent, the rows in whose titles they stand
//! next to each other are stored. All such pairs are, so that one that is not found occurs nowhere.

use crate::encoding::posting::PostingId;
use crate::encoding::tokens::TermNumber;
use crate::{Error, Result};

/// A word is frequent if at least one row in this many has it. Checking a phrase whose rarest word has
/// fewer takes at most some ten microseconds a million rows (`benches/queries`, phrase).
const ROWS_PER_FREQUENT_ROW: u32 = 1024;

/// A word of fewer rows is never frequent: reading their titles costs less than another search.
const FREQUENT_ROWS_MIN: u32 = 8;

/// Whether pairs of a word that `rows` of `row_count` rows have are kept.
pub(crate) fn is_frequent(rows: u64, row_count: u32) -> bool {
    rows >= u64::from((row_count / ROWS_PER_FREQUENT_ROW).max(FREQUENT_ROWS_MIN))
}

/// A pair as it is stored: the first word's number in the upper half. Part of the format.
pub(crate) fn key(first: TermNumber, second: TermNumber) -> u64 {
    u64::from(first.0) << 32 | u64::from(second.0)
}

/// The word of a pair that fewer rows have, by its key: numbers go by frequency.
pub(crate) fn rarest(key: u64) -> TermNumber {
    TermNumber(((key >> 32) as u32).max(key as u32))
}

/// A view of the pairs: the one at index `n` has posting `first_posting + n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs<'a> {
    /// Ascending.
    pub(crate) keys: &'a [u64],
    pub(crate) first_posting: u32,
}

impl Pairs<'_> {
    /// The posting of a pair. Cost: a binary search.
    pub(crate) fn find(&self, first: TermNumber, second: TermNumber) -> Option<PostingId> {
        let index = self.keys.binary_search(&key(first, second)).ok()?;
        Some(PostingId(self.first_posting + index as u32))
    }

    /// Checks that the keys ascend and name terms.
    pub(crate) fn validate(&self, terms: usize) -> Result<()> {
        let is_term = |number: u64| number < terms as u64;
        let in_range = |&key: &u64| is_term(key >> 32) && is_term(key & u64::from(u32::MAX));
        if self.keys.is_sorted_by(|a, b| a < b) && self.keys.iter().all(in_range) {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the pairs of words are out of order or of no words",
            ))
        }
    }
}
