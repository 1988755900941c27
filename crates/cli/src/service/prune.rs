//! `signaldex prune`: removes old generations from a store.

use std::io::{BufWriter, Write};
use std::time::Duration;

use signaldex::replicate::{PruneOptions, Pruned, PrunedKind, Store, prune};

use super::block_on;
use crate::Failure;
use crate::stderr::{counted, say};

/// Remove old generations, and objects that only they use, from a store of `publish` or `publish-shards`
///
/// Lists what it would remove; with --delete it removes that. Generations that were the newest
/// within --older-than stay, regardless of --keep.
#[derive(Debug, clap::Args)]
pub(crate) struct Prune {
    /// The store, as for `publish`
    #[arg(value_name = "STORE-URL")]
    store: String,
    /// The number of newest generations to keep
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    keep: u64,
    /// The number of newest manifests of a cluster to keep: clients can follow its changes from any of these generations
    /// on. Each is some 10 kB
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    manifests: u64,
    /// Keep everything younger than this, such as a publication in progress: a number with s, m, h or d. Below
    /// 13h, make sure that nothing is being published
    #[arg(long, value_name = "AGE", default_value = "24h", value_parser = parse_age)]
    older_than: Duration,
    /// Remove the listed objects
    #[arg(long)]
    delete: bool,
}

impl Prune {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let store = Store::open(&self.store)?;
        let options = PruneOptions {
            keep: self.keep,
            manifests: self.manifests,
            older_than: self.older_than,
            remove: self.delete,
        };
        if self.delete && !options.allows_publishers() {
            say("below 13h, a prune is not safe while `publish` runs");
        }
        let pruned = block_on(prune(&store, options))?;
        let mut output = BufWriter::new(std::io::stdout().lock());
        for file in &pruned.removed {
            writeln!(output, "{}\t{}", file.bytes, file.name)?;
        }
        output.flush()?;
        say(summary(&pruned, self.delete));
        if pruned.missing.is_empty() {
            return Ok(());
        }
        let missing = pruned.missing.join(", ");
        Err(format!("the store lacks {missing}; `signaldex publish --repair` sends it").into())
    }
}

fn summary(pruned: &Pruned, is_removed: bool) -> String {
    let of = |kind, one, many| {
        let files = pruned.removed.iter().filter(|file| file.kind == kind);
        let (count, bytes) = files.fold((0u64, 0u64), |(count, bytes), file| {
            (count + 1, bytes + file.bytes)
        });
        format!("{} of {bytes} bytes", counted(count, one, many))
    };
    format!(
        "{}: {}, {}, {}; {}: {}, {} of {} bytes",
        if is_removed {
            "removed"
        } else {
            "would remove"
        },
        of(PrunedKind::Manifest, "manifest", "manifests"),
        of(PrunedKind::Object, "object", "objects"),
        of(
            PrunedKind::UnfinishedUpload,
            "unfinished upload",
            "unfinished uploads"
        ),
        if is_removed { "kept" } else { "would keep" },
        counted(pruned.generations_kept, "generation", "generations"),
        counted(pruned.objects_kept, "object", "objects"),
        pruned.bytes_kept,
    )
}

/// Parses an age such as `36h`.
fn parse_age(text: &str) -> Result<Duration, String> {
    let explained = || "a number with s, m, h or d is needed, such as 24h".to_owned();
    let unit = text.chars().next_back().ok_or_else(explained)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(explained()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| explained())?;
    let seconds = number.checked_mul(seconds).ok_or_else(explained)?;
    Ok(Duration::from_secs(seconds))
}
