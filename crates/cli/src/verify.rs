//! `signaldex verify` and `signaldex compact`: checking and tidying an index.

use std::path::PathBuf;

use signaldex::Index;

use crate::stderr::{counted, say, signals};
use crate::{Failure, source};

/// Check every rule of an index: checksums, cross-checks, postings against records
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Merge all segments of an index into one
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {
    /// The directory of the index
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Verify {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let snapshot = source::open(&self.directory)?.snapshot();
        snapshot.verify()?;
        say(format_args!(
            "{}: every rule holds",
            signals(snapshot.signal_count())
        ));
        Ok(())
    }
}

impl Compact {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let index = Index::open(&self.directory)?;
        let before = index.snapshot().statistics()?;
        index.writer()?.compact()?;
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
}
