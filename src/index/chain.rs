//! The chain of commits: a digest of each, which tells whether a position or another state is in the history of this
//! one.
//!
//! The digest of a commit is that of the commit before, hashed with what the commit wrote. So if copies of an index are
//! changed apart, all digests from their first different commit on differ. Merges are no commits and leave the
//! chain as it is.
//!
//! The newest digests are in the manifest. When [`RECENT_MAX`] wait there, a commit moves them to a new file, together
//! with those of smaller files, and leaves out those that are forgotten. Files never change, so that a crash, a reader
//! or a backup by hard links always finds those that its manifest names. There are three for 100,000 commits. A digest is
//! written some 64 times in all, which is 1 KiB a commit and, as files grow in leaps, rarely more than 128 KiB at once.
//!
//! ```text
//! offset  width  what
//! 0       16     the digest of a commit
//! 16      16     that of the next one, and so on
//! ```

use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::directory::{self, FileKind, NewFiles};
use super::hex_number::HexNumber;
use super::identity::IndexId;
use super::manifest::{FileLine, REMEMBERED_COMMITS};
use super::storage::Storage;
use crate::digest::Digest;
use crate::encoding::bytes::Bytes;
use crate::segment::Segment;
use crate::{Error, Result};

/// Bytes of a digest in a file.
pub(super) const DIGEST_BYTES: usize = 16;

/// Digests in the manifest besides the newest: 1 KiB, in a file that takes a block of the disk anyway. A new file and
/// its sync, once in 64 commits, take one percent of their time (`benches/commits.rs`).
const RECENT_MAX: usize = if cfg!(test) { 4 } else { 64 };

/// A new file replaces files of up to this many times its own digests, so that there are few.
const GROWTH: usize = 8;

/// A new file replaces files of up to this many digests, 128 KiB.
const SMALL_FILE: usize = if cfg!(test) { 8 } else { 8192 };

/// Digests of at least this many commits are kept, though deletions may be remembered for fewer: the newest published
/// generation may be that old.
const KEPT_MIN: u64 = if cfg!(test) { 32 } else { REMEMBERED_COMMITS };

/// The digest of a commit and of all before it: 16 bytes of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct CommitDigest(HexNumber);

/// The chain in a manifest. Files are named by their numbers, or by their objects in the manifest of a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainLine<F = FileLine> {
    /// The digest of the last commit.
    pub(crate) newest: CommitDigest,
    /// Those of the commits before it, oldest first.
    pub(crate) recent: Vec<CommitDigest>,
    /// The files of those before, oldest first.
    pub(crate) files: Vec<F>,
}

/// The chain of a snapshot. Clones share the files.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    newest: CommitDigest,
    recent: Vec<CommitDigest>,
    files: Vec<Arc<ChainFile>>,
}

/// A file of digests, checked before its first use.
#[derive(Debug)]
struct ChainFile {
    line: FileLine,
    path: Arc<Path>,
    bytes: Bytes,
    is_whole: OnceLock<bool>,
}

impl CommitDigest {
    /// The digest before the first commit of an index.
    pub(super) const fn before_first(identity: IndexId) -> CommitDigest {
        CommitDigest(identity.0)
    }

    /// The digest of the next commit, which writes a segment, if any, and deletes companies.
    ///
    /// The segment has the records that were added or changed and the deletions of signals, with the number of the
    /// commit; its table has the checksums of all sections. Deletions of companies are recorded nowhere else.
    pub(super) fn next<'a>(
        self,
        segment: Option<&Segment>,
        deleted_companies: impl Iterator<Item = &'a str>,
    ) -> CommitDigest {
        let mut hash = Sha256::new();
        hash.update(self.to_bytes());
        hash.update(segment.map_or([0; 32], |segment| *segment.table_digest().bytes()));
        for slug in deleted_companies {
            // The length comes first, so that different lists of slugs never hash the same bytes.
            hash.update((slug.len() as u64).to_le_bytes());
            hash.update(slug);
        }
        let hash = Digest::finish(hash);
        CommitDigest::from_bytes(std::array::from_fn(|at| hash.bytes()[at]))
    }

    pub(super) fn to_bytes(self) -> [u8; DIGEST_BYTES] {
        self.0.to_bytes()
    }

    pub(super) const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> CommitDigest {
        CommitDigest(HexNumber::from_bytes(bytes))
    }
}

