//! Token streams: the terms of each title (or company name) in order, for checking phrases.
//!
//! Terms are stored as numbers in LEB128: seven bits per byte, the last byte without the high bit. Frequent terms
//! have small numbers, so common terms take one byte and a title about 14. A phrase is a sequence of bytes, which
//! is found at term boundaries of a stream without decoding.
//!
//! The primary forms come first. Alternates follow, by which a word alone is found: they are marked by a bit that the
//! numbers of a phrase do not have.

use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::varint;
use crate::{Error, Result};

/// The number of a term in its field: 0 for the most frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TermNumber(pub(crate) u32);

/// The bit of an alternate in a stream. No dictionary has room for the keys of 2³¹ terms, so no number needs it.
pub(crate) const ALTERNATE: u32 = 1 << 31;

/// A number in a stream, or of a term under construction, as the number without the [`ALTERNATE`] bit and that bit.
pub(crate) fn split(number: u32) -> (u32, u32) {
    (number & !ALTERNATE, number & ALTERNATE)
}

/// Appends a term to a stream.
pub(crate) fn push(stream: &mut Vec<u8>, term: TermNumber) {
    varint::push(stream, term.0.into());
}

/// The terms of a stream, in order.
///
/// # Errors
/// Corrupt, if a number has more than 32 bits or the stream ends within one.
pub(crate) fn decode(mut stream: &[u8]) -> impl Iterator<Item = Result<TermNumber>> {
    std::iter::from_fn(move || {
        let (&first, rest) = stream.split_first()?;
        stream = rest;
        // Frequent terms have small numbers, so most take one byte.
        if first < 0x80 {
            return Some(Ok(TermNumber(first.into())));
        }
        let term = decode_long(first, &mut stream);
        Some(term.ok_or_else(|| Error::corrupt("a token stream is malformed")))
    })
}

/// Decodes a term after its first byte; `None` if it is malformed.
fn decode_long(first: u8, stream: &mut &[u8]) -> Option<TermNumber> {
    let mut number = u32::from(first & 0x7F);
    // At most five bytes: 32 bits, seven at a time.
    for shift in [7, 14, 21, 28] {
        let (&byte, rest) = stream.split_first()?;
        *stream = rest;
        let bits = u32::from(byte & 0x7F);
        // The fifth byte can hold only four bits.
        if shift == 28 && byte > 0xF {
            return None;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Some(TermNumber(number));
        }
    }
    None
}

/// A view of the concatenated token streams of a field, with the end of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenStreams<'a> {
    pub(crate) ends: FrameOfReference<'a>,
    pub(crate) bytes: &'a [u8],
}

impl<'a> TokenStreams<'a> {
    /// The stream of a text.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &'a [u8] {
        let (start, end) = self.ends.span(index);
        &self.bytes[start as usize..end as usize]
    }

    /// Checks that the ends ascend and are within the bytes, so that no access can fail.
    pub(crate) fn validate(&self) -> Result<()> {
        self.ends.validate()?;
        let last = self.ends.last().unwrap_or(0);
        if self.ends.iter().is_sorted() && last == self.bytes.len() as u64 {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the ends of token streams are out of order or out of bounds",
            ))
        }
    }
}

/// A phrase in the encoding of streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedPhrase(Vec<u8>);

impl EncodedPhrase {
    /// Encodes a phrase of at least one term.
    pub(crate) fn new(terms: impl IntoIterator<Item = TermNumber>) -> EncodedPhrase {
        let mut bytes = Vec::new();
        terms.into_iter().for_each(|term| push(&mut bytes, term));
        EncodedPhrase(bytes)
    }

    /// Whether the phrase occurs in the stream at an index. Cost: a scan of its few bytes.
    pub(crate) fn occurs(&self, streams: &TokenStreams<'_>, index: usize) -> bool {
        let stream = streams.get(index);
        let length = self.0.len();
        if stream.len() < length {
            return false;
        }
        (0..=stream.len() - length).any(|start| {
            // Most starts fail at the first byte, which is cheaper to compare than all.
            stream[start] == self.0[0]
                && stream[start..start + length] == self.0[..]
                // The byte before must be the last one of a term, or the match would start within a
                // term.
                && (start == 0 || stream[start - 1] < 0x80)
        })
    }
}

#[cfg(test)]
mod tests;
