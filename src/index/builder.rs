//! Building an index from scratch: records in, an index in memory or in a directory out.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::deleted::Deleted;
use super::directory::{self, NewSegment};
use super::live::LiveSegment;
use super::snapshot::Snapshot;
use super::Index;
use crate::Result;
use crate::segment::{Added, Segment, SegmentBuilder};
use crate::signal::{Company, Signal};

/// Builds an index of one segment.
///
/// ```
/// # use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = IndexBuilder::in_memory()?;
/// builder.add_company(&Company::new("acme", "Acme GmbH"))?;
/// let id = SignalId::new(7).ok_or("an id")?;
/// builder.add_signal(&Signal::new(id, "acme", "Acme raises Series A"))?;
/// let index = builder.finish()?;
///
/// let today = time::macros::date!(2026 - 06 - 30);
/// let page = index.snapshot().search(&Query::parse("q=\"series a\"")?, today)?;
/// assert_eq!(page.ids(), [id]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct IndexBuilder(Target);

#[derive(Debug)]
enum Target {
    Memory(SegmentBuilder<Vec<u8>>),
    Directory { builder: SegmentBuilder<BufWriter<File>>, segment: NewSegment, path: PathBuf },
}

/// What a finished build wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildReport {
    /// Signals in the index.
    pub signals: u64,
    /// Companies in the index.
    pub companies: u64,
}

impl IndexBuilder {
    /// Builds in memory.
    ///
    /// # Errors
    /// None today.
    pub fn in_memory() -> Result<IndexBuilder> {
        SegmentBuilder::new(Vec::new()).map(Target::Memory).map(IndexBuilder)
    }

    /// Builds in a directory, which is created where it does not exist.
    ///
    /// Records are written as they are added, so memory holds what the index needs, not the text.
    ///
    /// # Errors
    /// The directory holds an index already, or cannot be written.
    pub fn in_directory(path: impl AsRef<Path>) -> Result<IndexBuilder> {
        let path = path.as_ref().to_owned();
        let segment = directory::create(&path)?;
        let output = BufWriter::with_capacity(WRITE_BUFFER_BYTES, segment.create_file()?);
        let builder = SegmentBuilder::new(output).map_err(|error| error.at(segment.path()))?;
        Ok(IndexBuilder(Target::Directory { builder, segment, path }))
    }

    /// Adds a company; a later one with the same slug takes its place.
    ///
    /// # Errors
    /// The output cannot be written, or is full.
    pub fn add_company(&mut self, company: &Company<'_>) -> Result<Added> {
        match &mut self.0 {
            Target::Memory(builder) => builder.add_company(company),
            Target::Directory { builder, segment, .. } => {
                builder.add_company(company).map_err(|error| error.at(segment.path()))
            }
        }
    }

    /// Adds a signal of a company that was added; a later one with the same id takes its place.
    /// A signal of an unknown company is not added, which is not an error but an answer.
    ///
    /// # Errors
    /// The output cannot be written, or is full.
    pub fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added> {
        match &mut self.0 {
            Target::Memory(builder) => builder.add_signal(signal),
            Target::Directory { builder, segment, .. } => {
                builder.add_signal(signal).map_err(|error| error.at(segment.path()))
            }
        }
    }

    /// Finishes the segment, makes it durable where it is in a directory, and opens it.
    ///
    /// # Errors
    /// The output cannot be written.
    ///
    /// Cost: about as long as adding the records took.
    pub fn finish(self) -> Result<Index> {
        match self.0 {
            Target::Memory(builder) => {
                let segment = Segment::from_bytes(&builder.finish()?)?;
                let live = LiveSegment {
                    number: 1,
                    segment: Arc::new(segment),
                    deleted: Arc::new(Deleted::default()),
                };
                Ok(Index::in_memory(Snapshot::new(1, vec![live])))
            }
            Target::Directory { builder, segment, path } => {
                let output = builder.finish().map_err(|error| error.at(segment.path()))?;
                directory::publish_first(&path, segment, output)?;
                Index::open(path)
            }
        }
    }
}

/// Bytes that are gathered before they are written; larger buffers measured no faster.
const WRITE_BUFFER_BYTES: usize = 1 << 20;
