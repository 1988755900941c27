//! The manifest: the segments of an index state.
//!
//! ```text
//! offset  width  what
//! 0       8      magic "SDXMAN\r\n"
//! 8       2      format version
//! 10      2      zero
//! 12      4      CRC-32C of the rest
//! 16      n      the manifest: bincode, little endian, integers at full width
//! ```

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::chain::{ChainLine, CommitDigest, DIGEST_BYTES};
use super::identity::IndexId;
use crate::digest::Digest;
use crate::error::OTHER_FORMAT_HINT;
use crate::{Error, Result};

/// The version that this release writes, and the newest version that it reads.
const MANIFEST_VERSION: u16 = 1;

/// Maximum bytes of a manifest, including the header: enough for about 10,000 segments, a thousand times as many
/// as merging leaves.
pub(super) const MANIFEST_BYTES_MAX: usize = 1 << 20;

/// The largest generation and file number, so that a writer that continues from a forged one cannot overflow.
const NUMBER_MAX: u64 = u64::MAX / 2;

/// Default number of commits for which deletions are remembered: ten weeks at one commit per minute. A deletion
/// takes 24 bytes.
pub(super) const REMEMBERED_COMMITS: u64 = 100_000;

const MAGIC: &[u8; 8] = b"SDXMAN\r\n";
const HEADER_BYTES: usize = 16;

/// The state of an index directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The identity of the index, which never changes.
    pub(crate) identity: IndexId,
    /// The number of the commit that wrote it.
    pub(crate) generation: u64,
    /// The number of the next new file.
    pub(crate) next_file: u64,
    /// Whether the records of large segments are compressed.
    pub(crate) compresses_records: bool,
    /// The remembered history.
    pub(crate) history: History,
    /// The segments, oldest first.
    pub(crate) segments: Vec<SegmentLine>,
    /// The digests of commits.
    pub(crate) chain: ChainLine,
}

/// The history that the changes feed can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct History {
    /// The last commit. Merges do not count.
    pub(crate) last_commit: u64,
    /// For how many commits deletions are remembered.
    pub(crate) remembered_commits: u64,
}

impl History {
    /// The deletions of this commit and of all later ones are remembered.
    pub(crate) fn remembered_from(self) -> u64 {
        self.last_commit.saturating_sub(self.remembered_commits)
    }

    /// The history after another commit.
    pub(crate) fn next(self) -> History {
        History {
            last_commit: self.last_commit + 1,
            ..self
        }
    }
}

/// A segment in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentLine {
    /// The number in the file's name.
    pub(crate) file: u64,
    /// The length of the file in bytes.
    pub(crate) length: u64,
    /// The digest of its section table, which contains the checksum of every section. It identifies the content of
    /// the segment without reading all of it.
    pub(crate) table: Digest,
    /// The file of its deletions, if any.
    pub(crate) deleted: Option<FileLine>,
}

/// A file of deletions or of digests in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileLine {
    /// The number in the file's name.
    pub(crate) file: u64,
    /// The length of the file in bytes.
    pub(crate) length: u64,
    /// The digest of the file.
    pub(crate) checksum: Digest,
}

impl Manifest {
    /// The manifest of a directory without an index.
    pub(crate) fn empty() -> Manifest {
        Manifest {
            identity: IndexId::NONE,
            generation: 0,
            next_file: 1,
            compresses_records: true,
            history: History {
                last_commit: 0,
                remembered_commits: REMEMBERED_COMMITS,
            },
            segments: Vec::new(),
            chain: ChainLine::of_first(CommitDigest::before_first(IndexId::NONE)),
        }
    }

    /// The file of deletions of a segment.
    pub(crate) fn deleted_line(&self, segment: u64) -> Option<FileLine> {
        self.segments
            .iter()
            .find(|line| line.file == segment)?
            .deleted
            .clone()
    }

    /// A digest of everything that determines results: the identity, the generation, the commits and the content of
    /// all segments and deletions, regardless of the numbers of files. Replicas have the same as their publisher.
    pub(crate) fn revision(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(self.identity.to_bytes());
        hash.update(self.generation.to_le_bytes());
        hash.update(self.chain.newest.to_bytes());
        for line in &self.segments {
            hash.update(line.length.to_le_bytes());
            hash.update(line.table.bytes());
            hash.update([u8::from(line.deleted.is_some())]);
            if let Some(deleted) = &line.deleted {
                hash.update(deleted.checksum.bytes());
            }
        }
        Digest::finish(hash)
    }

    /// The bytes of the file.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let body = bincode::serde::encode_to_vec(self, encoding())
            .map_err(|error| Error::full(format!("the manifest cannot be written: {error}")))?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&MANIFEST_VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// Reads the bytes of a file.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest> {
        if !bytes.starts_with(MAGIC) {
            return Err(Error::foreign("this is not a manifest"));
        }
        let (header, body) = bytes
            .split_at_checked(HEADER_BYTES)
            .ok_or_else(|| Error::corrupt("the manifest ends in the middle of its header"))?;
        let version = u16::from_le_bytes([header[8], header[9]]);
        if version > MANIFEST_VERSION {
            return Err(Error::newer(format!(
                "the manifest has format {version}; this release reads up to {MANIFEST_VERSION}; \
                 {OTHER_FORMAT_HINT}"
            )));
        }
        let checksum = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        let is_reserved_zero = header[10..12] == [0; 2];
        if version < MANIFEST_VERSION || !is_reserved_zero || crc32c::crc32c(body) != checksum {
            return Err(Error::corrupt("the manifest does not match its checksum"));
        }
        let (manifest, length): (Manifest, usize) =
            bincode::serde::decode_from_slice(body, encoding())
                .map_err(|error| Error::corrupt(format!("the manifest is malformed: {error}")))?;
        if length != body.len() {
            return Err(Error::corrupt("the manifest has bytes left over"));
        }
        manifest.validate()
    }

    /// Checks that the numbers are possible.
    pub(super) fn validate(self) -> Result<Manifest> {
        let numbers = [self.generation, self.next_file, self.history.last_commit];
        if numbers.iter().any(|&number| number > NUMBER_MAX) {
            return Err(Error::corrupt(
                "the manifest has a number that no index reaches",
            ));
        }
        let are_whole = |line: &FileLine| line.length.is_multiple_of(DIGEST_BYTES as u64);
        if !self.chain.files.iter().all(are_whole) {
            return Err(Error::corrupt(
                "the manifest names a file with a part of a digest",
            ));
        }
        let distinct = |files: &mut dyn Iterator<Item = u64>| {
            let mut files: Vec<u64> = files.collect();
            files.sort_unstable();
            // After sorting, ascending strictly means distinct.
            files.is_sorted_by(|a, b| a < b) && files.iter().all(|&file| file < self.next_file)
        };
        let deleted = self
            .segments
            .iter()
            .filter_map(|line| line.deleted.as_ref());
        let known = deleted
            .map(|line| line.file)
            .all(|file| file < self.next_file);
        if known
            && distinct(&mut self.segments.iter().map(|line| line.file))
            && distinct(&mut self.chain.files.iter().map(|line| line.file))
        {
            Ok(self)
        } else {
            Err(Error::corrupt(
                "the manifest names a file twice or one that is not written yet",
            ))
        }
    }
}

fn encoding() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_fixed_int_encoding()
        .with_limit::<{ MANIFEST_BYTES_MAX - HEADER_BYTES }>()
}

#[cfg(test)]
mod tests;
