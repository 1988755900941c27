//! A host that keeps its index in memory, takes 10,000 upserts per second and answers pages meanwhile.
//!
//! `cargo run --profile dist --example live -- 1000000 30`

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signaldex::{Index, IndexBuilder, Query};
use signaldex_synthetic::Corpus;
use time::Date;

/// Signals of a commit, and commits per second: a change is visible after a tenth of a second.
const BATCH: u64 = 1_000;
const COMMITS_PER_SECOND: u32 = 10;

/// What clients ask, in turn.
const QUERIES: [&str; 6] = [
    "q=series",
    "q=\"series a\"&country=germany",
    "country=france&days=30",
    "any=robotics \"head of\"",
    "size=501%2B&categories=funding,hiring",
    "fundingMin=1000000&q=raises",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u64>());
    let signals = numbers.next().transpose()?.unwrap_or(20_000);
    let time = Duration::from_secs(numbers.next().transpose()?.unwrap_or(1));
    let corpus = Corpus::new(signals, 1)?;
    let index = build(&corpus)?;
    let is_done = AtomicBool::new(false);
    let (times, written) = thread::scope(|scope| {
        let feeder = scope.spawn(|| feed(&index, &corpus, &is_done));
        let times = ask(&index, corpus.as_of(), time);
        is_done.store(true, Ordering::Relaxed);
        (times, feeder.join().expect("the feeder does not panic"))
    });
    let (mut times, seconds) = (times?, time.as_secs().max(1));
    times.sort_unstable();
    let percentile = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("{index:?}");
    println!("{} upserts per second", written? / seconds);
    println!("{} pages per second", times.len() as u64 / seconds);
    println!("median {:?}, p99 {:?}", percentile(50), percentile(99));
    Ok(())
}

fn build(corpus: &Corpus) -> signaldex::Result<Index> {
    let mut builder = IndexBuilder::in_memory();
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal)?;
    }
    builder.finish()
}

/// Changes signals all over the index until it is told to stop, and says how many.
fn feed(index: &Index, corpus: &Corpus, is_done: &AtomicBool) -> signaldex::Result<u64> {
    let mut writer = index.writer()?;
    let (started, mut written) = (Instant::now(), 0);
    for commits in 1.. {
        for number in written..written + BATCH {
            // 7,919 is prime: neighbouring changes are far apart.
            if let Some(mut signal) = corpus.signal(number * 7_919 % corpus.signal_count()) {
                signal.title = format!("{}, updated", signal.title).into();
                writer.upsert_signal(&signal)?;
            }
        }
        writer.commit()?;
        written += BATCH;
        if is_done.load(Ordering::Relaxed) {
            break;
        }
        let due = started + Duration::from_secs(1) * commits / COMMITS_PER_SECOND;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(written)
}

/// Asks for pages with their records, one after the other, and says what each took.
fn ask(index: &Index, today: Date, time: Duration) -> signaldex::Result<Vec<Duration>> {
    let queries = QUERIES.map(|text| Query::from_query_string(text).expect("a valid query"));
    let started = Instant::now();
    let mut times = Vec::new();
    while started.elapsed() < time {
        for query in &queries {
            let (asked, snapshot) = (Instant::now(), index.snapshot());
            let page = snapshot.search(query, today)?;
            black_box(snapshot.records(&page)?);
            times.push(asked.elapsed());
        }
    }
    Ok(times)
}
