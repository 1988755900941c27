//! The directory of an index: its files, and how changes become durable.
//!
//! ```text
//! manifest                        the current state, replaced by renaming
//! segment-00000000000000000001    a segment; never changed once written
//! deleted-00000000000000000002    the deletions of a segment; never changed once written
//! chain-00000000000000000003      digests of commits; never changed once written
//! lock                            held by the writer
//! ```
//!
//! File numbers are never reused, so a reader of an old manifest finds either its files or no file of that
//! name.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use super::chain::Chain;
use super::live::SegmentHandle;
use super::manifest::{FileLine, MANIFEST_BYTES_MAX, Manifest, SegmentLine};
use super::mapped_file::MappedFile;
use super::snapshot::Snapshot;
use super::storage::{self, NewFile, Storage, View};
use crate::digest::Digest;
use crate::encoding::symbols::Encoder;
use crate::segment::{Deleted, FinishProgress, FinishStep, Segment, SegmentBuilder};
use crate::{Error, ErrorKind, Result};

pub(super) const MANIFEST: &str = "manifest";
const MANIFEST_NEXT: &str = "manifest.next";

/// Size of write buffers; larger ones are not faster.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// Maximum number of attempts of a reader whose manifest is replaced, with its files removed, before they are
/// opened. Each retry means that a whole commit came in between.
const READ_ATTEMPTS_MAX: usize = 16;

/// The kinds of numbered files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment,
    Deleted,
    Chain,
}

/// Digits of the number in a file's name: those of the largest `u64`.
const NUMBER_DIGITS: usize = 20;

impl FileKind {
    const ALL: [FileKind; 3] = [FileKind::Segment, FileKind::Deleted, FileKind::Chain];

    fn prefix(self) -> &'static str {
        match self {
            FileKind::Segment => "segment-",
            FileKind::Deleted => "deleted-",
            FileKind::Chain => "chain-",
        }
    }

    /// The name of the file with a number.
    pub(super) fn name(self, file: u64) -> String {
        format!("{}{file:0NUMBER_DIGITS$}", self.prefix())
    }

    /// The number in a file's name; the inverse of [`name`](Self::name).
    fn number(self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix())?;
        let is_number =
            digits.len() == NUMBER_DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten()
    }
}

/// New files that no manifest refers to yet. Unless they are kept, they are removed on drop, so that failures
/// leave nothing behind.
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

    /// Writes a file and makes it durable. Returns the entry for the manifest.
    pub(super) fn write(
        &mut self,
        kind: FileKind,
        next_file: &mut u64,
        bytes: &[u8],
    ) -> Result<FileLine> {
        let (file, output) = self.create(kind, next_file)?;
        let written = write_all(output, bytes);
        written.map_err(at(&*self.storage, &kind.name(file), "write the file"))?;
        Ok(FileLine {
            file,
            length: bytes.len() as u64,
            checksum: Digest::of(bytes),
        })
    }

    /// The storage that has the files.
    pub(super) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Makes a state the current one: writes the next manifest under a temporary name, syncs the directory,
    /// renames, and syncs again. The content of the new files must already be durable. Without the first sync of
    /// the directory, a crash could keep the rename and lose the files: POSIX guarantees no order.
    pub(super) fn publish(mut self, manifest: &Manifest) -> Result<()> {
        self.names.push(MANIFEST_NEXT.to_owned());
        write_file(&*self.storage, MANIFEST_NEXT, &manifest.encode()?)?;
        self.storage
            .sync_names()
            .map_err(at(&*self.storage, "", "sync the directory"))?;
        // From here on the files must be kept: even a failed rename may have replaced the manifest.
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
            // Files that cannot be removed now are removed when the next writer opens.
            let _ = self.storage.remove(name);
        }
    }
}

