//! Strings that are shown, not searched: their ends take fewer bytes and more time than those of keys.

use crate::encoding::linear_frames::LinearFrames;
use crate::{Error, Result};

/// Concatenated strings with the end of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramedStrings<'a> {
    pub(crate) ends: LinearFrames<'a>,
    pub(crate) bytes: &'a [u8],
}

impl<'a> FramedStrings<'a> {
    /// A string; empty if it does not exist, its bounds are invalid, or it is not UTF-8.
    pub(crate) fn get(&self, index: usize) -> &'a str {
        std::str::from_utf8(self.bytes_of(index)).unwrap_or_default()
    }

    /// The bytes of a string; empty if it does not exist, or its bounds are invalid.
    pub(crate) fn bytes_of(&self, index: usize) -> &'a [u8] {
        if index >= self.ends.len() {
            return &[];
        }
        let (start, end) = self.ends.span(index);
        let bytes = self.bytes.get(start as usize..end as usize);
        bytes.unwrap_or_default()
    }

    /// Checks that no access can fail.
    pub(crate) fn validate_shape(&self) -> Result<()> {
        self.ends.validate()
    }

    /// Checks that the ends ascend and are within the bytes, and that every string is UTF-8.
    pub(crate) fn validate(&self) -> Result<()> {
        self.validate_shape()?;
        let last = self.ends.iter().last().unwrap_or(0);
        if !self.ends.iter().is_sorted() || last != self.bytes.len() as u64 {
            return Err(Error::corrupt(
                "the ends of labels are out of order or out of bounds",
            ));
        }
        let text =
            std::str::from_utf8(self.bytes).map_err(|_| Error::corrupt("a label is not UTF-8"))?;
        let is_boundary = |end: u64| text.is_char_boundary(end as usize);
        if self.ends.iter().all(is_boundary) {
            Ok(())
        } else {
            Err(Error::corrupt("a label ends within a character"))
        }
    }
}

#[cfg(test)]
mod tests;
