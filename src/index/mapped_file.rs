//! The mapped file of a segment: noticing that another program has changed it, and reading it again.
//!
//! Files are compared by inode, length and the times of their last changes. Nothing here reads a mapping, because
//! reading one beyond the end of a file that was truncated ends the process.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::encoding::bytes::Bytes;
use crate::segment::{self, Segment};
use crate::{Error, ErrorKind, Result};

/// How long a file must stay as it is before it is read: longer than a tick of the clock that stamps files, so that a
/// later change has a later time.
const SETTLING_TIME: Duration = Duration::from_millis(20);

/// A file that is mapped.
#[derive(Debug)]
pub(crate) struct MappedFile {
    path: PathBuf,
    /// Open, so that the file can be examined after its name was given to another one.
    file: File,
    seen: Mutex<Seen>,
}

/// The file as it was opened, or last read.
#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    /// Why the content of then is not that of the segment.
    fault: Option<String>,
}

/// The inode, the length and the times of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: (u64, u64),
    length: u64,
    /// When the content was changed, in seconds and nanoseconds. Programs can set it.
    modified: (i64, i64),
    /// When content, names, owner or mode were changed, which no program can set.
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            inode: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the content was written in between.
    fn is_overwritten_since(&self, before: &Stamp) -> bool {
        (self.length, self.modified) != (before.length, before.modified)
    }
}

impl MappedFile {
    /// The file at a path, which has been opened and not read yet.
    pub(super) fn new(path: &Path, file: File) -> io::Result<MappedFile> {
        let stamp = Stamp::of(&file.metadata()?);
        Ok(MappedFile {
            path: path.to_owned(),
            file,
            seen: Mutex::new(Seen { stamp, fault: None }),
        })
    }

    /// Maps the file.
    pub(super) fn map(&self) -> io::Result<Bytes> {
        Bytes::map(&self.file)
    }

    /// Whether its name belongs to another file now.
    pub(super) fn is_replaced(&self) -> bool {
        let named = fs::metadata(&self.path);
        named.is_ok_and(|named| Stamp::of(&named).inode != self.seen().stamp.inode)
    }

    /// Distrusts the segment if the file was overwritten.
    ///
    /// # Errors
    /// The operating system does not tell.
    ///
    /// Cost: one call of `fstat`.
    pub(super) fn look(&self, segment: &Segment) -> Result<()> {
        // Locked, so that a file just read is not held against the segment.
        let seen = self.seen();
        if self.stamp()?.is_overwritten_since(&seen.stamp) {
            segment.distrust();
        }
        Ok(())
    }

    /// Reads the file if it has changed since it was last read, and trusts the segment exactly if the content is that
    /// of the segment. Returns whether the segment was damaged before and is whole now.
    ///
    /// # Errors
    /// The content is another, is still being written, or cannot be read.
    ///
    /// Cost: that of [`look`](Self::look) if the file has not changed; else reads all of it.
    pub(super) fn read_again(&self, segment: &Segment) -> Result<bool> {
        self.look(segment)?;
        let now = self.stamp()?;
        if let Some(unchanged) = self.outcome(now) {
            return unchanged.map(|()| false);
        }
        thread::sleep(SETTLING_TIME);
        // A program is writing the file; it is read at the next look.
        if self.stamp()? != now {
            return self.is_being_written(segment);
        }
        let fault = match self.check(segment) {
            Err(error) if error.kind() == ErrorKind::Io => return Err(error.at(&self.path)),
            checked => checked.err().map(|error| error.reason().to_owned()),
        };
        let mut seen = self.seen();
        // The file may have been written while it was read.
        if self.stamp()? != now {
            drop(seen);
            return self.is_being_written(segment);
        }
        let was_damaged = segment.is_damaged();
        match fault {
            None => segment.trust(),
            Some(_) => segment.distrust(),
        }
        *seen = Seen { stamp: now, fault };
        drop(seen);
        self.outcome(now).unwrap_or(Ok(())).map(|()| was_damaged)
    }

    /// What reading the file found, if it has not changed since.
    fn outcome(&self, now: Stamp) -> Option<Result<()>> {
        let seen = self.seen();
        (seen.stamp == now).then(|| match &seen.fault {
            None => Ok(()),
            Some(fault) => Err(self.overwritten(fault)),
        })
    }

    /// The file is read at the next look. Until then nothing is served of it if its content was changed.
    fn is_being_written(&self, segment: &Segment) -> Result<bool> {
        self.look(segment)?;
        if segment.is_distrusted() {
            Err(self.overwritten("it is still being written"))
        } else {
            Ok(false)
        }
    }

    /// Checks that the content is that of the segment.
    fn check(&self, segment: &Segment) -> Result<()> {
        let (length, named) = (self.stamp()?.length, segment.file_size());
        if length != named {
            return Err(Error::corrupt(format!(
                "it has {length} bytes instead of {named}"
            )));
        }
        if segment::check_file(&self.file)? != segment.table_digest() {
            return Err(Error::corrupt(
                "its section table is not the one that the manifest names",
            ));
        }
        Ok(())
    }

    fn overwritten(&self, fault: &str) -> Error {
        let reason = format!("another program has overwritten the file: {fault}");
        Error::corrupt(reason).at(&self.path)
    }

    fn stamp(&self) -> Result<Stamp> {
        let metadata = self.file.metadata();
        let metadata =
            metadata.map_err(|error| Error::io("examine the file", error).at(&self.path));
        metadata.map(|metadata| Stamp::of(&metadata))
    }

    /// What was seen. A panic while it was locked leaves it consistent, because each change is one assignment.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
