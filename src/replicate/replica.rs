//! A replica: a copy of a published index that moves forward generation by generation.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::error::{ReplicaError, ReplicaErrorKind, ReplicaResult};
use super::origin::{FileOrigins, ORIGIN};
use super::publication::{Publication, PublishedFile, PublishedSegment};
use super::store::{PIECE_BYTES, Store, manifest_name, object_name};
use crate::digest::Digest;
use crate::index::{ChainLine, FileKind, FileLine, Mirror, NewFile, SegmentLine};
use crate::{Error, ErrorKind, Index, Result};

/// How many generations to try, newest first, if the newest cannot be loaded.
const CANDIDATES_MAX: usize = 4;

/// A copy of a published index in a directory of its own.
#[derive(Debug)]
pub struct Replica {
    store: Store,
    mirror: Mirror,
    index: Index,
    /// The files in the directory, by object.
    files: HashMap<Digest, (FileKind, u64)>,
    /// The result of opening.
    opening: Progress,
}

/// The result of one [`sync`](Replica::sync).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// The generation being served.
    pub generation: u64,
    /// The newest published generation, as far as known.
    pub newest: u64,
    /// Whether the served generation has changed.
    pub changed: bool,
    /// Whether damaged files of the copy were fetched again, or are no longer needed.
    pub repaired: bool,
    /// Whether it belongs to another index than before, because the publisher has rebuilt its index.
    pub replaced: bool,
    /// Objects that were fetched.
    pub objects_fetched: u64,
    /// Fetched bytes, including objects that were then refused.
    pub bytes_fetched: u64,
    /// Whether the store answered, and has the served generation or a newer one.
    pub store_answered: bool,
    /// Why the newest generation is not being served.
    pub error: Option<ReplicaError>,
}

/// The generation to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The newest that can be loaded.
    Newest,
    /// Only this one.
    Exactly(u64),
}

/// A replica before its first generation.
struct Copying<'r> {
    store: &'r Store,
    mirror: &'r mut Mirror,
    files: &'r mut HashMap<Digest, (FileKind, u64)>,
}

impl Replica {
    /// Opens the copy in a directory and brings it up to date. If the store cannot be reached, an existing
    /// copy is served; [`opening`](Self::opening) then has the error.
    ///
    /// # Errors
    /// There is no copy, and none can be fetched. [`Locked`](crate::ErrorKind::Locked) while another process uses
    /// the directory; [`Invalid`](crate::ErrorKind::Invalid) if it contains an original index or a copy of another
    /// store.
    ///
    /// Cost: that of [`Index::open`], and of fetching new objects.
    pub async fn open(store: Store, directory: &Path) -> ReplicaResult<Replica> {
        Replica::open_at(store, directory, Wanted::Newest).await
    }

    /// Opens the copy in a directory without contacting the store, which may be slow or gone; `None` if there
    /// is no copy. [`follow`](Self::follow) or [`sync`](Self::sync) bring it up to date.
    ///
    /// # Errors
    /// As [`open`](Self::open), except those of the store.
    ///
    /// Cost: that of [`Index::open`].
    pub fn open_copy(store: Store, directory: &Path) -> ReplicaResult<Option<Replica>> {
        let mut mirror = Mirror::lock(directory)?;
        let files = recover(&store, &mut mirror).map_err(|error| error.at(directory))?;
        let opening = Progress {
            generation: mirror.generation(),
            newest: mirror.generation(),
            ..Progress::default()
        };
        Ok(mirror.index().cloned().map(|index| Replica {
            store,
            mirror,
            index,
            files,
            opening,
        }))
    }

