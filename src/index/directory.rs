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
use std::path::Path;
use std::sync::Arc;

use super::live::SegmentHandle;
use super::manifest::{DeletedLine, MANIFEST_BYTES_MAX, Manifest, SegmentLine};
use super::snapshot::Snapshot;
use super::storage::{self, NewFile, Storage};
use crate::digest::Digest;
use crate::encoding::bytes::Bytes;
use crate::encoding::symbols::Encoder;
use crate::segment::{Deleted, Segment, SegmentBuilder, compress};
use crate::{Error, Result};

pub(super) const MANIFEST: &str = "manifest";
const MANIFEST_NEXT: &str = "manifest.next";

/// Bytes that are gathered before they are written; larger buffers measured no faster.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// How often a reader starts again when the files of the manifest that it read are gone, because
/// a writer has replaced it meanwhile. Each time, a whole commit has to have come in between.
const READ_ATTEMPTS_MAX: usize = 16;

/// What a numbered file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment,
    Deleted,
}

/// Digits of the number in a file's name: as many as the largest `u64` has.
const NUMBER_DIGITS: usize = 20;

impl FileKind {
    const ALL: [FileKind; 2] = [FileKind::Segment, FileKind::Deleted];

    fn prefix(self) -> &'static str {
        match self {
            FileKind::Segment => "segment-",
            FileKind::Deleted => "deleted-",
        }
    }

    /// The name of the file of a number.
    pub(super) fn name(self, file: u64) -> String {
        format!("{}{file:0NUMBER_DIGITS$}", self.prefix())
    }

    /// The number of the file of a name, where [`name`](Self::name) gives that name.
    fn number(self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix())?;
        let is_number =
            digits.len() == NUMBER_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten()
    }
}

/// Files that were written and that no manifest names yet. Unless they are kept, they are removed
/// when this is dropped: what fails leaves nothing behind.
#[derive(Debug)]
pub(super) struct NewFiles {
    storage: Arc<dyn Storage>,
    names: Vec<String>,
}

impl NewFiles {
    /// No files so far.
    pub(super) fn new(storage: &Arc<dyn Storage>) -> NewFiles {
        NewFiles {
            storage: Arc::clone(storage),
            names: Vec::new(),
        }
    }

    /// Creates the next numbered file.
    fn create(&mut self, kind: FileKind, next_file: &mut u64) -> Result<(u64, Box<dyn NewFile>)> {
        let (file, output) = create_next(&*self.storage, kind, next_file)?;
        self.names.push(kind.name(file));
        Ok((file, output))
    }

    /// Writes what is deleted of a segment and says what the manifest has to.
    pub(super) fn write_deleted(
        &mut self,
        next_file: &mut u64,
        deleted: &Deleted,
    ) -> Result<DeletedLine> {
        let bytes = deleted.encode();
        let (file, output) = self.create(FileKind::Deleted, next_file)?;
        let written = write_all(output, &bytes);
        let name = FileKind::Deleted.name(file);
        written.map_err(at(&*self.storage, &name, "write the file"))?;
        Ok(DeletedLine {
            file,
            length: bytes.len() as u64,
            checksum: Digest::of(&bytes),
        })
    }

    /// Makes a state the current one: writes the next manifest beside it, syncs the names of the
    /// new files, renames, syncs again. What the new files hold has to be durable already. Without
    /// the first sync of names a crash could keep the rename and lose the files: POSIX promises no
    /// order.
    pub(super) fn publish(mut self, manifest: &Manifest) -> Result<()> {
        self.names.push(MANIFEST_NEXT.to_owned());
        write_file(&*self.storage, MANIFEST_NEXT, &manifest.encode()?)?;
        self.storage
            .sync_names()
            .map_err(at(&*self.storage, "", "sync the directory"))?;
        // Once the rename is asked for, the manifest may name the files even where it fails.
        self.names.clear();
        self.storage
            .rename(MANIFEST_NEXT, MANIFEST)
            .and_then(|()| self.storage.sync_names())
            .map_err(at(&*self.storage, MANIFEST, "replace the manifest"))
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for name in &self.names {
            // What cannot be removed now is removed when the next writer opens.
            let _ = self.storage.remove(name);
        }
    }
}

/// Creates the next numbered file, for writing. A number whose name something else has is passed
/// over: nothing of ours can have it.
pub(super) fn create_next(
    storage: &dyn Storage,
    kind: FileKind,
    next_file: &mut u64,
) -> Result<(u64, Box<dyn NewFile>)> {
    loop {
        let file = *next_file;
        *next_file += 1;
        let name = kind.name(file);
        match storage.create(&name) {
            Ok(output) => return Ok((file, output)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at(storage, &name, "create the file")(error)),
        }
    }
}

