//! How long opening an index takes, and the first question of each kind after it.
//!
//! usage: `benches/open.py [SIGNALS]`, which evicts the files before some of the runs. By itself:
//! `cargo bench --bench open -- build DIRECTORY SIGNALS`, then `-- open DIRECTORY`,
//! which prints a line of microseconds for each step.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use signaldex::{Filter, Index, IndexBuilder, Query};
use signaldex_synthetic::Corpus;
use time::Date;
use time::macros::date;

const TODAY: Date = date!(2026 - 06 - 30);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["build", directory, signals, ..] => build(Path::new(directory), signals.parse()?),
        ["open", directory, ..] => open(Path::new(directory)),
        _ => Err("usage: build DIRECTORY SIGNALS, or open DIRECTORY; see benches/open.py".into()),
    }
}

fn build(directory: &Path, signals: u64) -> Result<(), Box<dyn Error>> {
    let corpus = Corpus::new(signals, 1)?;
    let mut builder = IndexBuilder::in_directory(directory)?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal)?;
    }
    builder.finish()?;
    Ok(())
}

fn open(directory: &Path) -> Result<(), Box<dyn Error>> {
    let started = Instant::now();
    let index = Index::open(directory)?;
    report("open", started);
    let snapshot = index.snapshot();
    let query = Query::from_query_string("q=robotics&country=Germany")?;
    let filter = Filter::from_query_string("q=series&days=90")?;
    for step in ["first page", "next page"] {
        timed(step, || {
            snapshot
                .records(&snapshot.search(&query, TODAY).expect("a whole index"))
                .map(|items| items.len())
        });
    }
    for step in ["first count", "next count"] {
        timed(step, || {
            snapshot.count(&filter, TODAY).expect("a whole index")
        });
    }
    for step in ["first facets", "next facets"] {
        timed(step, || {
            snapshot.facets(&filter, TODAY).expect("a whole index")
        });
    }
    timed("check", || snapshot.check());
    Ok(())
}

fn timed<T>(step: &str, work: impl FnOnce() -> T) {
    let started = Instant::now();
    black_box(work());
    report(step, started);
}

fn report(step: &str, started: Instant) {
    println!("{step}: {}", started.elapsed().as_micros());
}
