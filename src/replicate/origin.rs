//! The file `origin` of a replica's directory: the store it copies, and the object of each file.
//!
//! It distinguishes a copy from an original index, which a replica must never replace, and lets a
//! restarted replica continue without fetching existing files again.

use serde::{Deserialize, Serialize};

use super::publication::{open_seal, seal};
use crate::digest::Digest;
use crate::{Error, Result};

pub(super) const ORIGIN: &str = "origin";
const MAGIC: &str = "signaldex-origin";

/// The origin of a directory's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileOrigins {
    /// The digest of the store's address.
    pub(super) store: Digest,
    /// The number of each file with its object.
    pub(super) files: Vec<(u64, Digest)>,
}

impl FileOrigins {
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        seal(MAGIC, self)
    }

    /// Reads an origin.
    ///
    /// # Errors
    /// As [`open_seal`]; an empty file is foreign, because it does not say whose the directory is.
    pub(super) fn decode(bytes: &[u8]) -> Result<FileOrigins> {
        if bytes.is_empty() {
            return Err(Error::foreign(
                "the file origin is empty, so it does not say what this directory is a copy of; delete \
                 the directory if it is only a copy, which is then fetched again, or give the replica an \
                 empty directory",
            ));
        }
        open_seal(MAGIC, bytes)
    }
}
