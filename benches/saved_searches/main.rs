//! What it costs to find which of 100,000 saved searches match a commit.
//!
//! usage: `cargo bench --bench saved_searches -- [SEARCHES [SIGNALS [N]]]`
//!
//! Searches are drawn from signals of the corpus, word by word as often as words stand in titles. Each commit has
//! new signals that the searches were not drawn from; it is matched as a host does, from the position before it,
//! with each record and company read. With N, a word of each N-th search is a prefix word.

mod searches;

use std::error::Error;
use std::time::{Duration, Instant};

use signaldex::{Company, Filter, Index, IndexBuilder, SavedSearches, Signal};
use signaldex_synthetic::Corpus;

use self::searches::Searches;

/// Signals of a commit, and how many commits are measured; the median counts.
const COMMITS: [(usize, usize); 3] = [(1, 101), (30, 31), (1000, 7)];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let search_count = numbers.next().unwrap_or(100_000);
    let corpus = Corpus::new(numbers.next().unwrap_or(100_000), 1)?;
    let companies: Vec<Company<'_>> = corpus.companies().collect();
    let signals: Vec<Signal<'_>> = corpus.signals().collect();
    let new: usize = COMMITS.iter().map(|(length, count)| length * count).sum();
    let (new, old) = signals.split_at(new);
    let index = build(&companies, old)?;
    let today = corpus.as_of();

    let searches = Searches::new(old, &companies).take(search_count as usize);
    let every = numbers.next().unwrap_or(u64::MAX);
    let filters = (1..).zip(searches).map(|(number, mut search)| {
        if number % every == 0 {
            search.begin_a_word();
        }
        Filter::from_query_string(&search.query_string())
    });
    let filters: Vec<Filter> = filters.collect::<Result<_, _>>()?;
    let started = Instant::now();
    let mut sampled = SavedSearches::for_index(&index.snapshot(), today)?;
    println!("the sample takes {:.1?}", started.elapsed());
    let mut unsampled = SavedSearches::new();
    for searches in [&mut sampled, &mut unsampled] {
        let (started, before) = (Instant::now(), resident_bytes());
        for (number, filter) in filters.iter().enumerate() {
            searches.insert(format!("search {number}"), filter.clone());
        }
        let bytes = (resident_bytes() - before) / search_count;
        println!(
            "{search_count} searches saved in {:.1?}, {bytes} bytes each",
            started.elapsed()
        );
    }
    println!("| signals of a commit | with a sample | without | matches a signal |");
    println!("|--:|--:|--:|--:|");
    let mut writer = index.writer()?;
    let mut rest = new;
    for (length, count) in COMMITS {
        let mut times: [Vec<Duration>; 2] = Default::default();
        let mut matches = 0;
        for _ in 0..count {
            let since = index.snapshot().position();
            let (commit, others) = rest.split_at(length);
            rest = others;
            for signal in commit {
                writer.upsert_signal(signal)?;
            }
            writer.commit()?;
            let snapshot = index.snapshot();
            for (times, searches) in times.iter_mut().zip([&sampled, &unsampled]) {
                let started = Instant::now();
                matches = 0;
                for matched in searches.matching(&snapshot, &since, today)? {
                    matches += matched?.searches.len();
                }
                times.push(started.elapsed());
            }
        }
        let [sampled, unsampled] = times.map(|mut times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1000.0
        });
        let matches = matches as f64 / length as f64;
        println!("| {length} | {sampled:.3} ms | {unsampled:.3} ms | {matches:.0} |");
    }
    Ok(())
}

/// Memory of this process, on Linux.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_u64) * 4096
}

fn build(companies: &[Company<'_>], signals: &[Signal<'_>]) -> Outcome<Index> {
    let mut builder = IndexBuilder::in_memory();
    for company in companies {
        builder.add_company(company)?;
    }
    for signal in signals {
        builder.add_signal(signal)?;
    }
    Ok(builder.finish()?)
}
