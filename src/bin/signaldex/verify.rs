//! `signaldex verify` and `signaldex compact`: checking and tidying an index.

use std::path::PathBuf;

use signaldex::Index;

use crate::Failure;
use crate::stderr::say;

/// Check every rule of an index: checksums, cross-checks, postings against records
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The directory of the index
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
        let snapshot = Index::open(&self.directory)?.snapshot();
        snapshot.verify()?;
        say(format_args!(
            "{} signals: every rule holds",
            snapshot.signal_count()
        ));
        Ok(())
    }
}

impl Compact {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let index = Index::open(&self.directory)?;
        let before = index.snapshot().statistics();
        index.writer()?.compact()?;
        let after = index.snapshot().statistics();
        say(format_args!(
            "{} segments of {} bytes before, {} of {} bytes now",
            before.segments, before.bytes, after.segments, after.bytes
        ));
        Ok(())
    }
}
