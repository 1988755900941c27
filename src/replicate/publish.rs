//! Publishing: uploads the objects of a snapshot, then creates its manifest unless it exists.

use std::collections::HashSet;
use std::io::{Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};

use super::error::{ReplicaError, ReplicaErrorKind, ReplicaResult as Result};
use super::publication::{Publication, PublishedFile, PublishedSegment};
use super::store::{PIECE_BYTES, Store, manifest_name};
use crate::Error;
use crate::digest::Digest;
use crate::index::{SourceFile, SourceState};

/// The largest generation that can be published, so that an index can keep counting from there.
const GENERATION_MAX: u64 = u64::MAX / 2;

/// An object written less than this ago is not uploaded again.
pub(super) const FRESH: Duration = Duration::from_secs(6 * 3600);

/// How long publishing may take before objects that have become old are uploaded again.
pub(super) const PUBLISH_TIME: Duration = Duration::from_secs(6 * 3600);

/// Interval of checks whether a prune has ended.
const PRUNE_PAUSE: Duration = Duration::from_millis(200);

/// Options of publishing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishOptions {
    /// Publish as this generation instead of the index's own, for a rebuilt index, or to publish an earlier
    /// state or another branch of the same index.
    pub generation: Option<u64>,
    /// Upload every object again, even those that the store has, to replace damaged ones.
    pub repair: bool,
}

/// What was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The generation.
    pub generation: u64,
    /// Whether it had already been published with the same content.
    pub was_there: bool,
    /// Uploaded objects.
    pub objects_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Objects that the store already had.
    pub objects_shared: u64,
}

/// Publishes the current state of the index in a directory. A writer may keep committing.
///
/// # Errors
/// As [`Index::open`](crate::Index::open); [`Taken`](ReplicaErrorKind::Taken) if the generation is already
/// published with other content, a later one exists, or the newest is of the same index and has a last commit
/// that is not in the history of this state, unless a generation is given; [`Store`](ReplicaErrorKind::Store) if the store
/// refuses. Nothing becomes visible then.
///
/// Cost: reads the files twice, once for their checksums, and uploads those that the store does not have, in
/// parts of 8 MiB. Files are read on the calling thread.
pub async fn publish(
    directory: &Path,
    store: &Store,
    options: PublishOptions,
) -> Result<Published> {
    publish_after(directory, store, options, Newest::Stays).await
}

/// Whether the objects of a store's newest generation are kept while publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest {
    /// They are kept by every prune.
    Stays,
    /// It belongs to a former number of shards, and a prune may remove it.
    MayGo,
}

/// As [`publish`], for a newest generation that a prune may remove.
///
/// # Errors
/// As [`publish`].
pub async fn publish_after(
    directory: &Path,
    store: &Store,
    options: PublishOptions,
    newest: Newest,
) -> Result<Published> {
    let source = SourceState::open(directory)?;
    let generation = options.generation.unwrap_or(source.generation);
    check_generation(generation)?;
    if options.generation.is_none() {
        refuse_diverged(store, &source).await?;
    }
    refuse_older(store, generation).await?;
    let publication = describe(&source, generation)?;
    let bytes = publication.encode()?;
    let mut report = Published {
        generation,
        was_there: is_published(store, generation, &bytes).await?,
        ..Published::default()
    };
    if report.was_there && !options.repair {
        return Ok(report);
    }
    let files = files_of(&source, &publication);
    let mut sending = Sending::new(store, options.repair, &mut report);
    sending.send_missing(&files, newest).await?;
    // Another publisher may have been faster while files were sent.
    if options.generation.is_none() {
        refuse_diverged(store, &source).await?;
    }
    if !store.create_manifest(generation, bytes.clone()).await? {
        // A retried request may find its own first attempt here.
        report.was_there = is_published(store, generation, &bytes).await?;
    }
    Ok(report)
}

fn check_generation(generation: u64) -> Result<()> {
    if (1..=GENERATION_MAX).contains(&generation) {
        Ok(())
    } else {
        Err(Error::invalid(format!(
            "generation: {generation} is not allowed; 1 to {GENERATION_MAX} are"
        ))
        .into())
    }
}

/// Refuses a generation older than the newest: no replica would load it.
///
/// # Errors
/// [`Taken`](ReplicaErrorKind::Taken) if a later one is published; [`Store`](ReplicaErrorKind::Store) if the store refuses.
pub async fn refuse_older(store: &Store, generation: u64) -> Result<()> {
    match store.generations_above(generation).await?.last() {
        None => Ok(()),
        Some(newest) => Err(ReplicaError::taken(format!(
            "generation {generation} is behind generation {newest}, which is published; a later \
             one is needed"
        ))),
    }
}

