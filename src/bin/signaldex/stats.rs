//! `signaldex stats`: what an index holds and how many bytes it takes.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::{Failure, source};

/// Show figures of an index: signals, companies, segments, bytes
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also show the bytes of each section of the files
    #[arg(long)]
    sections: bool,
}

impl Stats {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let figures = source::open(&self.directory)?.snapshot().statistics();
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
            let sections = figures.sections.into_iter();
            let sections: Map<String, Value> =
                sections.map(|(name, bytes)| (name, bytes.into())).collect();
            shown["bytesBySection"] = sections.into();
        }
        source::print_json(&shown)
    }
}
