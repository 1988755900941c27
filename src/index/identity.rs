//! The identity of an index: random bytes, chosen when it is built.
//!
//! Commits, merges, compactions and replicas keep it. A rebuilt index gets a new one, so readers never confuse
//! the two, even if their generations are equal.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::hex_number::HexNumber;
use crate::digest::Digest;
use crate::query::Fingerprint;
use crate::{Error, Result};

/// The identity of an index: 128 random bits.
///
/// Two indexes have different identities even if they were built from the same records; copies of a directory
/// have the same. The text form is 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IndexId(pub(super) HexNumber);

impl IndexId {
    /// The identity of a directory without an index.
    pub(super) const NONE: IndexId = IndexId::from_bytes([0; 16]);

    /// Creates a random identity.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub(super) fn random() -> Result<IndexId> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            Error::io("get random bytes for the index's identity", error.into())
        })?;
        Ok(IndexId::from_bytes(bytes))
    }

    /// The bytes.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// The identity with these bytes.
    /// The identity of what a key with a filter sees.
    pub(super) fn within(self, filter: Fingerprint) -> IndexId {
        let digest = Digest::of(&[self.to_bytes(), *filter.as_bytes()].concat());
        let (bytes, _) = digest.bytes().split_first_chunk().expect("it is longer");
        IndexId::from_bytes(*bytes)
    }

    pub(super) const fn from_bytes(bytes: [u8; 16]) -> IndexId {
        IndexId(HexNumber::from_bytes(bytes))
    }
}

impl fmt::Display for IndexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for IndexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
