//! The storage interface: the few file operations that an index directory needs.
//!
//! All disk access goes through [`Storage`], so that tests can inject a layer that fails, loses unsynced data,
//! or stops at any step.

use std::fmt::{self, Debug};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::mapped_file::MappedFile;
use crate::encoding::bytes::Bytes;
use crate::{Error, Result};

/// The files of one directory, on disk or in memory.
pub(crate) trait Storage: Debug + Send + Sync {
    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Creates a file for writing. Fails with `AlreadyExists` if the name is taken: an existing file is never
    /// overwritten, because a reader may have mapped it.
    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>>;

    /// Reads a small file. Fails if it has more than `bytes_max` bytes.
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>>;

    /// A view of an immutable file.
    fn view(&self, name: &str) -> io::Result<View>;

    /// Renames a file, replacing any file with the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all regular files.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Makes created, renamed and removed names durable.
    fn sync_names(&self) -> io::Result<()>;

    /// When a file was last replaced, if known.
    fn changed_at(&self, name: &str) -> Option<SystemTime>;

    /// Takes the writer's lock, which is released with the guard or at the end of the process.
    ///
    /// # Errors
    /// Another writer holds it.
    fn lock(&self) -> Result<Box<dyn Debug + Send + Sync>>;
}

/// A view of a file.
#[derive(Debug)]
pub(crate) struct View {
    pub(super) bytes: Bytes,
    /// The file, unless it is in memory.
    pub(super) file: Option<MappedFile>,
}

/// A file being written.
pub(crate) trait NewFile: Write + Debug + Send + Sync {
    /// Makes written data durable.
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

    /// Creates the directory durably if it does not exist: the parent of each new folder is synced. Returns the new
    /// folders, the innermost first.
    pub(crate) fn ensure(&self) -> Result<Vec<PathBuf>> {
        let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let new: Vec<&Path> = self.0.ancestors().take_while(is_new).collect();
        fs::create_dir_all(&self.0)
            .map_err(|error| Error::io("create the directory", error).at(&self.0))?;
        for path in &new {
            // A new directory is durable once its parent is synced.
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let above = above.unwrap_or(Path::new("."));
            Directory::new(above)
                .sync_names()
                .map_err(|error| Error::io("sync the directory", error).at(above))?;
        }
        Ok(new.into_iter().map(Path::to_owned).collect())
    }

    /// What a builder adds to the directory beside its files, removed unless an index is finished.
    pub(super) fn scaffold(&self, new_folders: Vec<PathBuf>) -> Scaffold {
        let lock = self.path(LOCK);
        Scaffold {
            lock: (!lock.exists()).then_some(lock),
            new_folders,
        }
    }
}

/// The lock and the folders that are new with a builder: removed when it is dropped, so that a build that fails leaves
/// nothing.
#[derive(Debug, Default)]
pub(super) struct Scaffold {
    lock: Option<PathBuf>,
    new_folders: Vec<PathBuf>,
}

impl Scaffold {
    /// Keeps everything, for the finished index.
    pub(super) fn keep(&mut self) {
        // Field by field: an assignment would drop, and so remove, what is to be kept.
        self.lock = None;
        self.new_folders.clear();
    }
}

impl Drop for Scaffold {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed; a folder with anything else in it stays.
        if let Some(lock) = &self.lock {
            let _ = fs::remove_file(lock);
        }
        for folder in &self.new_folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Why a readable file is refused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    /// It is a folder, a FIFO, a socket or a device.
    NotRegular,
    /// It has more bytes than this.
    TooLong(u64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotRegular => f.write_str("this is not a regular file"),
            Refusal::TooLong(bytes_max) => {
                write!(
                    f,
                    "the file is longer than the {bytes_max} bytes that it may have"
                )
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Opens a regular file and refuses everything else without blocking: opening a FIFO waits for its other end,
/// and reading a device may never end.
pub(super) fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let refuse = |metadata: fs::Metadata| {
        if metadata.is_file() {
            Ok(())
        } else {
            Err(io::Error::other(Refusal::NotRegular))
        }
    };
    // A device is not even opened, because opening may have side effects.
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        metadata => refuse(metadata?)?,
    }
    #[cfg(unix)]
    options.custom_flags(libc::O_NONBLOCK);
    let file = options.open(path)?;
    // The file may have been replaced meanwhile.
    refuse(file.metadata()?)?;
    Ok(file)
}

/// Converts an error of opening, reading or writing a file; `doing` completes "cannot ...".
pub(super) fn of_file(doing: &str, error: io::Error) -> Error {
    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref());
    match refusal {
        Some(Refusal::NotRegular) => return Error::foreign(error.to_string()),
        Some(Refusal::TooLong(_)) => return Error::corrupt(error.to_string()),
        None => {}
    }
    match error.kind() {
        io::ErrorKind::NotFound => Error::missing("there is no such file"),
        _ => Error::io(doing, error),
    }
}

/// Why a lock cannot be taken.
pub(super) const HELD: &str = "another writer holds the index";

/// The lock file of the writer. It stays empty; the lock ends with the process.
const LOCK: &str = "lock";

impl Storage for Directory {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(File::create_new(self.path(name))?))
    }

    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = open_regular(&self.path(name), OpenOptions::new().read(true))?;
        let mut bytes = Vec::new();
        // Do not rely on the length, which may change while the file is read.
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > bytes_max {
            return Err(io::Error::other(Refusal::TooLong(bytes_max)));
        }
        Ok(bytes)
    }

    fn view(&self, name: &str) -> io::Result<View> {
        let path = self.path(name);
        let file = open_regular(&path, OpenOptions::new().read(true))?;
        // Examined before anything is read.
        let file = MappedFile::new(&path, file)?;
        Ok(View {
            bytes: file.map()?,
            file: Some(file),
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            // Files that have gone, or whose names are not UTF-8, do not belong to an index.
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }

    fn changed_at(&self, name: &str) -> Option<SystemTime> {
        fs::metadata(self.path(name)).ok()?.modified().ok()
    }

    fn lock(&self) -> Result<Box<dyn Debug + Send + Sync>> {
        Ok(Box::new(DirectoryLock::take(self.path(LOCK))?))
    }
}

/// The locked file. Closing it would not release the lock if a child process, forked but not yet running its own
/// program, shares the open file.
#[derive(Debug)]
struct DirectoryLock(File);

impl DirectoryLock {
    fn take(path: PathBuf) -> Result<DirectoryLock> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = open_regular(&path, &mut options);
        let file = file.map_err(|error| of_file("open the lock", error).at(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::locked(HELD).at(&path)),
            Err(TryLockError::Error(error)) => Err(Error::io("take the lock", error).at(&path)),
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // If this fails, the lock ends with the last process that has the file open.
        let _ = self.0.unlock();
    }
}

impl NewFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

#[cfg(test)]
mod tests;