impl std::fmt::Display for CommitDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<F> ChainLine<F> {
    /// The chain of an index with one commit.
    pub(super) fn of_first(newest: CommitDigest) -> ChainLine<F> {
        ChainLine {
            newest,
            recent: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The same digests with other files.
    #[cfg(feature = "replicate")]
    pub(crate) fn with_files<G>(&self, files: Vec<G>) -> ChainLine<G> {
        ChainLine {
            newest: self.newest,
            recent: self.recent.clone(),
            files,
        }
    }
}

impl Chain {
    /// Opens the files of a manifest, sharing those of another chain.
    pub(super) fn open(
        storage: &dyn Storage,
        line: &ChainLine,
        known: Option<&Chain>,
    ) -> Result<Chain> {
        let known = known.map_or(&[][..], |known| &known.files);
        let open = |line: &FileLine| match known.iter().find(|file| file.line == *line) {
            Some(file) => Ok(Arc::clone(file)),
            None => ChainFile::open(storage, line).map(Arc::new),
        };
        Ok(Chain {
            newest: line.newest,
            recent: line.recent.clone(),
            files: line.files.iter().map(open).collect::<Result<_>>()?,
        })
    }

    /// A chain without files.
    #[cfg(test)]
    pub(super) fn of_digests(newest: CommitDigest, recent: Vec<CommitDigest>) -> Chain {
        Chain {
            newest,
            recent,
            files: Vec::new(),
        }
    }

    /// What the manifest has of it.
    pub(crate) fn line(&self) -> ChainLine {
        ChainLine {
            newest: self.newest,
            recent: self.recent.clone(),
            files: self.files.iter().map(|file| file.line.clone()).collect(),
        }
    }

    /// The digest of the last commit.
    pub(crate) fn newest(&self) -> CommitDigest {
        self.newest
    }

    /// The digest of the commit before which there are `later` ones; `None` if it is forgotten.
    ///
    /// # Errors
    /// The file with the digest is damaged.
    pub(crate) fn digest(&self, later: u64) -> Result<Option<CommitDigest>> {
        let Ok(mut later) = usize::try_from(later) else {
            return Ok(None);
        };
        if later == 0 {
            return Ok(Some(self.newest));
        }
        later -= 1;
        // The newest is the last, so `later` counts backwards from it.
        if let Some(at) = self.recent.len().checked_sub(1 + later) {
            return Ok(Some(self.recent[at]));
        }
        later -= self.recent.len();
        // The commit is `later` before the last one of the files that are left.
        for file in self.files.iter().rev() {
            let digests = file.digests();
            if let Some(at) = digests.len().checked_sub(1 + later) {
                file.check()?;
                return Ok(Some(CommitDigest::from_bytes(digests[at])));
            }
            later -= digests.len();
        }
        Ok(None)
    }

    /// The chain after another commit. `remembered` is for how many commits deletions are.
    pub(super) fn with(
        &self,
        newest: CommitDigest,
        remembered: u64,
        (next_file, new_files): (&mut u64, &mut NewFiles),
    ) -> Result<Chain> {
        let mut chain = Chain {
            newest,
            ..self.clone()
        };
        chain.recent.push(self.newest);
        if chain.recent.len() >= RECENT_MAX {
            let kept = usize::try_from(remembered.max(KEPT_MIN)).unwrap_or(usize::MAX);
            chain.write_file(kept, (next_file, new_files))?;
        }
        Ok(chain)
    }

    /// Moves the digests of the manifest and of the smaller files before to a new file.
    fn write_file(&mut self, kept: usize, new: (&mut u64, &mut NewFiles)) -> Result<()> {
        let recent = std::mem::take(&mut self.recent);
        let mut count = recent.len();
        // From the newest file backwards, so that the replaced ones are the last of the list.
        let is_replaced = |file: &&Arc<ChainFile>| {
            let length = file.digests().len();
            let is_small = length <= SMALL_FILE.max(GROWTH * count);
            count += length;
            // A commit does not fail because of a damaged file, which stays.
            is_small && file.check().is_ok()
        };
        let replaced = self.files.iter().rev().take_while(is_replaced).count();
        let replaced = self.files.split_off(self.files.len() - replaced);
        let mut bytes: Vec<u8> = Vec::new();
        for file in &replaced {
            bytes.extend_from_slice(&file.bytes);
        }
        bytes.extend(recent.iter().flat_map(|digest| digest.to_bytes()));
        let count = bytes.len() / DIGEST_BYTES;
        // The oldest digests come first and are dropped.
        let forgotten = count.saturating_sub(kept) * DIGEST_BYTES;
        let file = ChainFile::write(&bytes[forgotten..], new)?;
        self.files.push(Arc::new(file));
        Ok(())
    }

    /// Checks the files that have not been checked yet.
    pub(super) fn check(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.check())
    }

    /// Checks the files, even if they were checked before.
    pub(super) fn verify(&self) -> Result<()> {
        let mut files = self.files.iter();
        files.try_for_each(|file| file.checked(file.is_whole()))
    }
}

impl ChainFile {
    fn open(storage: &dyn Storage, line: &FileLine) -> Result<ChainFile> {
        let name = FileKind::Chain.name(line.file);
        let bytes = directory::view(storage, &name)?.bytes;
        let file = ChainFile {
            line: line.clone(),
            path: storage.path(&name).into(),
            bytes,
            is_whole: OnceLock::new(),
        };
        file.checked(file.bytes.len() as u64 == line.length)?;
        Ok(file)
    }

    fn write(bytes: &[u8], (next_file, new_files): (&mut u64, &mut NewFiles)) -> Result<ChainFile> {
        let line = new_files.write(FileKind::Chain, next_file, bytes)?;
        let file = ChainFile::open(new_files.storage(), &line)?;
        // What this process has written itself is not checked again.
        file.is_whole.get_or_init(|| true);
        Ok(file)
    }

    fn digests(&self) -> &[[u8; DIGEST_BYTES]] {
        self.bytes.as_chunks().0
    }

    fn is_whole(&self) -> bool {
        Digest::of(&self.bytes) == self.line.checksum
    }

    fn check(&self) -> Result<()> {
        self.checked(*self.is_whole.get_or_init(|| self.is_whole()))
    }

    fn checked(&self, is_whole: bool) -> Result<()> {
        if is_whole {
            Ok(())
        } else {
            let error = Error::corrupt("the file does not match the manifest's checksum");
            Err(error.at(&self.path))
        }
    }
}

#[cfg(test)]
mod tests;
