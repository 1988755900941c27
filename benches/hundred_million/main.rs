//! Steps of a run over very many generated signals, each for a process of its own: `benches/hundred_million.py`.
//!
//! ```text
//! build DIRECTORY SIGNALS           builds without any file of records
//! draw DIRECTORY                    prints queries of each class, drawn from the index
//! open DIRECTORY                    opens, and asks the first questions
//! cached DIRECTORY QUERIES          times each query of a file of drawn ones until it is in memory
//! limit DIRECTORY QUERIES           times each beside plain loops over as many bytes as its plan reads
//! evicted DIRECTORY TASK QUERY      times one query once
//! commit DIRECTORY SIGNALS COUNT    commits COUNT signals, twice, and waits for merges
//! compact DIRECTORY                 merges all segments into one
//! ```
//!
//! Each prints lines of fields with tabs between them; times are in microseconds.

#[path = "../classes/mod.rs"]
#[allow(dead_code, reason = "peers and other benches ask for more of it")]
mod classes;
mod limit;
#[path = "../panel/mod.rs"]
mod panel;
mod update;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use signaldex::{Index, IndexBuilder, Query, Snapshot, sample};
use signaldex_synthetic::Corpus;

use classes::Statistics;
use panel::PANEL;

/// What can go wrong ends the step.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The seed of the corpus, as in the other benches.
const SEED: u64 = 1;
/// Queries drawn of a class.
const QUERIES: usize = 25;
/// Limits of the calls of a query: at least, at most, and how long all of them take together.
const CALLS_MIN: usize = 3;
const CALLS_MAX: usize = 101;
const CALLS_TIME: Duration = Duration::from_millis(300);
/// Short calls are timed together for about as long.
const TOGETHER: Duration = Duration::from_micros(20);
/// Companies or signals between lines that tell how far a build is.
const TOLD: u64 = 10_000_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["build", directory, signals, ..] => build(Path::new(directory), signals.parse()?),
        ["draw", directory, ..] => draw(Path::new(directory)),
        ["open", directory, ..] => open(Path::new(directory)),
        ["cached", directory, queries, ..] => cached(Path::new(directory), Path::new(queries)),
        ["limit", directory, queries, ..] => limit::limit(Path::new(directory), Path::new(queries)),
        ["evicted", directory, task, query, ..] => evicted(Path::new(directory), task, query),
        ["commit", directory, signals, count, ..] => {
            update::commit(Path::new(directory), signals.parse()?, count.parse()?)
        }
        ["compact", directory, ..] => update::compact(Path::new(directory)),
        _ => Err("usage: see benches/hundred_million.py".into()),
    }
}

/// Builds from records that are made one at a time.
fn build(directory: &Path, signals: u64) -> Result<()> {
    let corpus = Corpus::new(signals, SEED)?;
    let mut builder = IndexBuilder::in_directory(directory)?;
    let started = Instant::now();
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for (number, signal) in (1..).zip(corpus.signals()) {
        builder.add_signal(&signal)?;
        if number % TOLD == 0 {
            eprintln!("{number} signals, {:.0?}", started.elapsed());
        }
    }
    report("add", started);
    let started = Instant::now();
    builder.finish_with(|share| {
        eprintln!("finished {:.1} %, {:.0?}", share * 100.0, started.elapsed());
    })?;
    report("finish", started);
    Ok(())
}

/// Prints a line for each query: its class, and the query.
fn draw(directory: &Path) -> Result<()> {
    let snapshot = Index::open(directory)?.snapshot();
    let statistics = Statistics::of(&snapshot)?;
    for class in classes::draw_each(&snapshot, &statistics, sample::AS_OF, QUERIES)? {
        for wanted in &class.queries {
            println!("{}\t{}", class.name, wanted.query(sample::AS_OF));
        }
    }
    Ok(())
}

fn open(directory: &Path) -> Result<()> {
    let started = Instant::now();
    let index = Index::open(directory)?;
    report("open", started);
    let snapshot = index.snapshot();
    println!("signals\t{}", snapshot.signal_count());
    let query = Query::from_query_string("q=robotics&country=Germany")?;
    for (step, task) in [
        ("first page with records", "records"),
        ("next page", "records"),
        ("first count", "count"),
        ("next count", "count"),
        ("first facets", "facets"),
        ("next facets", "facets"),
    ] {
        let started = Instant::now();
        ask(&snapshot, &query, task)?;
        report(step, started);
    }
    Ok(())
}

/// Prints a line for each query and task: class, task, matches, the median time.
fn cached(directory: &Path, queries: &Path) -> Result<()> {
    let snapshot = Index::open(directory)?.snapshot();
    for line in std::fs::read_to_string(queries)?.lines() {
        let (class, query) = line.split_once('\t').ok_or("a line without a tab")?;
        let query: Query = query.parse()?;
        let matches = snapshot.count(query.filter(), sample::AS_OF)?;
        for task in ["page", "records", "count", "facets"] {
            let time = median(|| ask(&snapshot, &query, task))?;
            let micros = time.as_nanos() as f64 / 1e3;
            println!("{class}\t{task}\t{matches}\t{micros:.2}");
        }
    }
    Ok(())
}

/// The median time of a call, which is repeated: the first one brings what it reads into memory.
pub(crate) fn median(mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    call()?;
    let started = Instant::now();
    call()?;
    // Calls that are shorter than a look at the clock are timed together.
    let once = started.elapsed().max(Duration::from_nanos(1));
    let together = (TOGETHER.as_nanos() / once.as_nanos()).max(1) as u32;
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < CALLS_MIN || (times.len() < CALLS_MAX && begin.elapsed() < CALLS_TIME) {
        let started = Instant::now();
        for _ in 0..together {
            call()?;
        }
        times.push(started.elapsed() / together);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn evicted(directory: &Path, task: &str, query: &str) -> Result<()> {
    let snapshot = Index::open(directory)?.snapshot();
    let query = query.parse()?;
    let started = Instant::now();
    ask(&snapshot, &query, task)?;
    report(task, started);
    Ok(())
}

/// Answers a query, and forgets the answer.
pub(crate) fn ask(snapshot: &Snapshot, query: &Query, task: &str) -> Result<()> {
    let (filter, today) = (query.filter(), sample::AS_OF);
    match task {
        "page" => drop(black_box(snapshot.search(query, today)?)),
        "records" => {
            let page = snapshot.search(query, today)?;
            drop(black_box(snapshot.records(&page)?));
        }
        "count" => drop(black_box(snapshot.count(filter, today)?)),
        "facets" => drop(black_box(snapshot.facets_of(filter, today, &PANEL)?)),
        other => return Err(format!("no such task: {other}").into()),
    }
    Ok(())
}

/// Prints a step and the time that it took.
pub(crate) fn report(step: &str, started: Instant) {
    println!("{step}\t{}", started.elapsed().as_micros());
}
