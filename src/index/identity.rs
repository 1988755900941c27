//! The identity of an index: random bytes, chosen when it is built.
//!
//! Commits, merges, compactions and replicas keep it. A rebuilt index gets a new one, so readers never confuse
//! the two, even if their generations are equal.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// The identity of an index: 128 random bits.
///
/// Two indexes have different identities even if they were built from the same records; copies of a directory
/// have the same. The text form is 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndexId(u128);

/// Hexadecimal digits of the text.
const DIGITS: usize = 32;

impl IndexId {
    /// The identity of a directory without an index.
    pub(super) const NONE: IndexId = IndexId(0);

    /// Creates a random identity.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub(super) fn random() -> Result<IndexId> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::io("get random bytes for the index's identity", error.into())
        })?;
        Ok(IndexId(u128::from_le_bytes(bytes)))
    }

    /// The bytes.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// The identity with these bytes.
    pub(super) fn from_bytes(bytes: [u8; 16]) -> IndexId {
        IndexId(u128::from_le_bytes(bytes))
    }

    /// Parses exactly the output of [`Display`](fmt::Display).
    fn parse(text: &str) -> Option<IndexId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = text.len() == DIGITS && text.bytes().all(is_digit);
        is_whole
            .then(|| u128::from_str_radix(text, 16).ok().map(IndexId))
            .flatten()
    }
}

impl fmt::Display for IndexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

impl fmt::Debug for IndexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for IndexId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for IndexId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IndexId, D::Error> {
        if !deserializer.is_human_readable() {
            return Deserialize::deserialize(deserializer).map(IndexId);
        }
        let text = String::deserialize(deserializer)?;
        let malformed = || D::Error::custom("an identity is 32 lower-case hexadecimal digits");
        IndexId::parse(&text).ok_or_else(malformed)
    }
}

#[cfg(test)]
mod tests;