    /// As [`open`](Self::open), for a specific generation.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_at(store: Store, directory: &Path, wanted: Wanted) -> ReplicaResult<Replica> {
        let mut mirror = Mirror::lock(directory)?;
        let mut files = recover(&store, &mut mirror).map_err(|error| error.at(directory))?;
        let mut opening = Progress::default();
        let copying = Copying {
            store: &store,
            mirror: &mut mirror,
            files: &mut files,
        };
        copying.sync(wanted, &mut opening).await;
        let Some(index) = mirror.index().cloned() else {
            return Err(opening.error.unwrap_or_else(|| {
                Error::missing("nothing is published in the store yet, and there is no copy").into()
            }));
        };
        Ok(Replica {
            store,
            mirror,
            index,
            files,
            opening,
        })
    }

    /// The index, whose snapshots follow the installed generations.
    pub fn index(&self) -> Index {
        self.index.clone()
    }

    /// The result of opening.
    pub fn opening(&self) -> &Progress {
        &self.opening
    }

    /// Whether the store was contacted when this was opened.
    pub(super) fn has_asked(&self) -> bool {
        self.opening.store_answered || self.opening.error.is_some()
    }

    /// Whether a file of the copy is known to be damaged or was overwritten. Nothing is read but the times of files.
    pub(super) fn is_damaged(&self) -> bool {
        // What cannot be examined now is examined at the next look.
        let _ = self.index.look();
        self.index.snapshot().is_damaged()
    }

    /// The newest published or installed generation, if the store answers.
    pub(super) async fn newest(&self) -> Option<u64> {
        let current = self.mirror.generation();
        let newer = self.store.generations_above(current).await.ok()?;
        Some(newer.last().copied().unwrap_or(current))
    }

    /// Loads the newest published generation that can be loaded, and swaps to it. Errors are in the result,
    /// and the previous generation keeps answering. Files of the copy that are damaged, as a query or
    /// [`Index::refresh`] has found, are fetched again, also if no newer generation is published.
    ///
    /// Cost: one listing if nothing is new; else a request per 8 MiB of new objects, which are hashed, written
    /// and synced, and opening the new segments. Files are written on the calling thread.
    pub async fn sync(&mut self) -> Progress {
        self.sync_to(Wanted::Newest).await
    }

    /// Fetches and verifies the objects of a generation, which can then be installed without the store. The result
    /// says what was fetched and whether all is there.
    pub async fn prefetch(&mut self, generation: u64) -> (Progress, ReplicaResult<()>) {
        let mut progress = Progress::default();
        let mut copying = Copying {
            store: &self.store,
            mirror: &mut self.mirror,
            files: &mut self.files,
        };
        let fetched = copying.fetch_all(generation, &mut progress).await;
        (progress, fetched.map(drop))
    }

    /// As [`sync`](Self::sync), for a specific generation.
    pub async fn sync_to(&mut self, wanted: Wanted) -> Progress {
        let mut progress = Progress::default();
        let copying = Copying {
            store: &self.store,
            mirror: &mut self.mirror,
            files: &mut self.files,
        };
        copying.sync(wanted, &mut progress).await;
        progress
    }
}

/// Opens the copy in a directory. Returns the objects of its files.
fn recover(store: &Store, mirror: &mut Mirror) -> Result<HashMap<Digest, (FileKind, u64)>> {
    let origin = match mirror.read(ORIGIN) {
        Ok(bytes) => FileOrigins::decode(&bytes),
        Err(error) if error.kind() == ErrorKind::Missing => return recover_without_origin(mirror),
        Err(error) => return Err(error),
    };
    let origin = match origin {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            return mirror.clear().map(|()| HashMap::new());
        }
        origin => origin?,
    };
    if origin.store != store.identity() {
        return Err(Error::invalid(
            "this directory is a copy of another store; give each store a directory of its own",
        ));
    }
    match mirror.recover() {
        // Such a copy is useless, and everything in it can be fetched again.
        Err(error)
            if error.kind() == ErrorKind::Corrupt
                || error.kind() == ErrorKind::Foreign
                || error.kind() == ErrorKind::Missing =>
        {
            mirror.clear()?;
        }
        recovered => recovered?,
    }
    Ok(named_files(mirror, &origin))
}

/// A directory without an origin must be new: an original index is never changed.
fn recover_without_origin(mirror: &mut Mirror) -> Result<HashMap<Digest, (FileKind, u64)>> {
    if mirror.holds_state()? {
        Err(Error::invalid(
            "this directory holds an index of its own, which is not a copy; a replica needs a \
             directory that is empty or that a replica has made",
        ))
    } else {
        mirror.recover().map(|()| HashMap::new())
    }
}

/// The files of the state with their objects.
fn named_files(mirror: &Mirror, origin: &FileOrigins) -> HashMap<Digest, (FileKind, u64)> {
    let objects: HashMap<u64, Digest> = origin.files.iter().copied().collect();
    let mut files = HashMap::new();
    for (kind, file) in mirror.files() {
        files.extend(objects.get(&file).map(|&object| (object, (kind, file))));
    }
    files
}

