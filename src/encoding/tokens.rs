//! Token streams: the terms of each title (or company name) in order, for checking phrases.
//!
//! A term is written as its number in LEB128, seven bits a byte, the last byte without the high
//! bit. Numbers go by frequency, so common terms take one byte and a title about 14. A phrase is
//! then a run of bytes: it occurs where its own encoding occurs after the end of a term, without
//! decoding anything.

use crate::encoding::frame_of_reference::FrameOfReference;
use crate::{Error, Result};

/// The number of a term in its field: 0 for the most frequent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TermNumber(pub(crate) u32);

/// Appends a term to a stream.
pub(crate) fn push(stream: &mut Vec<u8>, term: TermNumber) {
    let mut rest = term.0;
    while rest >= 0x80 {
        stream.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    stream.push(rest as u8);
}

/// A view of the token streams of a field, one after the other, with the end of each.
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

    /// Checks that the ends ascend and stay within the bytes, so that no view can fail.
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

/// A phrase as it stands in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedPhrase(Vec<u8>);

impl EncodedPhrase {
    /// Encodes a phrase of at least one term.
    pub(crate) fn new(terms: impl IntoIterator<Item = TermNumber>) -> EncodedPhrase {
        let mut bytes = Vec::new();
        terms.into_iter().for_each(|term| push(&mut bytes, term));
        EncodedPhrase(bytes)
    }

    /// Whether the phrase occurs in the stream of `index`. Cost: a scan of its few bytes.
    pub(crate) fn occurs(&self, streams: &TokenStreams<'_>, index: usize) -> bool {
        let stream = streams.get(index);
        let length = self.0.len();
        if stream.len() < length {
            return false;
        }
        (0..=stream.len() - length).any(|start| {
            stream[start] == self.0[0]
                && stream[start..start + length] == self.0[..]
                && (start == 0 || stream[start - 1] < 0x80)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoding::frame_of_reference::FrameOfReferenceSections;

    /// The terms of a stream, or `None` where it ends within a term or a term does not fit.
    fn decode(stream: &[u8]) -> Option<Vec<TermNumber>> {
        let mut terms = Vec::new();
        let (mut number, mut shift) = (0_u64, 0);
        for &byte in stream {
            number |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                terms.push(TermNumber(u32::try_from(number).ok()?));
                (number, shift) = (0, 0);
            } else if shift > 28 {
                return None;
            }
        }
        (shift == 0).then_some(terms)
    }

    proptest! {
        #[test]
        fn a_phrase_occurs_where_its_terms_stand_in_a_row(
            text in prop::collection::vec(prop_oneof![0_u32..4, 126..130_u32, 16_380..16_390_u32, any::<u32>()], 0..12),
            start in 0_usize..12,
            length in 1_usize..4,
            changed in any::<bool>(),
        ) {
            let mut phrase: Vec<u32> = text.iter().copied().skip(start).take(length).collect();
            if changed || phrase.is_empty() {
                phrase.push(127);
            }
            let mut bytes = Vec::new();
            text.iter().for_each(|&term| push(&mut bytes, TermNumber(term)));
            let ends = FrameOfReferenceSections::of([bytes.len() as u64]);
            let streams = TokenStreams { ends: ends.view(1), bytes: &bytes };
            let encoded = EncodedPhrase::new(phrase.iter().map(|&term| TermNumber(term)));
            let expected = text.windows(phrase.len()).any(|window| window == phrase);
            prop_assert_eq!(encoded.occurs(&streams, 0), expected);
            let decoded = decode(streams.get(0)).unwrap();
            prop_assert_eq!(decoded.into_iter().map(|term| term.0).collect::<Vec<_>>(), text);
        }
    }

    #[test]
    fn validation_finds_what_is_broken() {
        let is_valid = |ends: &[u64], bytes: &[u8]| {
            let ends = FrameOfReferenceSections::of(ends.iter().copied());
            let ends = ends.view(3);
            TokenStreams { ends, bytes }.validate().is_ok()
        };
        assert!(is_valid(&[1, 1, 3], &[0; 3]));
        assert!(!is_valid(&[2, 1, 3], &[0; 3]));
        assert!(!is_valid(&[1, 1, 3], &[0; 2]));
        assert!(!is_valid(&[1, 1, 3], &[0; 4]));
    }

    #[test]
    fn malformed_streams_do_not_decode() {
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xFF; 6]), None);
        assert_eq!(decode(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F]), None);
    }
}
