//! The order of words by letters: words are numbered by frequency, so those with a common beginning are found
//! through a sorted list of all numbers.

use crate::encoding::dictionary::Strings;
use crate::encoding::tokens::TermNumber;
use crate::{Error, Result};

/// A view of the numbers of all words, sorted by the words' bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordOrder<'a>(pub(crate) &'a [u32]);

impl<'a> WordOrder<'a> {
    /// The words that begin with a prefix. Cost: two binary searches.
    pub(crate) fn beginning_with(
        self,
        words: &Strings<'_>,
        prefix: &str,
    ) -> impl ExactSizeIterator<Item = TermNumber> + use<'a> {
        let bytes = |number: &u32| words.bytes(*number as usize);
        let prefix = prefix.as_bytes();
        let start = self.0.partition_point(|number| bytes(number) < prefix);
        let rest = &self.0[start..];
        let end = rest.partition_point(|number| bytes(number).starts_with(prefix));
        rest[..end].iter().map(|&number| TermNumber(number))
    }

    /// Checks that every number is that of a word, which reading relies on.
    pub(crate) fn validate(self, words: usize) -> Result<()> {
        if self.0.iter().all(|&number| (number as usize) < words) {
            Ok(())
        } else {
            Err(Error::corrupt("the order of words has a number of no word"))
        }
    }

    /// Checks that the words ascend. There are as many numbers as words, so each then occurs once.
    pub(crate) fn validate_order(self, words: &Strings<'_>) -> Result<()> {
        let bytes = |number: u32| words.bytes(number as usize);
        if self.0.is_sorted_by(|&a, &b| bytes(a) < bytes(b)) {
            Ok(())
        } else {
            Err(Error::corrupt("the words are not in the order of letters"))
        }
    }
}

#[cfg(test)]
mod tests;
