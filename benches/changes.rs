//! What it costs to ask what has changed, and to remember it.
//!
//! usage: `cargo bench --bench changes -- [SIGNALS]`
//!
//! The index lies in the working directory. A hundredth of the signals is changed, spread over all of
//! them, and asked for before and after the changes are merged into one segment.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use signaldex::query::Order;
use signaldex::{Filter, Index, IndexBuilder, Position, Signal, Snapshot};
use signaldex_synthetic::Corpus;
use time::Date;

/// How long a call is repeated.
const TIME: Duration = Duration::from_millis(300);
/// Every hundredth signal is changed, and at most 10,000 in all.
const CHANGED: (usize, usize) = (100, 10_000);
/// Changes of a commit.
const COMMIT: usize = 100;
const FILTERS: [&str; 3] = ["", "q=series", "country=Germany&size=1-49"];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let size = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    let corpus = Corpus::new(size.unwrap_or(1_000_000), 1)?;
    let directory = tempfile::tempdir_in(".")?;
    let path = directory.path().join("index");
    build(&path, &corpus)?;
    let index = Index::open(&path)?;
    report_bytes(&index.snapshot());
    let since = index.snapshot().position();
    let mut writer = index.writer()?;
    let step = CHANGED.0.max(corpus.signal_count() as usize / CHANGED.1);
    let changed: Vec<Signal<'_>> = corpus.signals().step_by(step).collect();
    for signals in changed.chunks(COMMIT) {
        for signal in signals {
            writer.upsert_signal(signal)?;
        }
        writer.commit()?;
    }
    writer.wait_for_merges();
    let today = corpus.as_of();
    println!(
        "| {} changes | filter | changes | found in | read in |",
        changed.len()
    );
    println!("|---|---|--:|--:|--:|");
    report_changes(("in several segments", &index.snapshot()), &since, today)?;
    writer.compact()?;
    report_changes(("in one segment", &index.snapshot()), &since, today)?;
    report_bytes(&index.snapshot());
    report_poll(&index.snapshot(), today)
}

fn build(path: &Path, corpus: &Corpus) -> Outcome<()> {
    let mut builder = IndexBuilder::in_directory(path)?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal)?;
    }
    builder.finish()?;
    Ok(())
}

fn report_bytes(snapshot: &Snapshot) {
    let statistics = snapshot.statistics().expect("a whole index");
    let is_of_commits = |name: &str| name.starts_with("Packed") || name.starts_with("Tombstones");
    let sections = statistics.sections.iter();
    let bytes: u64 = sections
        .filter(|(name, _)| is_of_commits(name))
        .map(|&(_, bytes)| bytes)
        .sum();
    let signals = statistics.signals;
    let each = bytes as f64 / signals as f64;
    println!("commits of {signals} signals take {bytes} bytes, {each:.2} a signal");
}

fn report_changes(
    (name, snapshot): (&str, &Snapshot),
    since: &Position,
    today: Date,
) -> Outcome<()> {
    for text in FILTERS {
        let filter = Filter::from_query_string(text)?;
        let changes = || snapshot.changes(&filter, today, since);
        let count = changes()?.count();
        let found = mean_time(|| _ = black_box(changes().map(Iterator::count)));
        let read = mean_time(|| {
            let changes = changes().expect("a position of this index");
            changes.for_each(|change| drop(black_box(change)));
        });
        println!("| {name} | `{text}` | {count} | {found:.1?} | {read:.1?} |");
    }
    let filter = Filter::from_query_string("")?;
    let started = Instant::now();
    let all = snapshot.matches(&filter, today, Order::OldestFirst);
    let count = all.map(black_box).count();
    let each = started.elapsed() / count as u32;
    println!("reading every match, {name}: {each:.1?} a signal");
    Ok(())
}

/// Polls without changes.
fn report_poll(snapshot: &Snapshot, today: Date) -> Outcome<()> {
    let position = snapshot.position();
    for text in FILTERS {
        let filter = Filter::from_query_string(text)?;
        let time = mean_time(|| {
            let changes = snapshot.changes(&filter, today, &position);
            drop(black_box(changes.map(|mut changes| changes.next())));
        });
        println!("a poll without changes, `{text}`: {time:.1?}");
    }
    Ok(())
}

/// The mean time of a call that is repeated.
fn mean_time(mut call: impl FnMut()) -> Duration {
    let started = Instant::now();
    let mut calls = 0;
    while started.elapsed() < TIME {
        call();
        calls += 1;
    }
    started.elapsed() / calls
}
