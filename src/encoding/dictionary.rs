//! Dictionaries: keys and strings, viewed in place.

use std::ops::Range;

use crate::encoding::hash_index::HashIndex;
use crate::{Error, Result};

/// Keys with a hash index. Those of facets are sorted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dictionary<'a> {
    pub(crate) keys: Strings<'a>,
    pub(crate) index: HashIndex<'a>,
}

impl<'a> Dictionary<'a> {
    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// A key.
    pub(crate) fn get(&self, index: usize) -> &'a str {
        self.keys.get(index)
    }

    /// The index of a key; the first one if it occurs repeatedly.
    pub(crate) fn find(&self, key: &str) -> Option<usize> {
        self.index.find(&self.keys, key.as_bytes())
    }

    /// Calls `visit` with all indices of each of several keys; faster than one by one.
    pub(crate) fn find_each<'k>(
        &self,
        keys: impl Iterator<Item = &'k str>,
        visit: impl FnMut(usize),
    ) {
        self.index
            .find_each(&self.keys, keys.map(str::as_bytes), visit);
    }

    /// The range of indices of a repeated sorted key, given its first index.
    #[inline]
    pub(crate) fn run(&self, first: usize) -> Range<usize> {
        self.keys.run(first)
    }

    /// Checks that each key is UTF-8 and can be found, but not the order.
    pub(crate) fn validate(&self) -> Result<()> {
        self.keys.validate_ends()?;
        self.keys.validate_text()?;
        self.index.validate(&self.keys)
    }

    /// As [`validate`](Self::validate), for sorted keys.
    pub(crate) fn validate_sorted(&self) -> Result<()> {
        self.validate()?;
        self.keys.validate_order()
    }
}

/// Concatenated strings with the end of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strings<'a> {
    ends: &'a [u32],
    bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    /// A view of strings.
    pub(crate) fn new(ends: &'a [u32], bytes: &'a [u8]) -> Strings<'a> {
        Strings { ends, bytes }
    }

    /// The number of strings.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a string; empty if it does not exist or its bounds are invalid.
    #[inline]
    pub(crate) fn bytes(&self, index: usize) -> &'a [u8] {
        self.find(index).unwrap_or_default()
    }

    /// The bytes of a string, if it exists and its bounds are valid.
    #[inline]
    pub(crate) fn find(&self, index: usize) -> Option<&'a [u8]> {
        let end = *self.ends.get(index)?;
        // The string exists, so the one before it does, too.
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start as usize..end as usize)
    }

    /// The indices of the consecutive strings equal to the one at an index, starting there.
    #[inline]
    pub(crate) fn run(&self, first: usize) -> Range<usize> {
        let is_equal = |&index: &usize| self.bytes(index) == self.bytes(first);
        first..first + 1 + (first + 1..self.len()).take_while(is_equal).count()
    }

    /// Whether any string equals its predecessor. Does not panic if the strings have not been validated.
    pub(crate) fn has_repeats(&self) -> bool {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(self.ends).map(|(start, &end)| start..end);
        let texts = ranges.map(|range| self.bytes.get(range.start as usize..range.end as usize));
        texts
            .clone()
            .zip(texts.skip(1))
            // Two strings with invalid bounds would count as equal.
            .any(|(a, b)| a.is_some() && a == b)
    }

    /// The end of a string; 0 if it does not exist.
    pub(crate) fn end(&self, index: usize) -> u32 {
        self.ends.get(index).copied().unwrap_or(0)
    }

    /// A string; empty if it is not UTF-8.
    pub(crate) fn get(&self, index: usize) -> &'a str {
        std::str::from_utf8(self.bytes(index)).unwrap_or_default()
    }

    /// Checks that the ends ascend and are within the bytes.
    pub(crate) fn validate_ends(&self) -> Result<()> {
        let total = self.ends.last().map_or(0, |&end| end as usize);
        if !self.ends.is_sorted() || total != self.bytes.len() {
            return Err(Error::corrupt(
                "the ends of strings are out of order or out of bounds",
            ));
        }
        Ok(())
    }

    /// Checks that every string is UTF-8.
    pub(crate) fn validate_text(&self) -> Result<()> {
        let text = std::str::from_utf8(self.bytes)
            .map_err(|_| Error::corrupt("a dictionary is not UTF-8"))?;
        // The bytes are UTF-8 as a whole, so each string is, if all ends are character boundaries.
        if self
            .ends
            .iter()
            .all(|&end| text.is_char_boundary(end as usize))
        {
            Ok(())
        } else {
            Err(Error::corrupt("a dictionary entry ends within a character"))
        }
    }

    /// Checks that the strings are sorted.
    pub(crate) fn validate_order(&self) -> Result<()> {
        if (1..self.len()).all(|index| self.bytes(index - 1) <= self.bytes(index)) {
            Ok(())
        } else {
            Err(Error::corrupt("a dictionary is out of order"))
        }
    }
}

/// The sections of strings.
#[derive(Debug, Default)]
pub(crate) struct StringSections {
    pub(crate) ends: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
}

impl StringSections {
    /// Adds a string.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        self.end()
    }

    /// Ends a string whose bytes have been appended directly to `bytes`.
    pub(crate) fn end(&mut self) -> Result<()> {
        let end = u32::try_from(self.bytes.len())
            .map_err(|_| Error::full("a segment holds at most 4 GiB of strings of a kind"))?;
        self.ends.push(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
