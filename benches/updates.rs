//! How fast changes are committed and merged, and what many small commits leave.
//!
//! usage: `cargo bench --bench updates -- [SIGNALS]`
//!
//! The index lies in the working directory, so that its disk is the one that is measured.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use signaldex::{Index, IndexBuilder, Query, Signal, SignalId, Snapshot, Writer};
use signaldex_synthetic::Corpus;
use time::Date;

/// Signals of a commit, and commits that are measured.
const BATCHES: [(usize, usize); 3] = [(1, 2000), (100, 500), (10_000, 20)];
/// Commits before pages, counts and facets are compared with those of a fresh build.
const SMALL_COMMITS: usize = 10_000;
/// Signals of each: one that is new, and one that takes the place of another.
const SMALL_BATCH: usize = 2;
/// Commits between which pages and counts are asked, and signals of each: half of them new, half in the place
/// of others.
const ASKED_COMMITS: usize = 1000;
const ASKED_BATCH: usize = 50;
/// How often each query is asked after a commit.
const ASKED_TIMES: usize = 4;
/// How long an idle writer may take to merge everything.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// How long a query is repeated.
const TIME: Duration = Duration::from_millis(200);

const QUERIES: [&str; 9] = [
    "",
    "q=series",
    "all=series a",
    "any=robotics biotech fintech logistics",
    "exact=machine learning",
    "q=series -a -machine",
    "q=series&country=Germany",
    "country=Germany&size=1-49&days=30",
    "q=series&fundingMin=1000000&fundingMax=5000000",
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let size = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    let corpus = Corpus::new(size.unwrap_or(200_000), 1)?;
    let signals: Vec<Signal<'_>> = corpus.signals().collect();
    let directory = tempfile::tempdir_in(".")?;
    println!("| signals a commit | signals/s | median of a commit | 99th of 100 |");
    println!("|--:|--:|--:|--:|");
    for (batch, commits) in BATCHES {
        let path = directory.path().join(format!("batches-of-{batch}"));
        build(&path, &corpus, &signals)?;
        report_commits(&path, &signals, batch, commits)?;
    }
    report_merge(&directory.path().join("merge"), &corpus, &signals)?;
    report_asked_meanwhile(directory.path(), &corpus, &signals)?;
    report_small_commits(directory.path(), &corpus, &signals)
}

