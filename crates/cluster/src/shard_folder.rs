//! A folder of shards: `shards.json` with their number and the identity of the folder, and the index of each.
//!
//! ```text
//! shards.json     {"identity":"<SHA-256 in hex>","shards":64}, written last, when every index exists
//! lock            held by the process that updates, compacts or publishes the shards
//! 0/ 1/ … 63/     an index each, with the companies that `shard_of` places there, and their signals
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use signaldex::{Digest, Error, Index, IndexId, Result, Snapshot};

use super::generation::SHARDS_MAX;

/// The file that describes the folder.
const DESCRIPTION: &str = "shards.json";

/// More bytes than a description has.
const DESCRIPTION_BYTES_MAX: u64 = 4_096;

const LOCK: &str = "lock";

/// A folder with the indexes of all shards of a corpus, as [`Splitter`](super::Splitter) builds it.
///
/// ```
/// use signaldex::{Company, Signal, SignalId, json::Sink};
/// use signaldex_cluster::{ShardFolder, Splitter};
///
/// let folder = tempfile::tempdir()?;
/// let mut splitter = Splitter::new(folder.path(), 4)?;
/// splitter.add_company(&Company::new("acme", "Acme"))?;
/// splitter.add_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
/// splitter.finish()?;
///
/// let shards = ShardFolder::open(folder.path())?;
/// assert_eq!(shards.count(), 4);
/// shards.verify()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShardFolder {
    folder: PathBuf,
    description: Description,
}

/// The content of `shards.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    identity: Digest,
    shards: u32,
}

/// Keeps other processes from changing or publishing the shards of a folder until it is dropped.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl ShardFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`Missing`](signaldex::ErrorKind::Missing) if the folder has no `shards.json` or lacks a shard;
    /// [`Corrupt`](signaldex::ErrorKind::Corrupt) if `shards.json` is malformed.
    pub fn open(folder: impl AsRef<Path>) -> Result<ShardFolder> {
        let folder = folder.as_ref().to_owned();
        let opened = ShardFolder {
            description: Description::read(&folder)?,
            folder,
        };
        let is_missing = |&shard: &u32| !opened.directory(shard).is_dir();
        match (0..opened.count()).find(is_missing) {
            None => Ok(opened),
            Some(shard) => Err(Error::missing(format!(
                "shard {shard} of {} is missing; put its folder back, or build all shards anew with \
                 `signaldex shard`",
                opened.count()
            ))
            .at(&opened.folder)),
        }
    }

    /// Refuses a folder that contains anything: shards are built into an empty one.
    pub(super) fn refuse_used(folder: &Path) -> Result<()> {
        let unreadable = |error| Error::io("read the directory", error).at(folder);
        match fs::read_dir(folder).map_err(unreadable)?.next() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(
                "the folder is not empty; shards are built into a new or empty one",
            )
            .at(folder)),
        }
    }

    /// Describes a folder, whose indexes have been built and have these identities.
    pub(super) fn describe(folder: &Path, indexes: &[IndexId]) -> Result<()> {
        // Each index has random bytes for its identity, so those of the folder are random, too.
        let identities: String = indexes.iter().map(IndexId::to_string).collect();
        let description = Description {
            identity: Digest::of(identities.as_bytes()),
            shards: indexes.len() as u32,
        };
        description.write(folder)
    }

    /// The number of shards.
    pub fn count(&self) -> u32 {
        self.description.shards
    }

    /// The identity of the folder: no other has it, whatever it contains.
    pub fn identity(&self) -> Digest {
        self.description.identity
    }

    /// The directory of a shard's index.
    pub fn directory(&self, shard: u32) -> PathBuf {
        shard_directory(&self.folder, shard)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Opens the indexes of all shards.
    pub(super) fn open_indexes(&self) -> Result<Vec<Index>> {
        let open = |shard| Index::open(self.directory(shard));
        (0..self.count()).map(open).collect()
    }

    /// The current snapshots of all shards.
    pub(super) fn snapshots(&self) -> Result<Vec<Arc<Snapshot>>> {
        let indexes = self.open_indexes()?;
        Ok(indexes.iter().map(Index::snapshot).collect())
    }

    /// Checks every rule of every index as [`Snapshot::verify`], that each company is in its shard, and that no signal
    /// is in two. Returns the number of signals.
    ///
    /// # Errors
    /// The first rule that does not hold.
    ///
    /// Cost: reads everything; memory for 8 bytes a signal.
    pub fn verify(&self) -> Result<u64> {
        let snapshots = self.snapshots()?;
        for (shard, snapshot) in snapshots.iter().enumerate() {
            let verified = snapshot.verify();
            verified.map_err(|error| error.about(&format!("shard {shard}")))?;
        }
        super::shard_rules::check_all(&snapshots)?;
        Ok(snapshots.iter().map(|shard| shard.signal_count()).sum())
    }

    /// Merges the segments of each shard into one, shard by shard.
    ///
    /// # Errors
    /// [`Locked`](signaldex::ErrorKind::Locked) while another process updates or publishes the shards; as
    /// [`Writer::compact`](signaldex::Writer::compact).
    pub fn compact(&self) -> Result<()> {
        let _lock = self.lock()?;
        for shard in 0..self.count() {
            let compacted = Index::open(self.directory(shard))
                .and_then(|index| index.writer())
                .and_then(|mut writer| writer.compact());
            compacted.map_err(|error| error.about(&format!("shard {shard}")))?;
        }
        Ok(())
    }

    /// Takes the lock of the folder.
    ///
    /// # Errors
    /// [`Locked`](signaldex::ErrorKind::Locked) if another process holds it.
    pub(super) fn lock(&self) -> Result<FolderLock> {
        let path = self.folder.join(LOCK);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = file.map_err(|error| Error::io("open the lock", error).at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::locked(
                "another process updates, compacts or publishes these shards; try again when it has ended",
            )
            .at(&path)),
            Err(TryLockError::Error(error)) => Err(Error::io("take the lock", error).at(&path)),
        }
    }
}

