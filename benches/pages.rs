//! How long the answer of a page takes, with its records as they are sent: mixed queries of all classes in random order,
//! so that most records are in no cache of the processor.
//!
//! usage: `taskset -c 1 cargo bench --bench pages -- run [INDEX]`; `benches/corpus` says over which corpus.

#[allow(dead_code, reason = "of the classes only their queries are used here")]
mod classes;
mod corpus;

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use signaldex::json::{Rendering, SearchAnswer};
use signaldex::{Index, IndexBuilder, Query, Snapshot, sample};

use classes::Statistics;
use classes::random::Random;
use corpus::Source;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Queries drawn of each class.
const OF_CLASS: usize = 160;

/// How often all queries are asked; the median counts.
const TURNS: usize = 9;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    // Cargo runs every bench without arguments; there is nothing to measure in this way.
    if arguments.next().as_deref() != Some("run") {
        return Ok(());
    }
    let index = match arguments.next().filter(|text| !text.starts_with("--")) {
        Some(path) => Index::open(path)?,
        None => Source::of_environment()?.build(IndexBuilder::in_memory())?,
    };
    let snapshot = index.snapshot();
    let queries = mixed(&snapshot)?;
    let mut turns: Vec<[Duration; 3]> = Vec::new();
    for _ in 0..TURNS {
        turns.push(turn(&snapshot, &queries)?);
    }
    let median = |part: usize| {
        let mut times: Vec<Duration> = turns.iter().map(|turn| turn[part]).collect();
        times.sort_unstable();
        times[TURNS / 2].as_secs_f64() * 1e6 / queries.len() as f64
    };
    println!(
        "{} queries: search {:.2} us, answer {:.2} us, the same answer again {:.2} us",
        queries.len(),
        median(0),
        median(1),
        median(2)
    );
    Ok(())
}

/// Queries of every class in random order, the same for each run.
fn mixed(snapshot: &Snapshot) -> Result<Vec<Query>> {
    let statistics = Statistics::of(snapshot)?;
    let classes = classes::draw_each(snapshot, &statistics, sample::AS_OF, OF_CLASS)?;
    let queries = classes.iter().flat_map(|class| &class.queries);
    let mut queries: Vec<Query> = queries.map(|wanted| wanted.query(sample::AS_OF)).collect();
    let mut random = Random::named("pages");
    for last in (1..queries.len()).rev() {
        queries.swap(last, random.below(last + 1));
    }
    Ok(queries)
}

/// The times of all searches, of all answers, and of the same answers from caches.
fn turn(snapshot: &Snapshot, queries: &[Query]) -> Result<[Duration; 3]> {
    let mut times = [Duration::ZERO; 3];
    for query in queries {
        let started = Instant::now();
        let page = snapshot.search(query, sample::AS_OF)?;
        let found = Instant::now();
        black_box(SearchAnswer::of_page(snapshot, &page, Rendering::Whole)?);
        times[0] += found - started;
        let answered = Instant::now();
        black_box(SearchAnswer::of_page(snapshot, &page, Rendering::Whole)?);
        times[1] += answered - found;
        times[2] += answered.elapsed();
    }
    Ok(times)
}
