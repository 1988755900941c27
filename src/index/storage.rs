//! Files by name: the few operations that an index directory needs, and nothing more.
//!
//! Everything that touches a disk goes through [`Storage`], so that tests can put a layer in its
//! place that fails, forgets what was not synced, or stops at any step.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::segment::Bytes;
use crate::{Error, Result};

/// The files of one directory.
pub(crate) trait Storage: Debug + Send + Sync {
    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Creates a file, or empties it, for writing.
    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>>;

    /// The bytes of a small file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// The bytes of a file that is never changed, viewed in place.
    fn view(&self, name: &str) -> io::Result<Bytes>;

    /// Gives a file another name, in place of what has it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Makes created, renamed and removed names durable.
    fn sync_names(&self) -> io::Result<()>;

    /// Takes the writer's lock, which ends with the guard or with the process.
    ///
    /// # Errors
    /// Another writer has it.
    fn lock(&self) -> Result<Box<dyn Debug + Send + Sync>>;
}

/// A file that is being written.
pub(crate) trait NewFile: Write + Debug + Send + Sync {
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A directory of the file system.
#[derive(Debug)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    /// The directory at a path.
    pub(crate) fn new(path: &Path) -> Directory {
        Directory(path.to_owned())
    }

    /// Creates the directory where it does not exist.
    pub(crate) fn ensure(&self) -> Result<()> {
        fs::create_dir_all(&self.0)
            .map_err(|error| Error::io("create the directory", error).at(&self.0))
    }
}

/// The file whose lock the writer holds. It stays empty; the lock dies with the process.
const LOCK: &str = "lock";

impl Storage for Directory {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(File::create(self.path(name))?))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(name))
    }

    fn view(&self, name: &str) -> io::Result<Bytes> {
        Bytes::map(&File::open(self.path(name))?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.0)?;
        entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    fn lock(&self) -> Result<Box<dyn Debug + Send + Sync>> {
        let path = self.path(LOCK);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = file.map_err(|error| Error::io("open the lock", error).at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(file)),
            Err(TryLockError::WouldBlock) => Err(Error::locked().at(&path)),
            Err(TryLockError::Error(error)) => Err(Error::io("take the lock", error).at(&path)),
        }
    }
}

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
