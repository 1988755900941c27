//! The directory of an index: its files, and the steps that make a change durable.
//!
//! ```text
//! manifest                        the current state, replaced by renaming
//! segment-00000000000000000001    a segment; never changed once written
//! deleted-00000000000000000002    what is deleted of a segment; never changed once written
//! lock                            held by the writer
//! ```
//!
//! File numbers are never used twice, so a reader that opens an old manifest finds either the
//! files it names or none of that name.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use super::deleted::Deleted;
use super::live::LiveSegment;
use super::manifest::{DeletedLine, Manifest, SegmentLine};
use super::snapshot::Snapshot;
use super::storage::{NewFile, Storage};
use crate::segment::{Segment, SegmentBuilder};
use crate::{Error, Result};

pub(super) const MANIFEST: &str = "manifest";
const MANIFEST_NEXT: &str = "manifest.next";

/// Bytes that are gathered before they are written; larger buffers measured no faster.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// How often a reader starts again when the files of the manifest that it read are gone, because
/// a writer has replaced it meanwhile. Each time, a whole commit has to have come in between.
const READ_ATTEMPTS_MAX: usize = 16;

/// A segment that is being built in a file.
#[derive(Debug)]
pub(super) struct FileBuilder {
    pub(super) builder: SegmentBuilder<BufWriter<Box<dyn NewFile>>>,
    file: u64,
}

impl FileBuilder {
    /// Begins a segment in the file of a number.
    pub(super) fn create(storage: &dyn Storage, file: u64) -> Result<FileBuilder> {
        let name = segment_name(file);
        let output = storage
            .create(&name)
            .map_err(at(storage, &name, "create the file"))?;
        let output = BufWriter::with_capacity(WRITE_BUFFER_BYTES, output);
        let builder =
            SegmentBuilder::new(output).map_err(|error| error.at(&storage.path(&name)))?;
        Ok(FileBuilder { builder, file })
    }

    /// Finishes the segment, makes it durable and opens it.
    pub(super) fn finish(self, storage: &dyn Storage) -> Result<LiveSegment> {
        let name = segment_name(self.file);
        let output = self
            .builder
            .finish()
            .map_err(|error| error.at(&storage.path(&name)))?;
        let synced = output
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|mut file| file.sync());
        synced.map_err(at(storage, &name, "write the file"))?;
        let segment = Arc::new(open_segment(storage, self.file)?);
        Ok(LiveSegment {
            number: self.file,
            segment,
            deleted: Arc::default(),
        })
    }
}

/// Reads the current state.
pub(super) fn read(storage: &dyn Storage) -> Result<(Manifest, Snapshot)> {
    read_sharing(storage, &[])
}

/// Reads the current state if it is another than the snapshot's, sharing what did not change.
pub(super) fn read_changed(storage: &dyn Storage, current: &Snapshot) -> Result<Option<Snapshot>> {
    if read_manifest(storage)?.generation == current.generation() {
        return Ok(None);
    }
    read_sharing(storage, &current.segments).map(|(_, snapshot)| Some(snapshot))
}

/// Whether there is an index.
pub(super) fn exists(storage: &dyn Storage) -> Result<bool> {
    match read_manifest(storage) {
        Err(error) if error.is_missing() => Ok(false),
        other => other.map(|_| true),
    }
}

/// Makes a state the current one: writes the next manifest beside it, syncs, renames, syncs the
/// names. The files that it names have to be durable already.
pub(super) fn publish(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    write_file(storage, MANIFEST_NEXT, &manifest.encode()?)?;
    storage
        .rename(MANIFEST_NEXT, MANIFEST)
        .and_then(|()| storage.sync_names())
        .map_err(at(storage, MANIFEST, "replace the manifest"))
}

/// Writes what is deleted of a segment and says what the manifest has to.
pub(super) fn write_deleted(
    storage: &dyn Storage,
    file: u64,
    deleted: &Deleted,
) -> Result<DeletedLine> {
    let bytes = deleted.encode();
    write_file(storage, &deleted_name(file), &bytes)?;
    Ok(DeletedLine {
        file,
        length: bytes.len() as u64,
        checksum: crc32c::crc32c(&bytes),
    })
}

/// Removes what crashes have left: our files that the manifest does not name. Only for the holder
/// of the lock, and only before it writes anything itself.
pub(super) fn remove_leftovers(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let named = names_of(manifest);
    let names = storage
        .names()
        .map_err(at(storage, "", "list the directory"))?;
    let is_ours = |name: &String| {
        name.starts_with("segment-") || name.starts_with("deleted-") || name == MANIFEST_NEXT
    };
    names
        .iter()
        .filter(|name| is_ours(name) && !named.contains(name))
        .try_for_each(|name| remove(storage, name))
}

/// Removes the files that one manifest named and the next does not. Readers that have them open
/// keep them. A file that is being written is named by neither.
pub(super) fn remove_replaced(
    storage: &dyn Storage,
    before: &Manifest,
    now: &Manifest,
) -> Result<()> {
    let named = names_of(now);
    names_of(before)
        .iter()
        .filter(|name| !named.contains(name))
        .try_for_each(|name| remove(storage, name))
}

