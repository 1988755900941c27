//! The slowest page and count that a query within the limits can ask.
//!
//! usage: `taskset -c 1 cargo bench --bench slow_shapes -- [DRAWS]`
//!
//! Draws queries of the parts that cost most (`shapes`), alone and together, and shows the slowest of
//! each combination with the time of its page and its count, the least of three calls each, among them any of the 200
//! prefixes of three letters that stand for most words. `questions` draws the slowest of the other questions.
//! `benches/corpus` says over which corpus. The fixed ones among them are tasks of
//! `benches/instructions`.

#[path = "../classes/mod.rs"]
#[allow(dead_code, reason = "of the classes only the statistics are used here")]
mod classes;
#[path = "../corpus/mod.rs"]
mod corpus;
mod questions;
mod shapes;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hint::black_box;
use std::time::{Duration, Instant};

use signaldex::{IndexBuilder, Query, Snapshot, sample};

use classes::Statistics;
use corpus::Source;
use shapes::Draw;

/// Queries drawn unless the command line says how many.
const DRAWS: usize = 20_000;
/// Calls of which the fastest counts.
const CALLS: usize = 3;
/// Combinations shown.
const SHOWN: usize = 12;

/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let draws = std::env::args().skip(1).find_map(|text| text.parse().ok());
    let index = Source::of_environment()?.build(IndexBuilder::in_memory())?;
    let snapshot = index.snapshot();
    let statistics = Statistics::of(&snapshot)?;
    let mut draw = Draw::new(&snapshot, &statistics)?;
    let mut pages = Slowest::default();
    let mut counts = Slowest::default();
    for _ in 0..draws.unwrap_or(DRAWS) {
        let (shape, query) = draw.wider();
        pages.note(&shape, &query, page_time(&snapshot, &query));
        counts.note(&shape, &query, count_time(&snapshot, &query));
    }
    let (shape, query) = draw.prefixes();
    pages.note(shape, &query, page_time(&snapshot, &query));
    counts.note(shape, &query, count_time(&snapshot, &query));
    pages.print("page");
    counts.print("count");
    questions::print(&snapshot, &mut draw)
}

fn page_time(snapshot: &Snapshot, query: &Query) -> Duration {
    least(|| {
        drop(black_box(
            snapshot.search(query, sample::AS_OF).expect(WHOLE),
        ))
    })
}

fn count_time(snapshot: &Snapshot, query: &Query) -> Duration {
    least(|| {
        black_box(snapshot.count(query.filter(), sample::AS_OF).expect(WHOLE));
    })
}

/// The least time of some calls.
fn least(call: impl Fn()) -> Duration {
    let time = || {
        let started = Instant::now();
        call();
        started.elapsed()
    };
    (0..CALLS).map(|_| time()).min().unwrap_or_default()
}

/// The slowest query of each combination of parts.
#[derive(Default)]
struct Slowest(BTreeMap<String, (Duration, String)>);

impl Slowest {
    fn note(&mut self, shape: &str, query: &dyn Display, time: Duration) {
        let slowest = self.0.entry(shape.to_owned()).or_default();
        if time > slowest.0 {
            *slowest = (time, query.to_string());
        }
    }

    fn print(self, what: &str) {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, (time, _))| std::cmp::Reverse(*time));
        println!("\n## slowest {what} of each combination, in microseconds\n");
        for (shape, (time, query)) in all.into_iter().take(SHOWN) {
            let micros = time.as_nanos() as f64 / 1e3;
            println!("{micros:>10.1}  {shape}\n            {query}");
        }
    }
}
