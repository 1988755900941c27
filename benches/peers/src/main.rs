//! signaldex beside tantivy, SQLite and plain roaring bitmaps: the same queries in one run.
//!
//! ```text
//! cargo run --release -- check                     answers of all engines against a plain scan
//! cargo run --release -- run --signals 1000000     builds, compares, measures, writes results
//! cargo run --release -- by-value                  pages by date and amount, beside tantivy
//! cargo run --release -- scale                     ours alone: ten times as many, two threads
//! cargo run --release -- saved                     saved searches, beside a percolator
//! cargo run --release -- plot                      draws what was measured
//! ```
//!
//! Results stand in `results/`: medians as JSON, a table in Markdown, and one plot a task.

mod by_value;
mod check;
#[path = "../../classes/mod.rs"]
mod classes;
mod corpus;
mod engine;
mod engines;
mod goals;
mod measure;
mod plot;
mod probe;
mod question;
mod record;
mod report;
mod saved;
mod scale;
#[path = "../../saved_searches/searches.rs"]
mod searches;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

use self::corpus::Corpus;
use self::engines::Kind;
use self::measure::Results;

/// What can go wrong is only reported.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[derive(Parser)]
#[command(about = "signaldex beside tantivy, SQLite and plain roaring bitmaps")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compares the answers of all engines with a plain scan of a small corpus.
    Check {
        /// Signals of the corpus.
        #[arg(long, default_value_t = 4000)]
        signals: u64,
    },
    /// Builds what is missing, compares all answers, measures, and writes the results.
    Run {
        #[command(flatten)]
        source: Source,
        /// What the names of the results end with: those of another machine.
        #[arg(long)]
        label: Option<String>,
    },
    /// Measures pages by date and by amount beside tantivy, and writes benches/results/by-value.json.
    ByValue {
        #[command(flatten)]
        source: Source,
    },
    /// Measures signaldex alone: ten times the signals, and two threads.
    Scale {
        /// Signals of the smaller corpus.
        #[arg(long, default_value_t = 1_000_000)]
        signals: u64,
        /// What the names of the results end with: those of another machine.
        #[arg(long)]
        label: Option<String>,
    },
    /// Matches saved searches, beside a percolator.
    Saved {
        /// Signals of the corpus that searches are drawn from.
        #[arg(long, default_value_t = 100_000)]
        signals: u64,
        /// Saved searches.
        #[arg(long, default_value_t = 100_000)]
        searches: usize,
    },
    /// Opens one engine in a process of its own and says what that takes.
    #[command(hide = true)]
    Probe {
        #[command(flatten)]
        source: Source,
        /// The engine, by its index in the list.
        #[arg(long)]
        engine: usize,
    },
    /// Draws the results again, and writes their table.
    Plot {
        /// The results, by name.
        #[arg(long, default_value = "1m")]
        results: String,
    },
}

/// Where signals come from.
#[derive(Args, Clone)]
struct Source {
    /// So many generated signals.
    #[arg(long, default_value_t = 1_000_000)]
    signals: u64,
    /// Instead, a folder with companies.jsonl.zst and signals.jsonl.zst.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Builds all engines again.
    #[arg(long)]
    rebuild: bool,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Check { signals } => check::against_scan(signals),
        Command::Run { source, label } => run(&source, label.as_deref()),
        Command::ByValue { source } => by_value::run(&source),
        Command::Scale { signals, label } => scale::run(signals, label.as_deref()),
        Command::Saved { signals, searches } => saved::run(signals, searches),
        Command::Probe { source, engine } => {
            let kind = Kind::ALL.get(engine).ok_or("there is no such engine")?;
            probe::print(&Corpus::of(&source)?, *kind)
        }
        Command::Plot { results } => publish(&results),
    }
}

fn run(source: &Source, label: Option<&str>) -> Result<()> {
    let corpus = Corpus::of(source)?;
    let builds = corpus.build(source.rebuild)?;
    let asked = corpus.questions()?;
    let engines = corpus.open(&Kind::ALL, &asked.dictionary)?;
    check::agreement(&engines, &asked)?;
    let classes = measure::classes(&engines, &asked.classes)?;
    drop(engines);
    let results = Results {
        corpus: corpus.description(),
        signals: asked.signals,
        machine: measure::machine()?,
        date: measure::today(),
        builds,
        opens: probe::all(source)?,
        classes,
    };
    let name = labelled(&corpus.name(), label);
    let path = results_folder().join(format!("{name}.json"));
    std::fs::write(path, serde_json::to_string_pretty(&results)? + "\n")?;
    publish(&name)
}

/// Writes the table and the plots of results.
fn publish(name: &str) -> Result<()> {
    let folder = results_folder();
    let text = std::fs::read_to_string(folder.join(format!("{name}.json")))?;
    let results: Results = serde_json::from_str(&text)?;
    let table = report::table(&results);
    println!("{table}");
    std::fs::write(folder.join(format!("{name}.md")), table)?;
    plot::draw(&results, &folder, name)
}

/// A name of results, those of another machine with its label.
fn labelled(name: &str, label: Option<&str>) -> String {
    label.map_or(name.into(), |label| format!("{name}-{label}"))
}

fn results_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}