/// Removes the file of a segment that no manifest has named.
pub(super) fn remove_segment(storage: &dyn Storage, file: u64) -> Result<()> {
    remove(storage, &segment_name(file))
}

pub(super) fn remove(storage: &dyn Storage, name: &str) -> Result<()> {
    storage
        .remove(name)
        .map_err(at(storage, name, "remove the file"))
}

/// The files that a manifest names.
fn names_of(manifest: &Manifest) -> Vec<String> {
    let of_line = |line: &SegmentLine| {
        let deleted = line.deleted.as_ref();
        [
            Some(segment_name(line.file)),
            deleted.map(|deleted| deleted_name(deleted.file)),
        ]
    };
    let lines = manifest.segments.iter().flat_map(of_line);
    lines.flatten().collect()
}

/// The manifest's line of a segment.
pub(super) fn line(live: &LiveSegment, deleted: Option<DeletedLine>) -> SegmentLine {
    SegmentLine {
        file: live.number,
        length: live.segment.file_size(),
        deleted,
    }
}

fn read_sharing(storage: &dyn Storage, known: &[LiveSegment]) -> Result<(Manifest, Snapshot)> {
    read_steadily(storage, |manifest| open_snapshot(storage, manifest, known))
}

/// Reads something of all files that the manifest names; starts again where a writer has replaced
/// the manifest meanwhile.
pub(super) fn read_steadily<T>(
    storage: &dyn Storage,
    mut read: impl FnMut(&Manifest) -> Result<T>,
) -> Result<(Manifest, T)> {
    let mut manifest = read_manifest(storage)?;
    for _ in 0..READ_ATTEMPTS_MAX {
        let error = match read(&manifest) {
            Ok(found) => return Ok((manifest, found)),
            Err(error) => error,
        };
        let current = read_manifest(storage)?;
        if !error.is_missing() || current == manifest {
            return Err(error);
        }
        manifest = current;
    }
    Err(Error::missing(
        "the index changed faster than it could be read",
    ))
}

fn read_manifest(storage: &dyn Storage) -> Result<Manifest> {
    let path = storage.path(MANIFEST);
    let bytes = storage.read(MANIFEST).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Error::missing("there is no index here: the manifest is missing").at(&path)
        }
        _ => Error::io("read the manifest", error).at(&path),
    })?;
    Manifest::decode(&bytes).map_err(|error| error.at(&path))
}

/// Opens what a manifest names, sharing the segments that are known.
pub(super) fn open_snapshot(
    storage: &dyn Storage,
    manifest: &Manifest,
    known: &[LiveSegment],
) -> Result<Snapshot> {
    let open = |line: &SegmentLine| {
        let shared = known.iter().find(|live| live.number == line.file);
        let segment = match shared {
            Some(live) => Arc::clone(&live.segment),
            None => Arc::new(open_segment(storage, line.file)?),
        };
        if segment.file_size() != line.length {
            let path = storage.path(&segment_name(line.file));
            return Err(Error::corrupt("the file is not as long as the manifest says").at(&path));
        }
        let deleted = match &line.deleted {
            Some(deleted) => read_deleted(storage, deleted, &segment)?,
            None => Deleted::default(),
        };
        Ok(LiveSegment {
            number: line.file,
            segment,
            deleted: Arc::new(deleted),
        })
    };
    let segments = manifest.segments.iter().map(open).collect::<Result<_>>()?;
    Ok(Snapshot::new(manifest.generation, segments))
}

fn open_segment(storage: &dyn Storage, file: u64) -> Result<Segment> {
    let name = segment_name(file);
    let bytes = storage
        .view(&name)
        .map_err(at(storage, &name, "open the file"))?;
    Segment::new(bytes).map_err(|error| error.at(&storage.path(&name)))
}

fn read_deleted(storage: &dyn Storage, line: &DeletedLine, segment: &Segment) -> Result<Deleted> {
    let name = deleted_name(line.file);
    let bytes = storage
        .read(&name)
        .map_err(at(storage, &name, "read the file"))?;
    let is_whole = bytes.len() as u64 == line.length && crc32c::crc32c(&bytes) == line.checksum;
    match is_whole {
        true => Deleted::decode(&bytes, segment),
        false => Err(Error::corrupt(
            "the file does not match the manifest's checksum",
        )),
    }
    .map_err(|error| error.at(&storage.path(&name)))
}

pub(super) fn write_file(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<()> {
    let written = storage.create(name).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync()
    });
    written.map_err(at(storage, name, "write the file"))
}

/// Turns an error of the operating system into ours, naming the file.
pub(super) fn at<'s>(
    storage: &'s dyn Storage,
    name: &'s str,
    doing: &'s str,
) -> impl FnOnce(io::Error) -> Error + 's {
    move |error| {
        let path = storage.path(name);
        match error.kind() {
            io::ErrorKind::NotFound => Error::missing("there is no such file").at(&path),
            _ => Error::io(doing, error).at(&path),
        }
    }
}

pub(super) fn segment_name(file: u64) -> String {
    format!("segment-{file:020}")
}

pub(super) fn deleted_name(file: u64) -> String {
    format!("deleted-{file:020}")
}
