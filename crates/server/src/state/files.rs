//! Detects that an open state file was deleted or replaced.
//!
//! SQLite keeps using open files that were deleted or replaced. Its commits would then be lost with the
//! process, so the service must detect this itself.
//!
//! Nothing here opens a file: on POSIX systems, closing any descriptor of a file drops the locks
//! that SQLite holds on it in this process.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The database, and SQLite's files in WAL mode: the write-ahead log and its index in shared memory.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// The files of an open state.
#[derive(Debug)]
pub(super) struct StateFiles {
    files: [(PathBuf, FileId); SUFFIXES.len()],
    are_lost: AtomicBool,
}

/// A file of the state that is no longer at its path.
#[derive(Debug)]
pub(crate) struct LostFile {
    path: PathBuf,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Deleted,
    Replaced,
    Unknown(io::Error),
}

/// Identifies a file among all that exist at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(path: &Path) -> io::Result<FileId> {
        let metadata = std::fs::metadata(path)?;
        Ok(FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

impl StateFiles {
    /// The files at a path. This process must have the database open.
    pub(super) fn at(path: &Path) -> io::Result<StateFiles> {
        // SQLite resolves symbolic links before it derives the other two names.
        let resolved = std::fs::canonicalize(path)?;
        let identified = |path: PathBuf| FileId::of(&path).map(|id| (path, id));
        let [_, log, log_index] = SUFFIXES.map(|suffix| with_suffix(&resolved, suffix));
        Ok(StateFiles {
            files: [
                identified(path.to_owned())?,
                identified(log)?,
                identified(log_index)?,
            ],
            are_lost: AtomicBool::new(false),
        })
    }

    /// Checks that all files are still at their paths, and logs changes. Cost: three calls of `stat`, about a
    /// microsecond each.
    pub(super) fn check(&self) -> Result<(), LostFile> {
        let found = self.files.iter().try_for_each(check_one);
        let were_lost = self.are_lost.swap(found.is_err(), Ordering::Relaxed);
        match &found {
            Err(error) if !were_lost => tracing::error!(
                %error,
                "nothing is charged or delivered until the file is back or the service is restarted"
            ),
            Ok(()) if were_lost => tracing::info!("the files of the state are back"),
            Ok(()) | Err(_) => {}
        }
        found
    }

    /// Whether the last check found a file missing.
    pub(super) fn were_lost(&self) -> bool {
        self.are_lost.load(Ordering::Relaxed)
    }

    /// The identity of the database.
    pub(super) fn database(&self) -> FileId {
        self.files[0].1
    }
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn check_one((path, id): &(PathBuf, FileId)) -> Result<(), LostFile> {
    let cause = match FileId::of(path) {
        Ok(found) if found == *id => return Ok(()),
        Ok(_) => Cause::Replaced,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Cause::Deleted,
        Err(error) => Cause::Unknown(error),
    };
    Err(LostFile {
        path: path.clone(),
        cause,
    })
}

impl LostFile {
    /// What happened, without the path, which clients must not see.
    pub(crate) fn cause(&self) -> &'static str {
        match self.cause {
            Cause::Deleted => "deleted or moved",
            Cause::Replaced => "replaced",
            Cause::Unknown(_) => "made inaccessible",
        }
    }
}

impl fmt::Display for LostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path} was {} while it was in use", self.cause())?;
        match &self.cause {
            Cause::Unknown(error) => write!(f, ": {error}"),
            Cause::Deleted | Cause::Replaced => Ok(()),
        }
    }
}