/// Refuses a state of the published index that does not contain the last published commit: a restored backup, or one
/// of two copies that were changed apart. Replicas would go back, and clients would lose what they were told.
async fn refuse_diverged(store: &Store, source: &SourceState) -> Result<()> {
    let Some(newest) = newest_readable(store).await? else {
        return Ok(());
    };
    let (own, published) = (source.history.last_commit, newest.history.last_commit);
    let digest = own
        .checked_sub(published)
        .map(|later| source.chain.digest(later))
        .transpose()?;
    if newest.index != source.identity || digest.flatten() == Some(newest.chain.newest) {
        return Ok(());
    }
    let next = newest.generation.saturating_add(1);
    Err(ReplicaError::taken(format!(
        "generation {} ends with commit {published} ({}), which is not in the history of this state: this state ends \
         with commit {own} ({}). It is an earlier one, such as a restored backup, or copies of the index were \
         changed apart. To publish it all the same, give it a generation from {next} on (`--generation {next}`): \
         clients that follow what was published then copy again",
        newest.generation,
        newest.chain.newest,
        source.chain.newest(),
    )))
}

/// The newest generation whose manifest is not damaged.
async fn newest_readable(store: &Store) -> Result<Option<Publication>> {
    for &generation in store.generations_above(0).await?.iter().rev() {
        match store.publication(generation).await {
            Err(error) if error.kind() == ReplicaErrorKind::Store => return Err(error),
            Err(_) => {}
            found => return found.map(Some),
        }
    }
    Ok(None)
}

/// The objects of the newest generation, which a prune keeps while publishing.
async fn objects_of_newest(store: &Store) -> Result<HashSet<Digest>> {
    let Some(&newest) = store.generations_above(0).await?.last() else {
        return Ok(HashSet::new());
    };
    match store.publication(newest).await {
        Ok(publication) => Ok(publication.objects().map(|(object, _)| object).collect()),
        // The objects of a damaged manifest are unknown.
        Err(error) if error.kind() != ReplicaErrorKind::Store => Ok(HashSet::new()),
        Err(error) => Err(error),
    }
}

/// Whether an object is so recent that no prune removes it before it is published.
fn is_fresh(written: SystemTime) -> bool {
    // A time in the future counts as fresh.
    written.elapsed().map_or(true, |age| age < FRESH)
}

/// Whether these bytes are already the manifest of the generation.
async fn is_published(store: &Store, generation: u64, bytes: &[u8]) -> Result<bool> {
    match store.manifest(generation).await? {
        None => Ok(false),
        Some(found) if found == bytes => Ok(true),
        Some(_) => Err(ReplicaError::taken(format!(
            "generation {generation} is published with other content ({}); each generation is \
             published once",
            manifest_name(generation)
        ))),
    }
}

fn describe(source: &SourceState, generation: u64) -> Result<Publication> {
    let segments = source.segments.iter().map(|(line, segment, deleted)| {
        Ok(PublishedSegment {
            sha256: digest_of(segment)?,
            length: segment.length,
            table: line.table,
            deleted: deleted.as_ref().map(describe_file).transpose()?,
        })
    });
    let chain_files = source.chain_files.iter().map(describe_file);
    Ok(Publication {
        index: source.identity,
        generation,
        history: source.history,
        segments: segments.collect::<Result<_>>()?,
        chain: source
            .chain
            .line()
            .with_files(chain_files.collect::<Result<_>>()?),
    })
}

fn describe_file(file: &SourceFile) -> Result<PublishedFile> {
    Ok(PublishedFile {
        sha256: digest_of(file)?,
        length: file.length,
    })
}

fn digest_of(file: &SourceFile) -> Result<Digest> {
    let mut hash = Sha256::new();
    let mut pieces = FilePieces::of(file)?;
    while let Some(piece) = pieces.next_piece()? {
        hash.update(&piece);
    }
    Ok(Digest::finish(hash))
}

/// The files of a snapshot with their objects.
fn files_of<'s>(
    source: &'s SourceState,
    publication: &Publication,
) -> Vec<(&'s SourceFile, Digest)> {
    let segments = source.segments.iter().zip(&publication.segments);
    let files = segments.flat_map(|((_, segment, deleted), published)| {
        let deleted = deleted.as_ref().zip(published.deleted.as_ref());
        let deleted = deleted.map(|(file, published)| (file, published.sha256));
        [Some((segment, published.sha256)), deleted]
    });
    let chain = source.chain_files.iter().zip(&publication.chain.files);
    let chain = chain.map(|(file, published)| (file, published.sha256));
    files.flatten().chain(chain).collect()
}

/// Uploads the files of a generation and ensures that all exist when it is published; see `prune` for the
/// proof.
struct Sending<'s> {
    store: &'s Store,
    /// Upload files even if the store has them.
    repair: bool,
    report: &'s mut Published,
    /// Uploaded objects.
    sent: HashSet<Digest>,
}