impl Wanted {
    fn is(self, generation: u64) -> bool {
        match self {
            Wanted::Newest => true,
            Wanted::Exactly(wanted) => generation == wanted,
        }
    }
}

impl Copying<'_> {
    async fn sync(mut self, wanted: Wanted, progress: &mut Progress) {
        let identity_before = self.mirror.identity();
        let before = self.mirror.generation();
        let damaged = self.mirror.damaged_segments();
        let taken = self.take(&damaged);
        progress.newest = before;
        // The served generation is listed, too: a store with neither it nor newer ones is another one, or was emptied.
        match self.store.generations_above(before.saturating_sub(1)).await {
            Ok(listed) if before > 0 && listed.is_empty() && wanted == Wanted::Newest => {
                let error = Error::missing(format!(
                    "the store has neither generation {before}, which is served, nor a newer one; it was \
                     emptied, moved or unmounted"
                ));
                progress.error = Some(error.into());
            }
            Ok(mut newer) => {
                progress.store_answered = true;
                let first = before + u64::from(damaged.is_empty());
                newer.retain(|&generation| generation >= first && wanted.is(generation));
                if self.load_newest(&newer, progress).await {
                    progress.repaired = !damaged.is_empty();
                }
            }
            Err(error) => progress.error = Some(error),
        }
        if progress.repaired {
            for file in damaged {
                // One that stays is removed when the directory is opened the next time.
                let _ = self.mirror.discard(FileKind::Segment, file);
            }
        } else {
            self.put_back(taken);
        }
        progress.generation = self.mirror.generation();
        progress.changed = progress.generation != before;
        let identity = self.mirror.identity();
        progress.replaced = identity_before.is_some() && identity != identity_before;
    }

    /// Loads the newest loadable generation of these. Returns whether there is one.
    async fn load_newest(&mut self, ascending: &[u64], progress: &mut Progress) -> bool {
        progress.newest = ascending.last().copied().unwrap_or(progress.newest);
        for &generation in ascending.iter().rev().take(CANDIDATES_MAX) {
            match self.load(generation, progress).await {
                Ok(()) => return true,
                // Operators need the error of the newest generation.
                Err(error) => {
                    progress.error.get_or_insert(error);
                }
            }
        }
        false
    }

    /// Takes out the objects of damaged files, so that they are fetched again.
    fn take(&mut self, damaged: &[u64]) -> Vec<(Digest, (FileKind, u64))> {
        let is_damaged = |_: &Digest, &mut (kind, file): &mut (FileKind, u64)| {
            kind == FileKind::Segment && damaged.contains(&file)
        };
        self.files.extract_if(is_damaged).collect()
    }

    /// Puts back those that were not fetched, because the files may be restored otherwise.
    fn put_back(&mut self, taken: Vec<(Digest, (FileKind, u64))>) {
        for (object, file) in taken {
            self.files.entry(object).or_insert(file);
        }
    }

    async fn load(&mut self, generation: u64, progress: &mut Progress) -> ReplicaResult<()> {
        let (publication, segments, chain) = self.fetch_all(generation, progress).await?;
        self.write_origin()?;
        let Publication { index, history, .. } = publication;
        self.mirror
            .install(index, generation, history, segments, chain)
            .map_err(|error| error.about(&manifest_name(generation)))?;
        self.forget_others(&publication);
        Ok(())
    }

    /// Fetches all files of a generation into the directory.
    async fn fetch_all(
        &mut self,
        generation: u64,
        progress: &mut Progress,
    ) -> ReplicaResult<(Publication, Vec<SegmentLine>, ChainLine)> {
        let publication = self.store.publication(generation).await?;
        let mut lines = Vec::with_capacity(publication.segments.len());
        for segment in &publication.segments {
            lines.push(self.line(segment, progress).await?);
        }
        let mut files = Vec::with_capacity(publication.chain.files.len());
        for file in &publication.chain.files {
            files.push(self.file_line(FileKind::Chain, file, progress).await?);
        }
        let chain = publication.chain.with_files(files);
        Ok((publication, lines, chain))
    }

    /// Fetches a file that the manifest names by its digest.
    async fn file_line(
        &mut self,
        kind: FileKind,
        published: &PublishedFile,
        progress: &mut Progress,
    ) -> ReplicaResult<FileLine> {
        let (object, length) = (published.sha256, published.length);
        Ok(FileLine {
            file: self.file(kind, object, length, progress).await?,
            length,
            checksum: object,
        })
    }

    /// Fetches the files of a segment into the directory.
    async fn line(
        &mut self,
        segment: &PublishedSegment,
        progress: &mut Progress,
    ) -> ReplicaResult<SegmentLine> {
        let (object, length) = (segment.sha256, segment.length);
        let file = self
            .file(FileKind::Segment, object, length, progress)
            .await?;
        let deleted = match &segment.deleted {
            None => None,
            Some(deleted) => Some(self.file_line(FileKind::Deleted, deleted, progress).await?),
        };
        Ok(SegmentLine {
            file,
            length,
            table: segment.table,
            deleted,
        })
    }

    /// The file number of an object, which is fetched if missing.
    async fn file(
        &mut self,
        kind: FileKind,
        object: Digest,
        length: u64,
        progress: &mut Progress,
    ) -> ReplicaResult<u64> {
        match self.files.get(&object) {
            Some(&(known, file)) if known == kind => return Ok(file),
            Some(_) => {
                let reason = "is named as files of two kinds";
                let error = Error::corrupt(format!("{} {reason}", object_name(object)));
                return Err(error.into());
            }
            None => {}
        }
        self.check_length(object, length).await?;
        let (file, mut output) = self.mirror.create(kind)?;
        let fetched = self.fetch(object, length, &mut *output, progress).await;
        if let Err(error) = fetched {
            // Should it stay, it is removed when the directory is opened the next time.
            let _ = self.mirror.discard(kind, file);
            let path = self.mirror.path(kind, file);
            return Err(if error.kind() == ReplicaErrorKind::Index(ErrorKind::Io) {
                error.at(&path)
            } else {
                error
            });
        }
        progress.objects_fetched += 1;
        self.files.insert(object, (kind, file));
        Ok(file)
    }

    async fn check_length(&self, object: Digest, length: u64) -> ReplicaResult<()> {
        let name = object_name(object);
        match self.store.length_of(object).await? {
            Some(found) if found == length => Ok(()),
            Some(found) => {
                Err(Error::corrupt(format!("{name} has {found} bytes instead of {length}")).into())
            }
            None => Err(Error::missing(format!("{name} is missing")).into()),
        }
    }

    /// Writes an object to a file, makes it durable, and verifies it against its name.
    async fn fetch(
        &self,
        object: Digest,
        length: u64,
        output: &mut dyn NewFile,
        progress: &mut Progress,
    ) -> ReplicaResult<()> {
        let mut hash = Sha256::new();
        let mut start = 0;
        while start < length {
            let end = length.min(start + PIECE_BYTES);
            let piece = self.store.piece(object, start, end).await?;
            if piece.len() as u64 != end - start {
                let name = object_name(object);
                return Err(Error::corrupt(format!("{name} ends before byte {end}")).into());
            }
            progress.bytes_fetched += piece.len() as u64;
            hash.update(&piece);
            output.write_all(&piece).map_err(unwritable)?;
            start = end;
        }
        if Digest::finish(hash) != object {
            let name = object_name(object);
            return Err(Error::corrupt(format!("{name} does not match its checksum")).into());
        }
        output.sync().map_err(|error| unwritable(error).into())
    }

    /// Writes which objects the files are, before the state that has them, and those of the state
    /// before, which stays where the new one is refused.
    fn write_origin(&self) -> ReplicaResult<()> {
        let files = self.files.iter();
        let mut files: Vec<(u64, Digest)> =
            files.map(|(&object, &(_, file))| (file, object)).collect();
        files.sort_unstable();
        let origin = FileOrigins {
            store: self.store.identity(),
            files,
        };
        Ok(self.mirror.write(ORIGIN, &origin.encode()?)?)
    }

    /// Removes the files that only the generation before named, and those that were fetched for one
    /// that could not be loaded.
    fn forget_others(&mut self, publication: &Publication) {
        let wanted: HashSet<Digest> = publication.objects().map(|(object, _)| object).collect();
        let gone = self.files.extract_if(|object, _| !wanted.contains(object));
        for (_, (kind, file)) in gone {
            // One that stays is removed when the directory is opened the next time.
            let _ = self.mirror.discard(kind, file);
        }
    }
}

fn unwritable(error: std::io::Error) -> Error {
    Error::io("write the file", error)
}
