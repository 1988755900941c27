//! Pages and counts of prefix words beside those of any of ten frequent words.
//!
//! usage: `SIGNALDEX_CORPUS=DIR SIGNALDEX_COPIES=8 taskset -c 1 cargo bench --bench prefixes`
//!
//! Asks for forty prefixes of 2 to 500 words, for the ten prefixes of three letters that stand for most words, and for any
//! of ten frequent words. Shows geometric means over the least of some calls each, and the values to record as
//! `benches/results/prefixes.json`. `benches/corpus` says over which corpus.

#[path = "classes/mod.rs"]
#[allow(dead_code, reason = "of the classes only the statistics are used here")]
mod classes;
#[path = "corpus/mod.rs"]
mod corpus;

use std::hint::black_box;
use std::time::{Duration, Instant};

use signaldex::{IndexBuilder, Query, Snapshot, sample};

use classes::Statistics;
use classes::random::Random;
use corpus::Source;

/// Prefixes of 2 to 500 words.
const PREFIXES: usize = 40;
/// The words that these stand for.
const WORDS: std::ops::RangeInclusive<usize> = 2..=500;
/// The letters that these have.
const LETTERS: std::ops::RangeInclusive<usize> = 3..=7;
/// Prefixes of three letters with most words.
const LARGEST: usize = 10;
/// Lists of frequent words, how many words each has, and how many are drawn from.
const LISTS: usize = 20;
const LISTED_WORDS: usize = 10;
const FREQUENT_WORDS: usize = 60;
/// Calls of which the fastest counts.
const CALLS: usize = 5;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let index = Source::of_environment()?.build(IndexBuilder::in_memory())?;
    let snapshot = index.snapshot();
    let statistics = Statistics::of(&snapshot)?;
    println!("{} signals", statistics.len());
    let frequent = Times::of(&snapshot, &frequent_words(&statistics));
    let some = Times::of(&snapshot, &some_prefixes(&statistics));
    let largest = Times::of(&snapshot, &largest_prefixes(&statistics));
    println!("| any of | page | count |\n|---|--:|--:|");
    for (name, times) in [
        ("ten frequent words", &frequent),
        ("the words of a prefix, 2 to 500", &some),
        ("the words of a prefix, most", &largest),
    ] {
        println!("| {name} | {:.1} µs | {:.1} µs |", times.page, times.count);
    }
    println!("\n{{");
    for (name, times) in [("some", &some), ("largest", &largest)] {
        let (page, count) = (times.page / frequent.page, times.count / frequent.count);
        println!("  \"{name}-page\": \"{page:.1}\", \"{name}-count\": \"{count:.1}\",");
    }
    println!("  \"signals\": \"{}\"\n}}", statistics.len());
    Ok(())
}

/// Lists of frequent words.
fn frequent_words(statistics: &Statistics) -> Vec<Query> {
    let mut random = Random::named("frequent words");
    let mut words = statistics.terms_between(1, usize::MAX);
    words.sort_by_key(|word| std::cmp::Reverse(statistics.frequency(word)));
    words.truncate(FREQUENT_WORDS);
    let list = |_| {
        let drawn = (0..LISTED_WORDS).map(|_| words[random.below(words.len())]);
        any(&drawn.collect::<Vec<_>>())
    };
    (0..LISTS).map(list).collect()
}

/// Prefixes with a few to many words, as many of each number of letters.
fn some_prefixes(statistics: &Statistics) -> Vec<Query> {
    let per_length = PREFIXES / LETTERS.count();
    let mut queries = Vec::new();
    for letters in LETTERS {
        let mut prefixes = statistics.prefixes(letters);
        prefixes.retain(|(_, words)| WORDS.contains(words));
        // Evenly from those of most words to those of fewest.
        let step = (prefixes.len() / per_length).max(1);
        let chosen = prefixes.iter().step_by(step).take(per_length);
        queries.extend(chosen.map(|(prefix, _)| any(&[&format!("{prefix}*")])));
    }
    queries
}

fn largest_prefixes(statistics: &Statistics) -> Vec<Query> {
    let largest = statistics.prefixes(3).into_iter().take(LARGEST);
    largest
        .map(|(prefix, _)| any(&[&format!("{prefix}*")]))
        .collect()
}

fn any(words: &[&str]) -> Query {
    let query = Query::builder().any(words.join(" ")).build();
    query.expect("words make a valid query")
}

/// Geometric means in microseconds.
struct Times {
    page: f64,
    count: f64,
}

impl Times {
    fn of(snapshot: &Snapshot, queries: &[Query]) -> Times {
        let pages = queries.iter().map(|query| {
            least(|| {
                drop(black_box(snapshot.search(query, sample::AS_OF)).expect("a whole index"));
            })
        });
        let page = geometric_mean(pages);
        let counts = queries.iter().map(|query| {
            least(|| {
                black_box(snapshot.count(query.filter(), sample::AS_OF)).expect("a whole index");
            })
        });
        Times {
            page,
            count: geometric_mean(counts),
        }
    }
}

fn geometric_mean(times: impl ExactSizeIterator<Item = Duration>) -> f64 {
    let count = times.len() as f64;
    let logarithms = times.map(|time| (time.as_secs_f64() * 1e6).ln());
    (logarithms.sum::<f64>() / count).exp()
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
