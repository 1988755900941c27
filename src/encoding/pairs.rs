//! Pairs of frequent words (bigrams) with postings of their own.
//!
//! Finding a phrase of frequent words would need the titles of many rows that contain all of its words. So if two
//! neighbouring words are both frequent, the rows with this pair are stored. Every such pair is stored, so a
//! missing pair does not occur.

use crate::encoding::posting::PostingId;
use crate::encoding::tokens::TermNumber;
use crate::{Error, Result};

/// A word is frequent if at least one row in this many has it. Checking a phrase with a rarer word takes at most
/// about ten microseconds per million rows (`benches/queries`, phrase).
const ROWS_PER_FREQUENT_ROW: u32 = 1024;

/// A word with fewer rows is never frequent: reading their titles is cheaper than another search.
const FREQUENT_ROWS_MIN: u32 = 8;

/// Whether a word in `rows` of `row_count` rows is frequent.
pub(crate) fn is_frequent(rows: u64, row_count: u32) -> bool {
    rows >= u64::from((row_count / ROWS_PER_FREQUENT_ROW).max(FREQUENT_ROWS_MIN))
}

/// The stored form of a pair: the first word's number in the upper half. Part of the format.
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