/// A segment that is being built in a file.
#[derive(Debug)]
pub(super) struct FileBuilder {
    pub(super) builder: SegmentBuilder<SegmentOutput>,
    file: u64,
}

/// Where a segment is written to.
type SegmentOutput = BufWriter<Box<dyn NewFile>>;

impl FileBuilder {
    /// Creates the next file and begins a segment in it, whose records are compressed by an encoder, if
    /// there is one.
    pub(super) fn create(
        new: &mut NewFiles,
        next_file: &mut u64,
        encoder: Option<Encoder>,
    ) -> Result<FileBuilder> {
        let (file, output) = new.create(FileKind::Segment, next_file)?;
        let output = BufWriter::with_capacity(WRITE_BUFFER_BYTES, output);
        let path = new.storage.path(&FileKind::Segment.name(file));
        let builder = SegmentBuilder::with_encoder(output, encoder);
        let builder = builder.map_err(|error| error.at(&path))?;
        Ok(FileBuilder { builder, file })
    }

    /// Finishes the segment, makes it durable and opens it.
    pub(super) fn finish(self, storage: &dyn Storage) -> Result<SegmentHandle> {
        let file = self.file;
        let output = self.finish_unsynced(storage)?;
        sync_segment(storage, file, output)?;
        open_written(storage, file)
    }

    /// As [`finish`](Self::finish), its records compressed where that is worth it: then the segment is
    /// written once more, to the next file, since symbols are made from texts all over it.
    pub(super) fn finish_compressed(
        self,
        new: &mut NewFiles,
        next_file: &mut u64,
    ) -> Result<SegmentHandle> {
        let storage = Arc::clone(&new.storage);
        if !self.builder.is_worth_compressing() {
            return self.finish(&*storage);
        }
        let file = self.file;
        let output = self.finish_unsynced(&*storage)?;
        let plain = open_written(&*storage, file)?.segment;
        let (compressed, target) = new.create(FileKind::Segment, next_file)?;
        let target = BufWriter::with_capacity(WRITE_BUFFER_BYTES, target);
        let path = path_of(&*storage, compressed);
        let view = || view_bytes(&*storage, &FileKind::Segment.name(file));
        let target = compress(&plain, view, target).map_err(|error| error.at(&path))?;
        drop((plain, output));
        remove(&*storage, &FileKind::Segment.name(file))?;
        sync_segment(&*storage, compressed, target)?;
        open_written(&*storage, compressed)
    }

    /// Writes all of the segment.
    fn finish_unsynced(self, storage: &dyn Storage) -> Result<SegmentOutput> {
        let path = path_of(storage, self.file);
        self.builder.finish().map_err(|error| error.at(&path))
    }
}

/// Makes a written segment durable.
fn sync_segment(storage: &dyn Storage, file: u64, output: SegmentOutput) -> Result<()> {
    let synced = output
        .into_inner()
        .map_err(io::IntoInnerError::into_error)
        .and_then(|mut file| file.sync());
    synced.map_err(at(storage, &FileKind::Segment.name(file), "write the file"))
}

/// Opens a segment of which nothing is deleted yet.
fn open_written(storage: &dyn Storage, file: u64) -> Result<SegmentHandle> {
    let (bytes, path) = view_segment(storage, file)?;
    Ok(SegmentHandle {
        number: file,
        segment: Arc::new(Segment::written(bytes, Some(&path))?),
        path,
        deleted: Arc::default(),
    })
}

/// Reads the current state, sharing the segments of a snapshot.
pub(super) fn read(
    storage: &dyn Storage,
    known: Option<&Snapshot>,
) -> Result<(Manifest, Snapshot)> {
    read_steadily(storage, |manifest| open_snapshot(storage, manifest, known))
}

/// Reads the current state if it is another than the snapshot's, sharing what did not change.
pub(super) fn read_changed(storage: &dyn Storage, current: &Snapshot) -> Result<Option<Snapshot>> {
    if read_manifest(storage)?.revision() == current.revision() {
        return Ok(None);
    }
    read(storage, Some(current)).map(|(_, snapshot)| Some(snapshot))
}

/// Whether there is an index.
pub(super) fn exists(storage: &dyn Storage) -> Result<bool> {
    match read_manifest(storage) {
        Err(error) if error.is_missing() => Ok(false),
        other => other.map(|_| true),
    }
}

/// Whether a file of that name can only have been written by an index. Everything else in the
/// directory belongs to another program, however similar its name.
fn is_own_name(name: &str) -> bool {
    name == MANIFEST_NEXT || FileKind::ALL.iter().any(|kind| kind.number(name).is_some())
}

