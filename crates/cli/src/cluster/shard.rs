//! `signaldex shard` and `signaldex publish-shards`: a corpus in parts, and into an object store.

use std::path::{Path, PathBuf};
use std::time::Instant;

use signaldex::replicate::{PublishOptions, Store};
use signaldex_cluster::{Splitter, publish_cluster};

use crate::input::{Input, LoadTarget, NEEDS_OUT};
use crate::service::block_on;
use crate::stderr::{counted, say, signals};
use crate::unfinished::{Unfinished, Untouched};
use crate::{Failure, progress};

/// Build the indexes of a cluster's shards from JSON lines or tables: each company with all its signals
#[derive(Debug, clap::Args)]
pub(crate) struct Shard {
    /// The companies, one JSON object a line, or a table with a header
    #[arg(long, value_name = "FILE")]
    companies: PathBuf,
    /// The signals, one JSON object a line, or a table with a header
    #[arg(long, value_name = "FILE")]
    signals: PathBuf,
    /// How many shards: enough for all nodes that the cluster may ever have
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    shards: u32,
    /// The folder of the new indexes, new or empty; they are called 0, 1 and so on
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    out: Option<PathBuf>,
    #[command(flatten)]
    input: Input,
}

/// Publish the shards of a folder as one generation for the nodes of a cluster to follow
#[derive(Debug, clap::Args)]
pub(crate) struct PublishShards {
    /// The folder that `signaldex shard` has created
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The store, as for `publish`; the cluster's file names the same one
    #[arg(value_name = "STORE-URL")]
    store: String,
    /// Publish as this generation instead of the next
    #[arg(long, value_name = "N")]
    generation: Option<u64>,
    /// Upload every object again, even those that the store has, to replace damaged ones
    #[arg(long)]
    repair: bool,
}

impl Shard {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let started = Instant::now();
        let (companies, signals) = (Some(self.companies.as_path()), Some(self.signals.as_path()));
        if self.input.is_check() {
            return self.input.check_new(companies, signals);
        }
        let out = self.out.ok_or(NEEDS_OUT)?;
        let untouched = Untouched::new(&out);
        let mut splitter = Splitter::new(&out, self.shards)?;
        let unfinished = Unfinished::new(untouched)?;
        let loaded = self
            .input
            .load(&mut splitter, companies, signals, LoadTarget::New)?;
        let counts = splitter.finish()?;
        drop(unfinished);
        let (min, max) = (counts.iter().min(), counts.iter().max());
        say(format_args!(
            "{loaded}; {} shards of {} to {} signals in {}, {:.1?}",
            counts.len(),
            min.copied().unwrap_or_default(),
            max.copied().unwrap_or_default(),
            out.display(),
            started.elapsed()
        ));
        Ok(())
    }
}

impl PublishShards {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let store = Store::open(&self.store)?;
        let options = PublishOptions {
            generation: self.generation,
            repair: self.repair,
        };
        publish(&self.folder, &store, options)
    }
}

/// Publishes the shards of a folder, and says what was sent.
pub(super) fn publish(
    folder: &Path,
    store: &Store,
    options: PublishOptions,
) -> Result<(), Failure> {
    let publish = || block_on(publish_cluster(folder, store, options));
    let published = progress::phase("publishing", publish)?;
    let generation = published.generation;
    if published.was_there && published.shards_sent == 0 {
        say(format_args!("generation {generation} is published already"));
        return Ok(());
    }
    say(format_args!(
        "generation {generation} is published: {} in {}, {} of them sent: {} of {} bytes",
        signals(published.signals),
        counted(published.shards, "shard", "shards"),
        published.shards_sent,
        counted(published.objects_sent, "object", "objects"),
        published.bytes_sent
    ));
    Ok(())
}
