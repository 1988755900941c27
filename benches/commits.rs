//! Commits of one signal, and opening, of an index that has had many commits.
//!
//! usage: `cargo bench --bench commits -- prepare DIRECTORY COMMITS`, then
//! `-- measure DIRECTORY COMMITS`, which makes COMMITS more and prints commits a second and the median time of opening.
//! To compare two builds, give each a copy of the directory and let them measure in turns.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use signaldex::{Index, IndexBuilder, SignalId};
use signaldex_synthetic::Corpus;

/// Signals of the index.
const SIGNALS: u64 = 10_000;

/// How often the index is opened.
const OPENED: usize = 201;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["prepare", directory, commits, ..] => prepare(Path::new(directory), commits.parse()?),
        ["measure", directory, commits, ..] => measure(Path::new(directory), commits.parse()?),
        _ => Err("usage: prepare DIRECTORY COMMITS, or measure DIRECTORY COMMITS".into()),
    }
}

/// Builds an index and makes commits that write no segment.
fn prepare(directory: &Path, commits: u64) -> Result<(), Box<dyn Error>> {
    let corpus = Corpus::new(SIGNALS, 1)?;
    let mut builder = IndexBuilder::in_directory(directory)?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal)?;
    }
    let mut writer = builder.finish()?.writer()?;
    for _ in 0..commits {
        writer.delete_signal(SignalId::MIN).expect("a whole index");
        writer.commit()?;
    }
    Ok(())
}

fn measure(directory: &Path, commits: usize) -> Result<(), Box<dyn Error>> {
    let corpus = Corpus::new(SIGNALS, 1)?;
    let mut opened = Vec::with_capacity(OPENED);
    for _ in 0..OPENED {
        let started = Instant::now();
        drop(Index::open(directory)?);
        opened.push(started.elapsed());
    }
    opened.sort_unstable();
    let mut writer = Index::open(directory)?.writer()?;
    let signals: Vec<_> = corpus.signals().collect();
    let started = Instant::now();
    for signal in signals.iter().cycle().take(commits) {
        writer.upsert_signal(signal)?;
        writer.commit()?;
    }
    let rate = commits as f64 / started.elapsed().as_secs_f64();
    let open = opened[OPENED / 2].as_secs_f64() * 1e6;
    println!("{rate:.0} commits/s, open {open:.0} µs");
    Ok(())
}
