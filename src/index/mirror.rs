//! A directory that mirrors an index stored elsewhere: locking, file numbers, and installing states.
//!
//! It is a regular index directory, so every command can read it. Files get numbers of this directory, which
//! are never reused and are independent of those at the source, where a rebuilt index may use the same numbers
//! again.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Index;
use super::chain::ChainLine;
use super::directory::{self, FileKind, MANIFEST, NewFiles};
use super::identity::IndexId;
use super::manifest::{History, Manifest, SegmentLine};
use super::snapshot::Snapshot;
use super::storage::{Directory, NewFile, Storage};
use crate::{ErrorKind, Result};

/// Maximum bytes of a small file of the caller: about a hundred bytes per segment, for ten times as many as a
/// manifest can have.
const SMALL_FILE_BYTES_MAX: u64 = 16 << 20;

/// The holder of a mirror's lock.
#[derive(Debug)]
pub(crate) struct Mirror {
    storage: Arc<dyn Storage>,
    manifest: Manifest,
    /// `None` until the first state is installed.
    index: Option<Index>,
    _lock: Box<dyn Debug + Send + Sync>,
}

impl Mirror {
    /// Locks a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// [`Locked`](crate::ErrorKind::Locked) while another process has it.
    pub(crate) fn lock(path: &Path) -> Result<Mirror> {
        let directory = Directory::new(path);
        directory.ensure()?;
        Ok(Mirror {
            _lock: directory.lock()?,
            storage: Arc::new(directory),
            manifest: Manifest::empty(),
            index: None,
        })
    }

    /// Whether the directory has a state, possibly incomplete.
    pub(crate) fn holds_state(&self) -> Result<bool> {
        match directory::exists(&*self.storage) {
            Err(error) if error.kind() != ErrorKind::Io => Ok(true),
            other => other,
        }
    }

    /// Opens and checks the state of the directory, if any, and removes leftovers of crashes.
    ///
    /// # Errors
    /// As [`Index::open`] and [`Snapshot::check`]; nothing is removed then.
    pub(crate) fn recover(&mut self) -> Result<()> {
        if !directory::exists(&*self.storage)? {
            return directory::remove_leftovers(&*self.storage, &self.manifest);
        }
        let (manifest, snapshot) = directory::read(&*self.storage, None)?;
        snapshot.check()?;
        directory::remove_leftovers(&*self.storage, &manifest)?;
        self.manifest = manifest;
        self.publish(snapshot);
        Ok(())
    }

    /// Empties the directory, because its state is unreadable and will be fetched again.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.manifest = Manifest::empty();
        match directory::remove(&*self.storage, MANIFEST) {
            Err(error) if error.kind() == ErrorKind::Missing => {}
            removed => removed?,
        }
        directory::remove_leftovers(&*self.storage, &self.manifest)
    }

    /// The index, once there is a state.
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The identity of the index, once there is a state.
    pub(crate) fn identity(&self) -> Option<IndexId> {
        self.index.as_ref().map(|_| self.manifest.identity)
    }

    /// The generation of the state, or 0.
    pub(crate) fn generation(&self) -> u64 {
        self.manifest.generation
    }

    /// The kinds and numbers of the files of the state.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileKind, u64)> + '_ {
        directory::files_of(&self.manifest)
    }

    /// The numbers of segments whose files are damaged, as far as known: those that changed are read again first.
    pub(crate) fn damaged_segments(&self) -> Vec<u64> {
        let Some(index) = &self.index else {
            return Vec::new();
        };
        // Its error is that of a damaged file, or goes with the next look.
        let _ = index.refresh();
        let snapshot = index.snapshot();
        let damaged = snapshot.segments.iter();
        damaged
            .filter(|live| live.segment.is_damaged())
            .map(|live| live.number)
            .collect()
    }

    /// Creates a file and returns its number.
    pub(crate) fn create(&mut self, kind: FileKind) -> Result<(u64, Box<dyn NewFile>)> {
        directory::create_next(&*self.storage, kind, &mut self.manifest.next_file)
    }

    /// The path of a file, for messages.
    pub(crate) fn path(&self, kind: FileKind, file: u64) -> PathBuf {
        self.storage.path(&kind.name(file))
    }

    /// Removes a file that is not part of the state. Readers that have it open are not affected.
    pub(crate) fn discard(&self, kind: FileKind, file: u64) -> Result<()> {
        directory::remove(&*self.storage, &kind.name(file))
    }

    /// Writes or replaces a small file of the caller.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let next = format!("{name}.next");
        directory::write_file(&*self.storage, &next, bytes)?;
        let renamed = self.storage.rename(&next, name);
        renamed.map_err(directory::at(&*self.storage, name, "replace the file"))
    }

    /// Reads a small file of the caller.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let read = self.storage.read(name, SMALL_FILE_BYTES_MAX);
        read.map_err(directory::at(&*self.storage, name, "read the file"))
    }

    /// Makes a state the current one: opens and checks its files, makes it durable, and publishes its snapshot. The
    /// files must already be durable. The caller discards files of the previous state.
    ///
    /// # Errors
    /// A file violates a rule of its format, or the directory cannot be written. The previous state and its
    /// snapshot stay.
    pub(crate) fn install(
        &mut self,
        identity: IndexId,
        generation: u64,
        history: History,
        segments: Vec<SegmentLine>,
        chain: ChainLine,
    ) -> Result<()> {
        let manifest = Manifest {
            identity,
            generation,
            next_file: self.manifest.next_file,
            compresses_records: self.manifest.compresses_records,
            history,
            segments,
            chain,
        };
        let manifest = manifest.validate()?;
        let before = self.index.as_ref().map(Index::snapshot);
        let snapshot = directory::open_snapshot(&*self.storage, &manifest, before.as_deref())?;
        // Before it becomes the state, so that damage never does.
        snapshot.check()?;
        NewFiles::new(&self.storage).publish(&manifest)?;
        self.publish(snapshot);
        self.manifest = manifest;
        Ok(())
    }

    fn publish(&mut self, snapshot: Snapshot) {
        match &self.index {
            Some(index) => index.0.current.store(Arc::new(snapshot)),
            None => {
                self.index = Some(Index::of(Arc::clone(&self.storage), snapshot));
            }
        }
    }
}
