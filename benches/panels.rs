//! How long the four facets take that are asked for with each search, by class of query: of a new index, and of one with
//! deletions and several segments. Also how long the build takes, and the bytes of the index.
//!
//! usage: `taskset -c 1 cargo bench --bench panels -- run [CLASS]`; `benches/corpus` says over which corpus.

#[allow(dead_code, reason = "not all of the classes is used here")]
mod classes;
mod corpus;
mod panel;
mod updated;

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use signaldex::{IndexBuilder, Query, Snapshot, sample};

use classes::Statistics;
use corpus::Source;
use panel::PANEL;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How many signals each commit writes again.
const UPDATES: [usize; 2] = [12_000, 400];

/// How often each query is asked; the fastest counts.
const TURNS: usize = 9;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    // Cargo runs every bench without arguments; there is nothing to measure in this way.
    if arguments.next().as_deref() != Some("run") {
        return Ok(());
    }
    let wanted = arguments.next().filter(|text| !text.starts_with("--"));
    let folder = tempfile::tempdir()?;
    let started = Instant::now();
    let index = Source::of_environment()?.build(IndexBuilder::in_directory(folder.path())?)?;
    println!("built in {:.2} s", started.elapsed().as_secs_f64());
    println!("{} bytes", bytes_in(folder.path())?);
    let fresh = index.snapshot();
    let statistics = Statistics::of(&fresh)?;
    let classes = classes::draw(&fresh, &statistics, sample::AS_OF)?;
    let classes: Vec<_> = classes
        .iter()
        .filter(|class| class.is_counted && !class.queries.is_empty())
        .filter(|class| wanted.as_ref().is_none_or(|name| class.name == name))
        .collect();
    let measure = |name: &str, snapshot: &Snapshot| {
        for class in &classes {
            let queries = class.queries.iter();
            let queries: Vec<Query> = queries.map(|query| query.query(sample::AS_OF)).collect();
            println!("{name}, {}: {}", class.name, times(snapshot, &queries));
        }
    };
    measure("new", &fresh);
    updated::write_again(&index, &fresh, UPDATES)?;
    measure("updated", &index.snapshot());
    Ok(())
}

/// The median and the mean of the fastest times of queries.
fn times(snapshot: &Snapshot, queries: &[Query]) -> String {
    let ask = |query: &Query| {
        let started = Instant::now();
        black_box(
            snapshot
                .facets_of(query.filter(), sample::AS_OF, &PANEL)
                .expect("an index that was just built is whole"),
        );
        started.elapsed()
    };
    let mut best = vec![Duration::MAX; queries.len()];
    for _ in 0..TURNS {
        for (best, query) in best.iter_mut().zip(queries) {
            *best = ask(query).min(*best);
        }
    }
    best.sort_unstable();
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let mean = best.iter().copied().map(micros).sum::<f64>() / best.len() as f64;
    let rank = |percent: usize| micros(best[(best.len() - 1) * percent / 100]);
    format!(
        "median {:.1} µs, mean {mean:.1} µs, p90 {:.1} µs, of {}",
        rank(50),
        rank(90),
        best.len()
    )
}

fn bytes_in(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for file in fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}
