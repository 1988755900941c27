//! A published manifest: the objects of a generation.
//!
//! ```text
//! signaldex-manifest 1 <SHA-256 of what follows the line, in hex>
//! {"index":"...","generation":7,"history":{"lastCommit":5,"rememberedCommits":100000},"segments":[{"sha256":"...","length":1234,"table":"...","deleted":{"sha256":"...","length":34}}],"chain":{"newest":"...","recent":["..."],"files":[{"sha256":"...","length":16}]}}
//! ```
//!
//! It is text, so that operators can read it, and it does not depend on the file names of the publisher.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::index::{ChainLine, History, IndexId};
use crate::{Error, Result};

/// The version that this release writes, and the newest version that it reads.
const VERSION: u32 = 1;

/// Maximum bytes of a manifest: enough for about 20,000 segments.
pub(super) const MANIFEST_BYTES_MAX: u64 = 4 << 20;

const MAGIC: &str = "signaldex-manifest";

/// The contents of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Publication {
    /// The identity of the index.
    pub(super) index: IndexId,
    pub(super) generation: u64,
    pub(super) history: History,
    /// Oldest first.
    pub(super) segments: Vec<PublishedSegment>,
    /// The digests of commits.
    pub(super) chain: ChainLine<PublishedFile>,
}

/// A segment with its deletions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedSegment {
    pub(super) sha256: Digest,
    pub(super) length: u64,
    /// The digest of its section table, as in the manifest of a directory.
    pub(super) table: Digest,
    pub(super) deleted: Option<PublishedFile>,
}

/// A file of deletions or of digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedFile {
    pub(super) sha256: Digest,
    pub(super) length: u64,
}

impl Publication {
    /// The bytes of the object.
    ///
    /// # Errors
    /// [`Full`](crate::ErrorKind::Full) if the manifest is longer than a replica accepts.
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let bytes = seal(MAGIC, self)?;
        if bytes.len() as u64 <= MANIFEST_BYTES_MAX {
            Ok(bytes)
        } else {
            Err(Error::full(format!(
                "the manifest has {} bytes; at most {MANIFEST_BYTES_MAX} are allowed: compact the \
                 index",
                bytes.len()
            )))
        }
    }

    /// All objects with their lengths.
    pub(super) fn objects(&self) -> impl Iterator<Item = (Digest, u64)> + '_ {
        let segments = self.segments.iter().flat_map(|segment| {
            let deleted = segment.deleted.as_ref();
            let deleted = deleted.map(|deleted| (deleted.sha256, deleted.length));
            [Some((segment.sha256, segment.length)), deleted]
        });
        let chain = self.chain.files.iter();
        let chain = chain.map(|file| (file.sha256, file.length));
        segments.flatten().chain(chain)
    }

    /// Reads the bytes of an object.
    ///
    /// # Errors
    /// [`Foreign`](crate::ErrorKind::Foreign), `NewerFormat` or `Corrupt`.
    pub(super) fn decode(bytes: &[u8]) -> Result<Publication> {
        open_seal(MAGIC, bytes)
    }
}

/// A value as JSON, after a line with its checksum: how manifests are stored.
///
/// ```
/// use signaldex::replicate::{open_seal, seal};
///
/// let sealed = seal("my-manifest", &[1, 2])?;
/// assert_eq!(open_seal::<Vec<u64>>("my-manifest", &sealed)?, [1, 2]);
/// assert!(open_seal::<Vec<u64>>("other", &sealed).is_err_and(|error| error.kind() == signaldex::ErrorKind::Foreign));
/// # Ok::<(), signaldex::Error>(())
/// ```
///
/// # Errors
/// [`Full`](crate::ErrorKind::Full) if the value cannot be written as JSON.
pub fn seal(magic: &str, value: &impl Serialize) -> Result<Vec<u8>> {
    let body = serde_json::to_vec(value)
        .map_err(|error| Error::full(format!("the manifest cannot be written: {error}")))?;
    let mut bytes = format!("{magic} {VERSION} {}\n", Digest::of(&body)).into_bytes();
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Reads what [`seal`] wrote.
///
/// # Errors
/// [`Foreign`](crate::ErrorKind::Foreign), `NewerFormat` or `Corrupt`.
pub fn open_seal<T: DeserializeOwned>(magic: &str, bytes: &[u8]) -> Result<T> {
    let foreign = || Error::foreign(format!("this is not a {magic}"));
    let rest = bytes.strip_prefix(magic.as_bytes()).ok_or_else(foreign)?;
    let rest = rest.strip_prefix(b" ").ok_or_else(foreign)?;
    let end = rest.iter().position(|&byte| byte == b'\n');
    let (head, body) = match end {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => return Err(Error::corrupt("it ends in the middle of its first line")),
    };
    let head = std::str::from_utf8(head).ok();
    let head = head.and_then(|head| head.split_once(' '));
    let (version, digest) = head.ok_or_else(|| Error::corrupt("its first line is malformed"))?;
    let version: u32 = version
        .parse()
        .map_err(|_| Error::corrupt("its version is not a number"))?;
    if version > VERSION {
        return Err(Error::newer(format!(
            "it has format {version}; this release reads up to {VERSION}"
        )));
    }
    if version == 0 || Digest::parse(digest) != Some(Digest::of(body)) {
        return Err(Error::corrupt("it does not match its checksum"));
    }
    serde_json::from_slice(body)
        .map_err(|error| Error::corrupt(format!("it is malformed: {error}")))
}

#[cfg(test)]
mod tests;
