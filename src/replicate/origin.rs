//! The file `origin` of a replica's directory: the store it copies, and the object of each file.
//!
//! It distinguishes a copy from an original index, which a replica must never replace, and lets a
//! restarted replica continue without fetching existing files again.

use serde::{Deserialize, Serialize};

use super::publication::{open_seal, seal};
use crate::Result;
use crate::digest::Digest;

pub(super) const ORIGIN: &str = "origin";
const MAGIC: &str = "signaldex-origin";

/// The origin of a directory's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// The digest of the store's address.
    pub(super) store: Digest,
    /// The number of each file with its object.
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