impl<'s> Sending<'s> {
    fn new(store: &'s Store, repair: bool, report: &'s mut Published) -> Sending<'s> {
        Sending {
            store,
            repair,
            report,
            sent: HashSet::new(),
        }
    }

    /// Uploads files that the store does not have or that a prune may remove.
    async fn send_missing(
        &mut self,
        files: &[(&SourceFile, Digest)],
        newest: Newest,
    ) -> Result<()> {
        loop {
            let started = Instant::now();
            self.report.objects_shared = 0;
            let lasting = match newest {
                Newest::Stays => objects_of_newest(self.store).await?,
                Newest::MayGo => HashSet::new(),
            };
            let mut renewed = Vec::new();
            for &(file, object) in files {
                let Some(found) = self.store.stored(object).await? else {
                    self.send(file, object).await?;
                    continue;
                };
                let is_sent = self.sent.contains(&object);
                // An object of another length is damaged and is replaced.
                let is_good = found.bytes == file.length && (is_sent || !self.repair);
                if is_good && (lasting.contains(&object) || is_fresh(found.written)) {
                    self.report.objects_shared += u64::from(!is_sent);
                    continue;
                }
                self.send(file, object).await?;
                renewed.push((file, object));
            }
            self.outlast_prune(&renewed).await?;
            if started.elapsed() < PUBLISH_TIME {
                return Ok(());
            }
        }
    }

    /// Verifies objects that were old before they were uploaded: a running prune may still remove them.
    async fn outlast_prune(&mut self, renewed: &[(&SourceFile, Digest)]) -> Result<()> {
        let Some(&(_, last)) = renewed.last() else {
            return Ok(());
        };
        // By the store's clock, which markers use.
        let found = self.store.stored(last).await?;
        let sent_at = found.map_or_else(SystemTime::now, |found| found.written);
        let waiting = Instant::now();
        loop {
            let marks = self.store.marks(None, sent_at + waiting.elapsed()).await?;
            if !marks.iter().any(|(_, counts)| *counts) {
                break;
            }
            tokio::time::sleep(PRUNE_PAUSE).await;
        }
        for &(file, object) in renewed {
            if self.store.stored(object).await?.is_none() {
                self.send(file, object).await?;
            }
        }
        Ok(())
    }

    async fn send(&mut self, file: &SourceFile, object: Digest) -> Result<()> {
        if file.length <= PIECE_BYTES {
            let bytes = FilePieces::of(file)?.next_piece()?.unwrap_or_default();
            check_unchanged(file, Digest::of(&bytes) == object)?;
            self.store.put(object, bytes).await?;
        } else {
            send_in_pieces(self.store, file, object).await?;
        }
        self.sent.insert(object);
        self.report.objects_sent += 1;
        self.report.bytes_sent += file.length;
        Ok(())
    }
}

async fn send_in_pieces(store: &Store, file: &SourceFile, object: Digest) -> Result<()> {
    let mut upload = store.begin(object).await?;
    let mut hash = Sha256::new();
    let mut pieces = FilePieces::of(file)?;
    let sent = loop {
        let piece = match pieces.next_piece() {
            Ok(Some(piece)) => piece,
            Ok(None) => break check_unchanged(file, Digest::finish(hash) == object),
            Err(error) => break Err(error),
        };
        hash.update(&piece);
        if let Err(error) = upload.send(piece).await {
            break Err(error);
        }
    };
    match sent {
        Ok(()) => upload.complete().await,
        Err(error) => {
            upload.abandon().await;
            Err(error)
        }
    }
}

/// Ensures that a file has not changed between hashing and uploading it.
fn check_unchanged(file: &SourceFile, is_unchanged: bool) -> Result<()> {
    if is_unchanged {
        Ok(())
    } else {
        Err(Error::corrupt("the file was read differently twice")
            .at(&file.path)
            .into())
    }
}

/// Reads a file in parts.
struct FilePieces<'f> {
    file: &'f SourceFile,
    left: u64,
}

impl FilePieces<'_> {
    fn of(file: &SourceFile) -> Result<FilePieces<'_>> {
        let rewound = (&file.file).rewind();
        rewound.map_err(|error| file.unreadable(error))?;
        Ok(FilePieces {
            file,
            left: file.length,
        })
    }

    fn next_piece(&mut self) -> Result<Option<Vec<u8>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let length = self.left.min(PIECE_BYTES);
        // A piece has at most 8 MiB.
        let mut piece = vec![0; length as usize];
        let read = (&self.file.file).read_exact(&mut piece);
        read.map_err(|error| self.file.unreadable(error))?;
        self.left -= length;
        Ok(Some(piece))
    }
}