fn build(path: &Path, corpus: &Corpus, signals: &[Signal<'_>]) -> Outcome<Index> {
    let mut builder = IndexBuilder::in_directory(path)?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in signals {
        builder.add_signal(signal)?;
    }
    Ok(builder.finish()?)
}

/// A signal like one of the corpus, with an id after all of them but the highest possible,
/// which every corpus has.
fn new_signal<'s>(signals: &'s [Signal<'_>], number: usize) -> Signal<'s> {
    let mut ids = signals.iter().rev().map(|signal| signal.id);
    let last = ids.find(|&id| id != SignalId::MAX);
    let new = last.map_or(0, SignalId::get) + 1 + number as u64;
    let id = SignalId::new(new).expect("an id far below the highest");
    let mut signal = signals[number % signals.len()].clone();
    signal.id = id;
    signal
}

fn report_commits(
    path: &Path,
    signals: &[Signal<'_>],
    batch: usize,
    commits: usize,
) -> Outcome<()> {
    let mut writer = Index::open(path)?.writer()?;
    let mut times = Vec::with_capacity(commits);
    let started = Instant::now();
    for commit in 0..commits {
        for place in 0..batch {
            writer.upsert_signal(&new_signal(signals, commit * batch + place))?;
        }
        let before = Instant::now();
        writer.commit()?;
        times.push(before.elapsed());
    }
    let rate = (batch * commits) as f64 / started.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[((commits - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
    println!(
        "| {batch} | {rate:.0} | {:.1} ms | {:.1} ms |",
        at(0.5),
        at(0.99)
    );
    Ok(())
}

/// Merges two segments, each of half the corpus.
fn report_merge(path: &Path, corpus: &Corpus, signals: &[Signal<'_>]) -> Outcome<()> {
    let (first, second) = signals.split_at(signals.len() / 2);
    build(path, corpus, first)?;
    let mut writer = Index::open(path)?.writer()?;
    upsert_all(&mut writer, second)?;
    let started = Instant::now();
    writer.compact()?;
    let rate = signals.len() as f64 / started.elapsed().as_secs_f64();
    println!("\nmerging: {rate:.0} signals/s");
    Ok(())
}

fn upsert_all(writer: &mut Writer, signals: &[Signal<'_>]) -> Outcome<()> {
    for signal in signals {
        writer.upsert_signal(signal)?;
    }
    writer.commit()?;
    Ok(())
}

/// Asks pages and counts after each of many commits that come as fast as they go, and the same of one segment
/// in turns, so that both find the caches as commits leave them.
fn report_asked_meanwhile(
    directory: &Path,
    corpus: &Corpus,
    signals: &[Signal<'_>],
) -> Outcome<()> {
    let index = build(&directory.join("asked"), corpus, signals)?;
    let one_segment = build(&directory.join("one-segment"), corpus, signals)?.snapshot();
    let queries: Vec<Query> = QUERIES
        .iter()
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let mut writer = index.writer()?;
    let mut times: Vec<[Vec<Duration>; 4]> = vec![Default::default(); queries.len()];
    let mut segments = Vec::new();
    for commit in 0..ASKED_COMMITS {
        let numbers = commit * ASKED_BATCH / 2..(commit + 1) * ASKED_BATCH / 2;
        let replaced = |number: usize| signals[number.wrapping_mul(7919) % signals.len()].clone();
        let batch = numbers.flat_map(|number| [new_signal(signals, number), replaced(number)]);
        upsert_all(&mut writer, &batch.collect::<Vec<_>>())?;
        let updated = index.snapshot();
        segments.push(updated.statistics().expect("a whole index").segments);
        // Each of the two comes first every other time.
        let mut snapshots = [(&*updated, 0), (&*one_segment, 1)];
        snapshots.rotate_left(commit % 2);
        for (query, times) in queries.iter().zip(&mut times) {
            for (snapshot, column) in snapshots.repeat(ASKED_TIMES) {
                let today = corpus.as_of();
                times[column].push(time_of(|| {
                    snapshot.search(query, today).expect("a whole index")
                }));
                times[column + 2].push(time_of(|| {
                    snapshot
                        .count(query.filter(), today)
                        .expect("a whole index")
                }));
            }
        }
    }
    segments.sort_unstable();
    println!(
        "\nafter each of {ASKED_COMMITS} commits of {ASKED_BATCH} signals, {} segments in the median and at most {}:",
        segments[ASKED_COMMITS / 2],
        segments[ASKED_COMMITS - 1]
    );
    println!("\n| query | page | one segment | count | one segment |");
    println!("|---|--:|--:|--:|--:|");
    for (text, times) in QUERIES.iter().zip(times) {
        let [page, one_page, count, one_count] = times.map(median_of);
        println!(
            "| `{text}` | {page:.1} | {:.2}x | {count:.1} | {:.2}x |",
            page / one_page,
            count / one_count
        );
    }
    Ok(())
}

fn report_small_commits(directory: &Path, corpus: &Corpus, signals: &[Signal<'_>]) -> Outcome<()> {
    let path = directory.join("small-commits");
    let index = build(&path, corpus, signals)?;
    let mut writer = index.writer()?;
    let (mut most, started) = (0, Instant::now());
    for commit in 0..SMALL_COMMITS {
        let replaced = &signals[commit.wrapping_mul(7919) % signals.len()];
        let batch = [new_signal(signals, commit), replaced.clone()];
        debug_assert_eq!(batch.len(), SMALL_BATCH);
        upsert_all(&mut writer, &batch)?;
        most = most.max(
            index
                .snapshot()
                .statistics()
                .expect("a whole index")
                .segments,
        );
    }
    let time = started.elapsed().as_secs_f64();
    writer.wait_for_merges();
    let updated = index.snapshot();
    println!(
        "\n{SMALL_COMMITS} commits of {SMALL_BATCH} signals in {time:.1} s, at most {most} \
         segments meanwhile"
    );
    let live: Vec<Signal<'_>> = updated
        .scan()
        .map(|found| found.map(|found| found.signal))
        .collect::<signaldex::Result<_>>()?;
    let fresh = build(&directory.join("fresh"), corpus, &live)?.snapshot();
    compare(&updated, &fresh, corpus.as_of());
    let stopped = Instant::now();
    while index.snapshot().generation() == updated.generation() && stopped.elapsed() < IDLE_MAX {
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("\nafter {:.1} s more", stopped.elapsed().as_secs_f64());
    compare(&index.snapshot(), &fresh, corpus.as_of());
    Ok(())
}

/// Prints how much longer queries take on one snapshot than on the other.
fn compare(updated: &Snapshot, fresh: &Snapshot, today: Date) {
    let figures = updated.statistics().expect("a whole index");
    println!(
        "\n{} segments, {} of {} rows deleted",
        figures.segments,
        figures.deleted_rows,
        figures.deleted_rows + figures.signals
    );
    println!("\n| query | page | fresh | count | fresh | facets | fresh |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for text in QUERIES {
        let [page, fresh_page] = [updated, fresh].map(|snapshot| page(snapshot, text, today));
        let [count, fresh_count] = [updated, fresh].map(|snapshot| count(snapshot, text, today));
        let [facets, fresh_facets] = [updated, fresh].map(|snapshot| facets(snapshot, text, today));
        println!(
            "| `{text}` | {page:.1} | {:.2}x | {count:.1} | {:.2}x | {facets:.0} | {:.2}x |",
            page / fresh_page,
            count / fresh_count,
            facets / fresh_facets
        );
    }
}

fn page(snapshot: &Snapshot, text: &str, today: Date) -> f64 {
    let query = Query::from_query_string(text).expect("a valid query");
    median(|| snapshot.search(&query, today).expect("a whole index"))
}

fn count(snapshot: &Snapshot, text: &str, today: Date) -> f64 {
    let query = Query::from_query_string(text).expect("a valid query");
    median(|| {
        snapshot
            .count(query.filter(), today)
            .expect("a whole index")
    })
}

fn facets(snapshot: &Snapshot, text: &str, today: Date) -> f64 {
    let query = Query::from_query_string(text).expect("a valid query");
    median(|| {
        snapshot
            .facets(query.filter(), today)
            .expect("a whole index")
    })
}

/// The median time of a call, in microseconds.
fn median<T>(mut call: impl FnMut() -> T) -> f64 {
    let mut times = Vec::new();
    let started = Instant::now();
    while started.elapsed() < TIME || times.len() < 5 {
        times.push(time_of(&mut call));
    }
    median_of(times)
}

fn time_of<T>(call: impl FnOnce() -> T) -> Duration {
    let before = Instant::now();
    black_box(call());
    before.elapsed()
}

fn median_of(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
