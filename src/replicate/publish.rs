//! Publishing: the objects of a snapshot first, then its manifest, if nobody else has created it.

use std::io::{Read, Seek};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::publication::{Publication, PublishedDeleted, PublishedSegment};
use super::store::{PIECE_BYTES, Store, manifest_name};
use crate::digest::Digest;
use crate::index::{DeletedLine, Source, SourceFile};
use crate::{Error, Result};

/// The largest generation that can be published: an index goes on counting from there.
const GENERATION_MAX: u64 = u64::MAX / 2;

/// How to publish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PublishOptions {
    /// Publish as this generation instead of the index's own; to publish an index that was built
    /// anew, or an earlier one again, after those that are published.
    pub generation: Option<u64>,
    /// Send every object anew, also those that the store has: the remedy where one is damaged.
    pub repair: bool,
}

/// What was published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The generation.
    pub generation: u64,
    /// Whether it had been published before, with the same content.
    pub was_there: bool,
    /// Objects that were sent.
    pub objects_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Objects that the store had.
    pub objects_shared: u64,
}

/// Publishes the current state of the index in a directory. A writer may go on meanwhile.
///
/// # Errors
/// As [`Index::open`](crate::Index::open); [`is_taken`](Error::is_taken) where the generation is
/// published with other content, or a later one is; [`is_store`](Error::is_store) where the store
/// refuses. Nothing is visible then.
///
/// Cost: reads the files twice, once for their checksums, and sends those that the store does not
/// have, in pieces of 8 MiB. Files are read on the calling thread.
pub async fn publish(
    directory: &Path,
    store: &Store,
    options: PublishOptions,
) -> Result<Published> {
    let source = Source::open(directory)?;
    let generation = options.generation.unwrap_or(source.generation);
    check_generation(generation)?;
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
    for ((_, segment, deleted), published) in source.segments.iter().zip(&publication.segments) {
        send(
            store,
            segment,
            published.sha256,
            options.repair,
            &mut report,
        )
        .await?;
        if let (Some(file), Some(published)) = (deleted, &published.deleted) {
            send(store, file, published.sha256, options.repair, &mut report).await?;
        }
    }
    if !store.create_manifest(generation, bytes.clone()).await? {
        // A request that was repeated on the way finds its own first attempt here.
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
        )))
    }
}

/// Replicas only go forward, so no replica would load a generation older than the newest.
pub(crate) async fn refuse_older(store: &Store, generation: u64) -> Result<()> {
    match store.generations_above(generation).await?.last() {
        None => Ok(()),
        Some(newest) => Err(Error::taken(format!(
            "generation {generation} is behind generation {newest}, which is published; a later \
             one is needed"
        ))),
    }
}

/// Whether these bytes are the manifest of the generation already.
async fn is_published(store: &Store, generation: u64, bytes: &[u8]) -> Result<bool> {
    match store.manifest(generation).await? {
        None => Ok(false),
        Some(found) if found == bytes => Ok(true),
        Some(_) => Err(Error::taken(format!(
            "generation {generation} is published with other content ({}); each generation is \
             published once",
            manifest_name(generation)
        ))),
    }
}

fn describe(source: &Source, generation: u64) -> Result<Publication> {
    let segments = source.segments.iter().map(|(line, segment, deleted)| {
        let deleted = deleted.as_ref().zip(line.deleted.as_ref());
        Ok(PublishedSegment {
            sha256: digest_of(segment)?,
            length: segment.length,
            table: line.table,
            deleted: deleted
                .map(|(file, line)| describe_deleted(file, line))
                .transpose()?,
        })
    });
    Ok(Publication {
        index: source.identity,
        generation,
        history: source.history,
        segments: segments.collect::<Result<_>>()?,
    })
}

fn describe_deleted(file: &SourceFile, line: &DeletedLine) -> Result<PublishedDeleted> {
    Ok(PublishedDeleted {
        sha256: digest_of(file)?,
        length: line.length,
    })
}

fn digest_of(file: &SourceFile) -> Result<Digest> {
    let mut hash = Sha256::new();
    let mut pieces = Pieces::of(file)?;
    while let Some(piece) = pieces.next_piece()? {
        hash.update(&piece);
    }
    Ok(Digest::finish(hash))
}

/// Sends a file unless the store has it.
async fn send(
    store: &Store,
    file: &SourceFile,
    object: Digest,
    anew: bool,
    report: &mut Published,
) -> Result<()> {
    // One of another length is damaged, and replaced.
    if !anew && store.length_of(object).await? == Some(file.length) {
        report.objects_shared += 1;
        return Ok(());
    }
    if file.length <= PIECE_BYTES {
        let bytes = Pieces::of(file)?.next_piece()?.unwrap_or_default();
        check_unchanged(file, Digest::of(&bytes) == object)?;
        store.put(object, bytes).await?;
    } else {
        send_in_pieces(store, file, object).await?;
    }
    report.objects_sent += 1;
    report.bytes_sent += file.length;
    Ok(())
}

async fn send_in_pieces(store: &Store, file: &SourceFile, object: Digest) -> Result<()> {
    let mut upload = store.begin(object).await?;
    let mut hash = Sha256::new();
    let mut pieces = Pieces::of(file)?;
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

/// An object must hold what its name says, whatever a disk answers the second time.
fn check_unchanged(file: &SourceFile, is_unchanged: bool) -> Result<()> {
    if is_unchanged {
        Ok(())
    } else {
        Err(Error::corrupt("the file was read differently twice").at(&file.path))
    }
}

/// A file from its start, in pieces of the size that is sent.
struct Pieces<'f> {
    file: &'f SourceFile,
    left: u64,
}

impl Pieces<'_> {
    fn of(file: &SourceFile) -> Result<Pieces<'_>> {
        let rewound = (&file.file).rewind();
        rewound.map_err(|error| file.unreadable(error))?;
        Ok(Pieces {
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
