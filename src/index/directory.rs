//! The directory of an index: its files, and the steps that make a change durable.
//!
//! ```text
//! manifest                        the current state, replaced by renaming
//! segment-00000000000000000001    a segment; never changed once written
//! deleted-00000000000000000002    what is deleted of a segment; never changed once written
//! ```
//!
//! File numbers are never used twice, so a reader that opens an old manifest finds either the
//! files it names or none of that name.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::deleted::Deleted;
use super::live::LiveSegment;
use super::manifest::{Manifest, SegmentLine};
use super::snapshot::Snapshot;
use crate::segment::Segment;
use crate::{Error, Result};

const MANIFEST: &str = "manifest";
const MANIFEST_NEXT: &str = "manifest.next";

/// A segment file that is being written.
#[derive(Debug)]
pub(super) struct NewSegment {
    file: u64,
    path: PathBuf,
}

impl NewSegment {
    pub(super) fn new(directory: &Path, file: u64) -> NewSegment {
        NewSegment { file, path: segment_path(directory, file) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file, in place of what a crash may have left of that name.
    pub(super) fn create_file(&self) -> Result<File> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&self.path)
            .map_err(|error| Error::io("create the file", error).at(&self.path))
    }

    /// Makes the written file durable and says what the manifest has to.
    pub(super) fn sync(&self, output: BufWriter<File>) -> Result<SegmentLine> {
        let synced = output.into_inner().map_err(|error| error.into_error()).and_then(|file| {
            file.sync_all()?;
            Ok(file.metadata()?.len())
        });
        let length = synced.map_err(|error| Error::io("write the file", error).at(&self.path))?;
        Ok(SegmentLine { file: self.file, length, deleted: None })
    }
}

/// Reads the current state of a directory.
pub(super) fn read(directory: &Path) -> Result<Snapshot> {
    open_snapshot(directory, &read_manifest(directory)?, &[])
}

/// Reads the state of a directory if it is newer than a snapshot, sharing segments with it.
pub(super) fn read_newer(directory: &Path, current: &Snapshot) -> Result<Option<Snapshot>> {
    let manifest = read_manifest(directory)?;
    if manifest.generation == current.generation() {
        return Ok(None);
    }
    open_snapshot(directory, &manifest, &current.segments).map(Some)
}

/// Prepares a directory for its first segment.
pub(super) fn create(directory: &Path) -> Result<NewSegment> {
    fs::create_dir_all(directory)
        .map_err(|error| Error::io("create the directory", error).at(directory))?;
    let manifest = directory.join(MANIFEST);
    if manifest.exists() {
        return Err(Error::invalid("there is an index here already").at(directory));
    }
    Ok(NewSegment::new(directory, 1))
}

/// Makes the first segment of a directory durable and visible.
pub(super) fn publish_first(
    directory: &Path,
    segment: NewSegment,
    output: BufWriter<File>,
) -> Result<()> {
    let line = segment.sync(output)?;
    let manifest = Manifest { generation: 1, next_file: line.file + 1, segments: vec![line] };
    write_manifest(directory, &manifest)
}

/// Replaces the manifest: writes the next one beside it, syncs, renames, syncs the directory.
pub(super) fn write_manifest(directory: &Path, manifest: &Manifest) -> Result<()> {
    let next = directory.join(MANIFEST_NEXT);
    let bytes = manifest.encode()?;
    let written = File::create(&next).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&next, directory.join(MANIFEST))?;
        File::open(directory)?.sync_all()
    });
    written.map_err(|error| Error::io("write the manifest", error).at(&next))
}

fn read_manifest(directory: &Path) -> Result<Manifest> {
    let path = directory.join(MANIFEST);
    let bytes = fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::missing("there is no index here: the manifest is missing").at(&path)
        }
        _ => Error::io("read the manifest", error).at(&path),
    })?;
    Manifest::decode(&bytes).map_err(|error| error.at(&path))
}

fn open_snapshot(
    directory: &Path,
    manifest: &Manifest,
    known: &[LiveSegment],
) -> Result<Snapshot> {
    let segments = manifest
        .segments
        .iter()
        .map(|line| {
            let shared = known.iter().find(|live| live.number == line.file);
            let segment = match shared {
                Some(live) => Arc::clone(&live.segment),
                None => Arc::new(open_segment(directory, line)?),
            };
            Ok(LiveSegment {
                number: line.file,
                segment,
                deleted: Arc::new(Deleted::default()),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Snapshot::new(manifest.generation, segments))
}

fn open_segment(directory: &Path, line: &SegmentLine) -> Result<Segment> {
    let path = segment_path(directory, line.file);
    let segment = Segment::open(&path)?;
    match segment.file_size() == line.length {
        true => Ok(segment),
        false => Err(Error::corrupt("the file is not as long as the manifest says").at(&path)),
    }
}

fn segment_path(directory: &Path, file: u64) -> PathBuf {
    directory.join(format!("segment-{file:020}"))
}
