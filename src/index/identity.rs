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

/// How many bytes the identities of an index and of what its keys see have in common.
const SHARED_BYTES: usize = 8;

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

    /// The identity of what a key with a filter sees. It begins as that of the index does, so that a position of another
    /// filter can be told from one of another index.
    pub(super) fn within(self, filter: Fingerprint) -> IndexId {
        let mut bytes = self.to_bytes();
        let digest = Digest::of(&[bytes, *filter.as_bytes()].concat());
        bytes[SHARED_BYTES..].copy_from_slice(&digest.bytes()[..SHARED_BYTES]);
        IndexId::from_bytes(bytes)
    }

    /// Whether both are of one index, under whatever filters.
    pub(super) fn is_of_index_of(self, other: IndexId) -> bool {
        self.to_bytes()[..SHARED_BYTES] == other.to_bytes()[..SHARED_BYTES]
    }

    /// The identity with these bytes.
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
