//! In-memory storage for an index without a directory.
//!
//! Files have the same names as in a directory and go through the same commits. Nothing is synced, because
//! nothing survives the process. As with memory mappings, a view of a file stays valid after the file is
//! removed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::storage::{HELD, NewFile, Refusal, Storage, View};
use crate::encoding::bytes::{AlignedBytes, Bytes};
use crate::{Error, Result};

/// The name of the directory in messages.
const FOLDER: &str = "(memory)";

/// Files in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    by_name: BTreeMap<String, Arc<AlignedBytes>>,
    is_locked: bool,
}

impl Memory {
    /// The same files apart from these.
    #[cfg(test)]
    pub(super) fn copied(&self) -> Memory {
        let files = self.files();
        let files = files.by_name.iter();
        let copied = files.map(|(name, file)| (name.clone(), Arc::new((**file).clone())));
        Memory(Arc::new(Mutex::new(Files {
            by_name: copied.collect(),
            is_locked: false,
        })))
    }

    /// The files. A panic while they were locked leaves them consistent, because each change is one call.
    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, name: &str) -> io::Result<Arc<AlignedBytes>> {
        let files = self.files();
        let file = files.by_name.get(name);
        Ok(Arc::clone(file.ok_or(io::ErrorKind::NotFound)?))
    }

    /// Changes a file being written, which has no views yet.
    fn change(&self, name: &str, change: impl FnOnce(&mut AlignedBytes)) -> io::Result<()> {
        let mut files = self.files();
        let file = files.by_name.get_mut(name);
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        // Fails while a view shares the file, so viewed bytes never change.
        change(Arc::get_mut(file).ok_or(io::ErrorKind::ResourceBusy)?);
        Ok(())
    }
}

impl Storage for Memory {
    fn path(&self, name: &str) -> PathBuf {
        Path::new(FOLDER).join(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile>> {
        let mut files = self.files();
        if files.by_name.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        files.by_name.insert(name.to_owned(), Arc::default());
        Ok(Box::new(MemoryFile {
            memory: self.clone(),
            name: name.to_owned(),
        }))
    }

    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = self.file(name)?;
        if file.len() as u64 > bytes_max {
            return Err(io::Error::other(Refusal::TooLong(bytes_max)));
        }
        Ok(file.to_vec())
    }

    fn view(&self, name: &str) -> io::Result<View> {
        Ok(View {
            bytes: Bytes::Owned(self.file(name)?),
            file: None,
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let file = files.by_name.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.by_name.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.files().by_name.remove(name);
        removed
            .map(drop)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.files().by_name.keys().cloned().collect())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn changed_at(&self, _name: &str) -> Option<SystemTime> {
        None
    }

    fn lock(&self) -> Result<Box<dyn Debug + Send + Sync>> {
        if std::mem::replace(&mut self.files().is_locked, true) {
            return Err(Error::locked(HELD));
        }
        Ok(Box::new(MemoryLock(self.clone())))
    }
}

#[derive(Debug)]
struct MemoryLock(Memory);

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.0.files().is_locked = false;
    }
}

/// A file being written.
#[derive(Debug)]
struct MemoryFile {
    memory: Memory,
    name: String,
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.memory.change(&self.name, |file| file.append(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for MemoryFile {
    /// Releases unused memory of the complete file.
    fn sync(&mut self) -> io::Result<()> {
        self.memory.change(&self.name, AlignedBytes::shrink_to_fit)
    }
}