/// Removes what crashes have left: our files that the manifest does not name. Only for the holder
/// of the lock, and only before it writes anything itself.
pub(super) fn remove_leftovers(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let named = names_of(manifest);
    let names = storage
        .names()
        .map_err(at(storage, "", "list the directory"))?;
    names
        .iter()
        .filter(|name| is_own_name(name) && !named.contains(name))
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
            Some(FileKind::Segment.name(line.file)),
            deleted.map(|deleted| FileKind::Deleted.name(deleted.file)),
        ]
    };
    let lines = manifest.segments.iter().flat_map(of_line);
    lines.flatten().collect()
}

/// The manifest's line of a segment.
pub(super) fn line(live: &SegmentHandle, deleted: Option<DeletedLine>) -> SegmentLine {
    SegmentLine {
        file: live.number,
        length: live.segment.file_size(),
        table: live.segment.table_digest(),
        deleted,
    }
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
    let bytes = storage
        .read(MANIFEST, MANIFEST_BYTES_MAX as u64)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Error::missing("there is no index here: the manifest is missing").at(&path)
            }
            _ => storage::of_file("read the manifest", error).at(&path),
        })?;
    Manifest::decode(&bytes).map_err(|error| error.at(&path))
}

/// Opens what a manifest names, sharing the segments of a snapshot of the same index.
pub(super) fn open_snapshot(
    storage: &dyn Storage,
    manifest: &Manifest,
    known: Option<&Snapshot>,
) -> Result<Snapshot> {
    let known = known.filter(|known| known.identity() == manifest.identity);
    let known = known.map_or(&[][..], |known| &known.segments);
    let open = |line: &SegmentLine| {
        let shared = known
            .iter()
            .find(|live| live.number == line.file && is_named(&live.segment, line));
        let segment = match shared {
            Some(live) => Arc::clone(&live.segment),
            None => Arc::new(open_segment(storage, line)?),
        };
        let deleted = match &line.deleted {
            Some(deleted) => read_deleted(storage, deleted, &segment)?,
            None => Deleted::default(),
        };
        Ok(SegmentHandle {
            number: line.file,
            path: path_of(storage, line.file),
            segment,
            deleted: Arc::new(deleted),
        })
    };
    let segments = manifest.segments.iter().map(open).collect::<Result<_>>()?;
    Ok(Snapshot::new(manifest, segments))
}

fn path_of(storage: &dyn Storage, file: u64) -> Arc<Path> {
    storage.path(&FileKind::Segment.name(file)).into()
}

/// Whether a segment is the one that a line of the manifest means.
fn is_named(segment: &Segment, line: &SegmentLine) -> bool {
    segment.file_size() == line.length && segment.table_digest() == line.table
}

fn open_segment(storage: &dyn Storage, line: &SegmentLine) -> Result<Segment> {
    let (bytes, path) = view_segment(storage, line.file)?;
    let segment = Segment::open(bytes, Some(&path))?;
    if !is_named(&segment, line) {
        return Err(Error::foreign(
            "this is a segment of another index, or of another state of this one: its section \
             table is not the one that the manifest names",
        )
        .at(&path));
    }
    Ok(segment)
}

fn view_bytes(storage: &dyn Storage, name: &str) -> Result<Bytes> {
    storage
        .view(name)
        .map_err(at(storage, name, "open the file"))
}

fn view_segment(storage: &dyn Storage, file: u64) -> Result<(Bytes, Arc<Path>)> {
    let bytes = view_bytes(storage, &FileKind::Segment.name(file))?;
    Ok((bytes, path_of(storage, file)))
}

fn read_deleted(storage: &dyn Storage, line: &DeletedLine, segment: &Segment) -> Result<Deleted> {
    let name = FileKind::Deleted.name(line.file);
    let bytes = storage
        .read(&name, line.length)
        .map_err(at(storage, &name, "read the file"))?;
    let is_whole = bytes.len() as u64 == line.length && Digest::of(&bytes) == line.checksum;
    if is_whole {
        Deleted::decode(&bytes, segment)
    } else {
        Err(Error::corrupt(
            "the file does not match the manifest's checksum",
        ))
    }
    .map_err(|error| error.at(&storage.path(&name)))
}

/// Writes a small file in place of what has its name, and makes its content durable.
pub(super) fn write_file(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<()> {
    let created = match storage.create(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            storage.remove(name).and_then(|()| storage.create(name))
        }
        created => created,
    };
    let written = created.and_then(|file| write_all(file, bytes));
    written.map_err(at(storage, name, "write the file"))
}

/// Writes all of a file and makes it durable.
fn write_all(mut file: Box<dyn NewFile>, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync()
}

/// Turns an error of the operating system into ours, naming the file.
pub(super) fn at<'s>(
    storage: &'s dyn Storage,
    name: &'s str,
    doing: &'s str,
) -> impl FnOnce(io::Error) -> Error + 's {
    move |error| storage::of_file(doing, error).at(&storage.path(name))
}