impl Description {
    fn read(folder: &Path) -> Result<Description> {
        let path = folder.join(DESCRIPTION);
        let bytes = match fs::metadata(&path) {
            Ok(file) if file.len() > DESCRIPTION_BYTES_MAX => {
                return Err(Error::corrupt("it is too long").at(&path));
            }
            Ok(_) => fs::read(&path),
            Err(error) => Err(error),
        };
        let bytes = bytes.map_err(|error| match error.kind() {
            IoErrorKind::NotFound | IoErrorKind::NotADirectory => Error::missing(
                "shards.json is missing: this is no folder of shards, or building them did not end; \
                 `signaldex shard` builds one",
            )
            .at(folder),
            _ => Error::io("read the file", error).at(&path),
        })?;
        let malformed =
            |reason: &str| Error::corrupt(format!("it is malformed: {reason}")).at(&path);
        let read: Description =
            serde_json::from_slice(&bytes).map_err(|error| malformed(&error.to_string()))?;
        if (1..=SHARDS_MAX).contains(&read.shards) {
            Ok(read)
        } else {
            Err(malformed(&format!(
                "shards: {} is not allowed; 1 to {SHARDS_MAX} are",
                read.shards
            )))
        }
    }

    /// Writes the file under another name first, so that it exists whole or not at all.
    fn write(&self, folder: &Path) -> Result<()> {
        let (path, unfinished) = (folder.join(DESCRIPTION), folder.join("shards.json.tmp"));
        let bytes = serde_json::to_vec(self)
            .map_err(|error| Error::full(format!("it cannot be written: {error}")).at(&path))?;
        let written = File::create(&unfinished).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| fs::rename(&unfinished, &path));
        let synced = renamed.and_then(|()| File::open(folder)?.sync_all());
        synced.map_err(|error| Error::io("write the file", error).at(&path))
    }
}

/// The directory of a shard's index.
pub(super) fn shard_directory(folder: &Path, shard: u32) -> PathBuf {
    folder.join(shard.to_string())
}
