//! `signaldex publish`: publishes a snapshot of an index to an object store.

use std::path::PathBuf;

use signaldex::replicate::{PublishOptions, Published, Store, publish};

use super::block_on;
use crate::stderr::say;
use crate::{Failure, progress};

/// Publish the current state of an index for replicas to follow
#[derive(Debug, clap::Args)]
pub(crate) struct Publish {
    /// The directory of the index
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The store: a directory, file:///directory, or with the features of these names s3://bucket/path,
    /// gs://bucket/path, azure://container/path
    #[arg(value_name = "STORE-URL")]
    store: String,
    /// Publish as this generation instead of the index's own; for an index that was rebuilt, or to go back
    /// to an earlier one
    #[arg(long, value_name = "N")]
    generation: Option<u64>,
    /// Upload every object again, even those that the store has, to replace damaged ones
    #[arg(long)]
    repair: bool,
}

impl Publish {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let store = Store::open(&self.store)?;
        let options = PublishOptions {
            generation: self.generation,
            repair: self.repair,
        };
        let publish = || block_on(publish(&self.directory, &store, options));
        let published = progress::phase("publishing", publish)?;
        say(line_of(&published));
        Ok(())
    }
}

fn line_of(published: &Published) -> String {
    let Published {
        generation,
        objects_sent,
        bytes_sent,
        objects_shared,
        ..
    } = published;
    let outcome = if published.was_there {
        "had been published"
    } else {
        "is published"
    };
    format!(
        "generation {generation} {outcome}: {objects_sent} objects of {bytes_sent} bytes sent, \
         {objects_shared} were there"
    )
}
