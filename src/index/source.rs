//! Opens the files of a directory for publishing.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::chain::{Chain, ChainLine};
use super::directory::{self, FileKind};
use super::identity::IndexId;
use super::manifest::{FileLine, History, Manifest, SegmentLine};
use super::storage::{Directory, Storage, open_regular};
use crate::{Error, Result};

/// The open files of one state of a directory, which stay readable even if a writer removes them.
#[derive(Debug)]
pub(crate) struct SourceState {
    pub(crate) identity: IndexId,
    pub(crate) generation: u64,
    pub(crate) history: History,
    /// The segments, oldest first.
    pub(crate) segments: Vec<(SegmentLine, SourceFile, Option<SourceFile>)>,
    /// The digests of commits.
    pub(crate) chain: Chain,
    /// The files of digests, oldest first.
    pub(crate) chain_files: Vec<SourceFile>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) length: u64,
}

impl SourceState {
    /// Opens the files of the current state, and checks everything except records, so that damage is not published.
    ///
    /// # Errors
    /// As [`Index::open`](super::Index::open) and [`Snapshot::check`](super::Snapshot::check).
    pub(crate) fn open(directory: &Path) -> Result<SourceState> {
        let storage = Directory::new(directory);
        let (manifest, (chain, segments, chain_files)) =
            directory::read_steadily(&storage, |manifest| {
                let snapshot = directory::open_snapshot(&storage, manifest, None)?;
                snapshot.check()?;
                let chain_files = open_chain(&storage, &manifest.chain)?;
                Ok((
                    snapshot.chain,
                    open_segments(&storage, manifest)?,
                    chain_files,
                ))
            })?;
        Ok(SourceState {
            identity: manifest.identity,
            generation: manifest.generation,
            history: manifest.history,
            segments,
            chain,
            chain_files,
        })
    }
}

fn open_chain(storage: &Directory, chain: &ChainLine) -> Result<Vec<SourceFile>> {
    let open =
        |line: &FileLine| SourceFile::open(storage, &FileKind::Chain.name(line.file), line.length);
    chain.files.iter().map(open).collect()
}

fn open_segments(
    storage: &Directory,
    manifest: &Manifest,
) -> Result<Vec<(SegmentLine, SourceFile, Option<SourceFile>)>> {
    let open = |name: String, length| SourceFile::open(storage, &name, length);
    let of_line = |line: &SegmentLine| {
        let segment = open(FileKind::Segment.name(line.file), line.length)?;
        let deleted = line.deleted.as_ref();
        let deleted = deleted
            .map(|deleted| open(FileKind::Deleted.name(deleted.file), deleted.length))
            .transpose()?;
        Ok((line.clone(), segment, deleted))
    };
    manifest.segments.iter().map(of_line).collect()
}

impl SourceFile {
    fn open(storage: &Directory, name: &str, length: u64) -> Result<SourceFile> {
        let path = storage.path(name);
        let file = open_regular(&path, OpenOptions::new().read(true));
        let file = file.map_err(directory::at(storage, name, "open the file"))?;
        Ok(SourceFile { file, path, length })
    }

    /// Converts an error of reading the file.
    pub(crate) fn unreadable(&self, error: io::Error) -> Error {
        Error::io("read the file", error).at(&self.path)
    }
}
