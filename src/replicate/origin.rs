//! The file `origin` of a replica's directory: which store it copies, and which object each file is.
//!
//! It tells a copy from an index of its own, which a replica must never replace, and it lets a
//! replica that starts again go on without fetching what it has.

use serde::{Deserialize, Serialize};

use super::publication::{open_seal, seal};
use crate::Result;
use crate::digest::Digest;

pub(super) const ORIGIN: &str = "origin";
const MAGIC: &str = "signaldex-origin";

/// Where a directory's files come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// Of the store's address.
    pub(super) store: Digest,
    /// The number of each file and the object that it is.
    pub(super) files: Vec<(u64, Digest)>,
}

impl Origin {
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        seal(MAGIC, self)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Origin> {
        open_seal(MAGIC, bytes)
    }
}
