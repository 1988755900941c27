//! What it costs to find which of 100,000 saved searches match a commit.
//!
//! usage: `cargo bench --bench saved_searches --features synthetic -- [SEARCHES [SIGNALS]]`
//!
//! Searches are drawn from signals of the corpus, word by word as often as words stand in titles. Each commit has
//! new signals that the searches were not drawn from; it is matched as a host does, from the position before it,
//! with each record and company read.

use std::error::Error;
use std::time::{Duration, Instant};

use signaldex::synthetic::Corpus;
use signaldex::{Company, Filter, Index, IndexBuilder, SavedSearches, Signal};

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

    let texts = Searches::new(old, &companies).take(search_count as usize);
    let filters = texts.map(|text| Filter::parse(&text));
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

/// Query strings such as users save.
struct Searches<'c> {
    signals: &'c [Signal<'c>],
    companies: &'c [Company<'c>],
    state: u64,
}

impl<'c> Searches<'c> {
    fn new(signals: &'c [Signal<'c>], companies: &'c [Company<'c>]) -> Searches<'c> {
        Searches {
            signals,
            companies,
            state: 1,
        }
    }

    /// splitmix64
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn signal(&mut self) -> &'c Signal<'c> {
        let index = self.below(self.signals.len());
        &self.signals[index]
    }

    fn company(&mut self) -> &'c Company<'c> {
        let index = self.below(self.companies.len());
        &self.companies[index]
    }

    /// A word of a random title; `run` of them that stand next to each other.
    fn words(&mut self, run: usize) -> String {
        loop {
            let title = &self.signal().title;
            let words: Vec<&str> = title
                .split(|letter: char| !letter.is_alphanumeric())
                .filter(|word| word.len() > 1)
                .collect();
            if words.len() >= run {
                let start = self.below(words.len() - run + 1);
                return words[start..start + run].join("+");
            }
        }
    }

    fn country(&mut self) -> String {
        escaped(self.company().country.as_deref().unwrap_or("Germany"))
    }

    fn category(&mut self) -> String {
        escaped(self.signal().category.as_deref().unwrap_or("funding"))
    }

    fn search(&mut self) -> String {
        match self.below(20) {
            0..6 => format!("q={}+{}", self.words(1), self.words(1)),
            6..10 => format!("q={}&country={}", self.words(1), self.country()),
            10..13 => format!("q={}&categories={}", self.words(1), self.category()),
            13 | 14 => format!(
                "categories={}&country={}&size={}",
                self.category(),
                self.country(),
                ["1-49", "50-100", "101-500", "501%2B"][self.below(4)]
            ),
            15 | 16 => {
                let slugs: Vec<&str> = (0..5).map(|_| &*self.company().slug).collect();
                format!("companies={}", slugs.join(","))
            }
            17 => format!("exact={}", self.words(2)),
            18 => format!(
                "any={}+{}+{}&exclude={}",
                self.words(1),
                self.words(1),
                self.words(1),
                self.words(1)
            ),
            _ => {
                let industry = escaped(self.company().industry.as_deref().unwrap_or("Software"));
                format!("industry={industry}&fundingMin=1000000")
            }
        }
    }
}

impl Iterator for Searches<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        Some(self.search())
    }
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}