/// Creates the next numbered file for writing. Skips numbers whose name is taken by another program's file.
pub(super) fn create_next(
    storage: &dyn Storage,
    kind: FileKind,
    next_file: &mut u64,
) -> Result<(u64, Box<dyn NewFile>)> {
    // Ends because every attempt has another number.
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

/// A segment under construction in a file.
#[derive(Debug)]
pub(super) struct FileBuilder {
    pub(super) builder: SegmentBuilder<SegmentOutput>,
    file: u64,
}

/// The output of a segment.
type SegmentOutput = BufWriter<Box<dyn NewFile>>;

impl FileBuilder {
    /// Creates the next file and starts a segment in it. Records are compressed if an encoder is given.
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
        self.finish_with(storage, &mut FinishProgress::new(&mut |_| ()))
    }

    /// As [`finish`](Self::finish), with progress.
    pub(super) fn finish_with(
        self,
        storage: &dyn Storage,
        progress: &mut FinishProgress<'_>,
    ) -> Result<SegmentHandle> {
        let FileBuilder { builder, file } = self;
        let output = builder.finish_with(progress);
        let output = output.map_err(|error| error.at(&path_of(storage, file)))?;
        sync_segment(storage, file, output)?;
        progress.end(FinishStep::SYNC);
        open_written(storage, file)
    }

    /// As [`finish_with`](Self::finish_with), with compressed records if that pays off: the segment is then written to the
    /// next file, because the symbols are made from a sample of all records.
    pub(super) fn finish_compressed(
        self,
        new: &mut NewFiles,
        next_file: &mut u64,
        progress: &mut FinishProgress<'_>,
    ) -> Result<SegmentHandle> {
        let storage = Arc::clone(&new.storage);
        if !self.builder.is_worth_compressing() {
            return self.finish_with(&*storage, progress);
        }
        let plain = FileKind::Segment.name(self.file);
        let (file, output) = new.create(FileKind::Segment, next_file)?;
        let output = BufWriter::with_capacity(WRITE_BUFFER_BYTES, output);
        let view = |_: &SegmentOutput| Ok(view(&*storage, &plain)?.bytes);
        let release = || remove(&*storage, &plain);
        let builder = self.builder;
        let output = builder.finish_compressed(output, view, release, progress);
        let output = output.map_err(|error| error.at(&path_of(&*storage, file)))?;
        sync_segment(&*storage, file, output)?;
        progress.end(FinishStep::SYNC);
        open_written(&*storage, file)
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

/// Opens a segment without deletions.
fn open_written(storage: &dyn Storage, file: u64) -> Result<SegmentHandle> {
    let (
        View {
            bytes,
            file: mapped,
        },
        path,
    ) = view_segment(storage, file)?;
    Ok(SegmentHandle {
        number: file,
        segment: Arc::new(Segment::written(bytes, Some(&path))?),
        path,
        deleted: Arc::default(),
        stored: None,
        file: mapped.map(Arc::new),
    })
}

/// Reads the current state, sharing the segments of a snapshot.
pub(super) fn read(
    storage: &dyn Storage,
    known: Option<&Snapshot>,
) -> Result<(Manifest, Snapshot)> {
    read_steadily(storage, |manifest| open_snapshot(storage, manifest, known))
}

/// Reads the current state if it or the files that it names are not those of the snapshot, sharing unchanged
/// segments.
pub(super) fn read_changed(storage: &dyn Storage, current: &Snapshot) -> Result<Option<Snapshot>> {
    let manifest = read_manifest(storage)?;
    if *manifest.revision().bytes() == current.revision() && has_files_of(current, &manifest) {
        return Ok(None);
    }
    read(storage, Some(current)).map(|(_, snapshot)| Some(snapshot))
}

/// Whether a snapshot has the files that a manifest of its revision names.
fn has_files_of(snapshot: &Snapshot, manifest: &Manifest) -> bool {
    let mut files = snapshot.segments.iter().zip(&manifest.segments);
    files.all(|(live, line)| live.number == line.file && !live.is_replaced())
}

/// Whether there is an index.
pub(super) fn exists(storage: &dyn Storage) -> Result<bool> {
    match read_manifest(storage) {
        Err(error) if error.kind() == ErrorKind::Missing => Ok(false),
        other => other.map(|_| true),
    }
}

/// Whether only an index can have written a file of that name. Everything else in the directory belongs to
/// other programs, even if its name is similar.
fn is_own_name(name: &str) -> bool {
    name == MANIFEST_NEXT || FileKind::ALL.iter().any(|kind| kind.number(name).is_some())
}

/// Removes leftovers of crashes: index files that the manifest does not refer to. Only for the holder of the
/// lock, before it writes anything.
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

/// Removes the files that the previous manifest refers to and the next one does not. Readers that have them
/// open are not affected. Neither manifest refers to files being written.
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

/// The files that a manifest refers to.
pub(super) fn files_of(manifest: &Manifest) -> impl Iterator<Item = (FileKind, u64)> + '_ {
    let of_line = |line: &SegmentLine| {
        let deleted = line.deleted.as_ref();
        [
            Some((FileKind::Segment, line.file)),
            deleted.map(|deleted| (FileKind::Deleted, deleted.file)),
        ]
    };
    let segments = manifest.segments.iter().flat_map(of_line).flatten();
    let chain = manifest.chain.files.iter();
    segments.chain(chain.map(|line| (FileKind::Chain, line.file)))
}

fn names_of(manifest: &Manifest) -> Vec<String> {
    files_of(manifest)
        .map(|(kind, file)| kind.name(file))
        .collect()
}

/// The manifest's entry of a segment.
pub(super) fn line(live: &SegmentHandle, deleted: Option<FileLine>) -> SegmentLine {
    SegmentLine {
        file: live.number,
        length: live.segment.file_size(),
        table: live.segment.table_digest(),
        deleted,
    }
}

/// Reads the files of the manifest, and retries if a writer has replaced the manifest meanwhile.
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
        // If the manifest is still the same, no writer has removed the file.
        if error.kind() != ErrorKind::Missing || current == manifest {
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

/// Opens the files of a manifest, sharing those of a snapshot of the same index.
pub(super) fn open_snapshot(
    storage: &dyn Storage,
    manifest: &Manifest,
    known: Option<&Snapshot>,
) -> Result<Snapshot> {
    let earlier = known.filter(|known| known.identity() == manifest.identity);
    let chain = Chain::open(storage, &manifest.chain, earlier.map(|known| &known.chain))?;
    let known = earlier.map_or(&[][..], |known| &known.segments);
    let open = |line: &SegmentLine| {
        let is_shared = |live: &&SegmentHandle| {
            live.number == line.file && is_named(&live.segment, line) && !live.is_replaced()
        };
        let (segment, file) = match known.iter().find(is_shared) {
            Some(live) => (Arc::clone(&live.segment), live.file.clone()),
            None => open_segment(storage, line)?,
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
            stored: None,
            file,
        })
    };
    let segments = manifest.segments.iter().map(open).collect::<Result<_>>()?;
    let snapshot = Snapshot::new(manifest, segments, chain);
    Ok(match earlier {
        Some(earlier) => snapshot.following(earlier),
        None => snapshot,
    })
}

fn path_of(storage: &dyn Storage, file: u64) -> Arc<Path> {
    storage.path(&FileKind::Segment.name(file)).into()
}

/// Whether a segment is the one in an entry of the manifest.
fn is_named(segment: &Segment, line: &SegmentLine) -> bool {
    segment.file_size() == line.length && segment.table_digest() == line.table
}

fn open_segment(
    storage: &dyn Storage,
    line: &SegmentLine,
) -> Result<(Arc<Segment>, Option<Arc<MappedFile>>)> {
    let (View { bytes, file }, path) = view_segment(storage, line.file)?;
    let segment = Segment::open(bytes, Some(&path))?;
    if !is_named(&segment, line) {
        return Err(Error::foreign(
            "this is a segment of another index, or of another state of this one: its section \
             table is not the one that the manifest names",
        )
        .at(&path));
    }
    Ok((Arc::new(segment), file.map(Arc::new)))
}

pub(super) fn view(storage: &dyn Storage, name: &str) -> Result<View> {
    storage
        .view(name)
        .map_err(at(storage, name, "open the file"))
}

fn view_segment(storage: &dyn Storage, file: u64) -> Result<(View, Arc<Path>)> {
    let view = view(storage, &FileKind::Segment.name(file))?;
    Ok((view, path_of(storage, file)))
}

fn read_deleted(storage: &dyn Storage, line: &FileLine, segment: &Segment) -> Result<Deleted> {
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

/// Writes or replaces a small file, and makes its content durable.
pub(super) fn write_file(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<()> {
    let created = match storage.create(name) {
        // The leftover of a crash: `create` never overwrites a file.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            storage.remove(name).and_then(|()| storage.create(name))
        }
        created => created,
    };
    let written = created.and_then(|file| write_all(file, bytes));
    written.map_err(at(storage, name, "write the file"))
}

/// Writes a whole file and makes it durable.
fn write_all(mut file: Box<dyn NewFile>, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync()
}

/// Converts an error of the operating system, adding the file.
pub(super) fn at<'s>(
    storage: &'s dyn Storage,
    name: &'s str,
    doing: &'s str,
) -> impl FnOnce(io::Error) -> Error + 's {
    move |error| storage::of_file(doing, error).at(&storage.path(name))
}
