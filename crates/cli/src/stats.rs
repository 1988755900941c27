//! `signaldex stats`: what an index holds and how many bytes it takes.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use signaldex::{IndexStatistics, Snapshot};

use crate::{Failure, source};

/// Show figures of an index: signals, companies, segments, bytes
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also show each section of the files: its bytes, those per signal, and their entropy bound
    #[arg(long)]
    sections: bool,
}

impl Stats {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let snapshot = source::open(&self.directory)?.snapshot();
        let figures = snapshot.statistics()?;
        let mut shown = json!({
            "index": figures.identity.to_string(),
            "generation": figures.generation,
            "signals": figures.signals,
            "deletedRows": figures.deleted_rows,
            "companies": figures.companies,
            "segments": figures.segments,
            "bytes": figures.bytes,
        });
        if self.sections {
            shown["sections"] = sections(&snapshot, figures)?;
        }
        source::print_json(&shown)
    }
}

/// By name of a section: its bytes, its bytes per signal, and the bound on these.
fn sections(snapshot: &Snapshot, figures: IndexStatistics) -> Result<Value, Failure> {
    // An index without signals has bytes nevertheless.
    let per_signal = |bytes: f64| (bytes / figures.signals.max(1) as f64 * 1000.0).round() / 1000.0;
    let mut sections: Map<String, Value> = Map::new();
    for (name, bytes) in figures.sections {
        sections.insert(
            name,
            json!({ "bytes": bytes, "bytesPerSignal": per_signal(bytes as f64) }),
        );
    }
    for (name, bytes) in snapshot.entropy_bounds()? {
        sections[&name]["entropyBound"] = per_signal(bytes).into();
    }
    Ok(sections.into())
}
