//! A folder of shards: `shards.json` with their number and the identity of the folder, and the index of each.
//!
//! ```text
//! shards.json     {"identity":"<SHA-256 in hex>","shards":64}, written last, when every index exists
//! lock            held by the process that builds, updates, compacts or publishes the shards
//! 0/ 1/ … 63/     an index each, with the companies that `shard_of` places there, and their signals
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use signaldex::{Digest, Error, Index, IndexId, Result, Snapshot};

use super::error::ClusterResult;
use super::generation::SHARDS_MAX;

/// The file that describes the folder.
const DESCRIPTION: &str = "shards.json";

/// The description while it is written.
const DESCRIPTION_UNFINISHED: &str = "shards.json.tmp";

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
    pub fn open(folder: impl AsRef<Path>) -> ClusterResult<ShardFolder> {
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
            .at(&opened.folder)
            .into()),
        }
    }

    /// Takes the lock of a folder in which shards are to be built, and removes those of a build that was interrupted:
    /// without `shards.json`, a lock and the folders of shards are its leftovers.
    ///
    /// # Errors
    /// The folder contains anything else, or another process builds there.
    pub(super) fn begin(folder: &Path) -> Result<FolderLock> {
        let mut leftovers = Vec::new();
        let mut is_unfinished = false;
        for name in names_in(folder)? {
            match &*name {
                LOCK | DESCRIPTION_UNFINISHED => is_unfinished = true,
                shard if is_shard(shard) => leftovers.push(folder.join(shard)),
                _ => return Err(not_empty(folder)),
            }
        }
        if !leftovers.is_empty() && !is_unfinished {
            return Err(not_empty(folder));
        }
        let lock = FolderLock::take(folder)?;
        // Another process may have finished before the lock was taken.
        if folder.join(DESCRIPTION).exists() {
            return Err(not_empty(folder));
        }
        for shard in leftovers {
            fs::remove_dir_all(&shard)
                .map_err(|error| Error::io("remove the directory", error).at(&shard))?;
        }
        Ok(lock)
    }

    /// Removes what a build that failed has added to a folder.
    pub(super) fn abandon(folder: &Path, is_new: bool) {
        // Nothing can be done about what cannot be removed; the next build tries again. Only shards of this build are
        // there, since they are built into an empty folder.
        let names = names_in(folder).unwrap_or_default();
        for shard in names.iter().filter(|name| is_shard(name)) {
            let _ = fs::remove_dir_all(folder.join(shard));
        }
        for name in [DESCRIPTION_UNFINISHED, LOCK] {
            let _ = fs::remove_file(folder.join(name));
        }
        if is_new {
            let _ = fs::remove_dir(folder);
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
    pub fn verify(&self) -> ClusterResult<u64> {
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
    pub fn compact(&self) -> ClusterResult<()> {
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
        FolderLock::take(&self.folder)
    }
}

impl FolderLock {
    fn take(folder: &Path) -> Result<FolderLock> {
        let path = folder.join(LOCK);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = file.map_err(|error| Error::io("open the lock", error).at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::locked(
                "another process builds, updates, compacts or publishes these shards; try again when it has ended",
            )
            .at(&path)),
            Err(TryLockError::Error(error)) => Err(Error::io("take the lock", error).at(&path)),
        }
    }
}

/// The names of everything in a folder.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let unreadable = |error| Error::io("read the directory", error).at(folder);
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect::<std::io::Result<_>>().map_err(unreadable)
}

/// Whether a shard's directory has this name.
fn is_shard(name: &str) -> bool {
    name.parse()
        .is_ok_and(|shard: u32| shard.to_string() == name)
}

fn not_empty(folder: &Path) -> Error {
    Error::invalid("the folder is not empty; shards are built into a new or empty one").at(folder)
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
        let (path, unfinished) = (
            folder.join(DESCRIPTION),
            folder.join(DESCRIPTION_UNFINISHED),
        );
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
