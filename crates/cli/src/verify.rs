//! `signaldex verify` and `signaldex compact`: checking and tidying an index.

use std::path::Path;

use signaldex::Index;

#[cfg(feature = "cluster")]
use crate::cluster;
use crate::place::{Place, Target};
use crate::stderr::{counted, say, signals};
use crate::{Failure, progress, source};

/// Check every rule of an index: checksums, cross-checks, postings against records
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    place: Place,
}

/// Merge all segments of an index into one
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    place: Place,
}

impl Verify {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.place.target()? {
            Target::Index(directory) => verify_index(&directory),
            #[cfg(feature = "cluster")]
            Target::Shards(folder) => cluster::verify_shards(&folder),
        }
    }
}

fn verify_index(directory: &Path) -> Result<(), Failure> {
    let snapshot = source::open(directory)?.snapshot();
    progress::phase("verifying", || snapshot.verify())?;
    say(format_args!(
        "{}: every rule holds",
        signals(snapshot.signal_count())
    ));
    Ok(())
}

impl Compact {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.place.target()? {
            Target::Index(directory) => compact_index(&directory),
            #[cfg(feature = "cluster")]
            Target::Shards(folder) => cluster::compact_shards(&folder),
        }
    }
}

fn compact_index(directory: &Path) -> Result<(), Failure> {
    let index = Index::open(directory)?;
    let before = index.snapshot().statistics()?;
    progress::phase("merging", || index.writer()?.compact())?;
    let after = index.snapshot().statistics()?;
    say(format_args!(
        "{} of {} bytes before, {} of {} bytes now",
        counted(before.segments, "segment", "segments"),
        before.bytes,
        counted(after.segments, "segment", "segments"),
        after.bytes
    ));
    Ok(())
}
