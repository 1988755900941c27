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

/// The key of a pair: the first word's number in the upper half.
pub(crate) fn key(first: TermNumber, second: TermNumber) -> u64 {
    u64::from(first.0) << 32 | u64::from(second.0)
}

/// Encodes ascending keys: in four bytes each if all numbers of words fit into two, else in eight. Part of the format.
pub(crate) fn encode(keys: &[u64]) -> Vec<u32> {
    match keys.iter().copied().map(narrow).collect() {
        Some(narrow) => narrow,
        None => keys
            .iter()
            .flat_map(|&key| [key as u32, (key >> 32) as u32])
            .collect(),
    }
}

/// A key in four bytes, if it fits.
fn narrow(key: u64) -> Option<u32> {
    let [first, second] = [key >> 32, key & u64::from(u32::MAX)].map(u16::try_from);
    Some(u32::from(first.ok()?) << 16 | u32::from(second.ok()?))
}

/// The word of a pair that fewer rows have, by its key: numbers go by frequency.
pub(crate) fn rarest(key: u64) -> TermNumber {
    TermNumber(((key >> 32) as u32).max(key as u32))
}

/// A view of the pairs: the one at index `n` has posting `first_posting + n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs<'a> {
    keys: PairKeys<'a>,
    first_posting: u32,
}

/// Ascending keys.
#[derive(Clone, Copy, Debug)]
enum PairKeys<'a> {
    Narrow(&'a [u32]),
    Wide(&'a [u64]),
}

impl<'a> Pairs<'a> {
    /// A view of a section of `len` pairs; `None` if it is not as long.
    pub(crate) fn new(section: &'a [u32], len: usize, first_posting: u32) -> Option<Pairs<'a>> {
        let keys = if section.len() == len {
            PairKeys::Narrow(section)
        } else {
            let wide: &[u64] = bytemuck::try_cast_slice(section).ok()?;
            PairKeys::Wide((wide.len() == len).then_some(wide)?)
        };
        Some(Pairs {
            keys,
            first_posting,
        })
    }

    /// The posting of a pair. Cost: a binary search.
    pub(crate) fn find(&self, first: TermNumber, second: TermNumber) -> Option<PostingId> {
        let key = key(first, second);
        let index = match self.keys {
            PairKeys::Narrow(keys) => keys.binary_search(&narrow(key)?),
            PairKeys::Wide(keys) => keys.binary_search(&key),
        };
        Some(PostingId(self.first_posting + index.ok()? as u32))
    }

    /// Checks that the keys ascend and name terms.
    pub(crate) fn validate(&self, terms: usize) -> Result<()> {
        let is_term = |number: u64| number < terms as u64;
        let holds = match self.keys {
            PairKeys::Narrow(keys) => {
                let in_range =
                    |&key: &u32| is_term((key >> 16).into()) && is_term((key as u16).into());
                keys.is_sorted_by(|a, b| a < b) && keys.iter().all(in_range)
            }
            PairKeys::Wide(keys) => {
                let in_range =
                    |&key: &u64| is_term(key >> 32) && is_term(key & u64::from(u32::MAX));
                keys.is_sorted_by(|a, b| a < b) && keys.iter().all(in_range)
            }
        };
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the pairs of words are out of order or of no words",
            ))
        }
    }
}

#[cfg(test)]
mod tests;
