//! `signaldex stats`: what an index holds and how many bytes it takes.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use signaldex::IndexStatistics;

use crate::shown_as::ShownAs;
use crate::table::{Cell, TableColumn};
use crate::{Failure, source, table};

/// Show figures of an index: signals, companies, segments, bytes
#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also show each section of the files: its bytes, and those per signal
    #[arg(long)]
    sections: bool,
    #[command(flatten)]
    shown_as: ShownAs,
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
            shown["sections"] = sections(figures);
        }
        if self.shown_as.is_table() {
            return print_table(&shown);
        }
        source::print_json(&shown)
    }
}

/// Prints the figures as a list, and those of sections as a table.
fn print_table(shown: &Value) -> Result<(), Failure> {
    const FIGURES: [&str; 7] = [
        "index",
        "generation",
        "signals",
        "deletedRows",
        "companies",
        "segments",
        "bytes",
    ];
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    table::print_fields(FIGURES.map(|name| (name, text(&shown[name]))))?;
    let Some(sections) = shown["sections"].as_object() else {
        return Ok(());
    };
    let columns = [
        TableColumn::text("section", 0, 16, 24),
        TableColumn::number("bytes", 1),
        TableColumn::number("bytesPerSignal", 2),
    ];
    let row = |(name, figures): (&String, &Value)| {
        let figure = |column: &TableColumn| match &figures[column.name] {
            Value::Null => Cell::new(""),
            figure => Cell::new(&figure.to_string()),
        };
        let figures = columns[1..].iter().map(figure);
        [Cell::new(name)].into_iter().chain(figures).collect()
    };
    writeln!(std::io::stdout())?;
    table::print(&columns, &sections.iter().map(row).collect::<Vec<_>>())
}

/// By name of a section: its bytes, and its bytes per signal.
fn sections(figures: IndexStatistics) -> Value {
    // An index without signals has bytes nevertheless.
    let per_signal = |bytes: f64| (bytes / figures.signals.max(1) as f64 * 1000.0).round() / 1000.0;
    let mut sections: Map<String, Value> = Map::new();
    for (name, bytes) in figures.sections {
        sections.insert(
            name,
            json!({ "bytes": bytes, "bytesPerSignal": per_signal(bytes as f64) }),
        );
    }
    sections.into()
}
