//! How long pages, counts and facets take, by class of query, on a generated corpus in memory.
//!
//! usage: `taskset -c 1 cargo bench --bench queries --features synthetic -- [SIGNALS]`
//!
//! Each figure is the median of many runs of one query, in microseconds; a page has 50 ids.

use std::hint::black_box;
use std::time::{Duration, Instant};

use signaldex::synthetic::Corpus;
use signaldex::{IndexBuilder, Query, Snapshot};
use time::Date;

/// How long a query is repeated.
const TIME: Duration = Duration::from_millis(200);

const QUERIES: [(&str, &str); 14] = [
    ("no filter", ""),
    ("frequent term", "q=series"),
    ("rare term", "q=pelagic"),
    ("two terms", "all=series a"),
    (
        "any of four terms",
        "any=robotics biotech fintech logistics",
    ),
    ("phrase", "exact=machine learning"),
    ("term without two others", "q=series -a -machine"),
    ("term and country", "q=series&country=Germany"),
    ("country and size", "country=Germany&size=1-49"),
    (
        "country, size and the last 30 days",
        "country=Germany&size=1-49&days=30",
    ),
    (
        "five categories in a date range",
        "categories=funding,hiring,launch,award,product&dateFrom=2024-01-01&dateTo=2024-12-31",
    ),
    (
        "two hiring attributes and country",
        "seniority=senior&workArrangement=remote&country=France",
    ),
    (
        "amount range and term",
        "q=series&fundingMin=1000000&fundingMax=5000000",
    ),
    ("nothing", "q=series&country=Atlantis"),
];

fn main() {
    let size = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    let corpus = Corpus::new(size.unwrap_or(1_000_000), 1).expect("1 to 100,000,000 signals");
    let mut builder = IndexBuilder::in_memory().expect("memory can be written to");
    for company in corpus.companies() {
        builder
            .add_company(&company)
            .expect("memory can be written to");
    }
    for signal in corpus.signals() {
        builder
            .add_signal(&signal)
            .expect("memory can be written to");
    }
    let snapshot = builder
        .finish()
        .expect("what was built is valid")
        .snapshot();
    println!(
        "| {} signals, microseconds | matches | page | page with records | count | facets |",
        corpus.signal_count()
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for (class, text) in QUERIES {
        report(&snapshot, corpus.as_of(), class, text);
    }
}

fn report(snapshot: &Snapshot, today: Date, class: &str, text: &str) {
    let query = Query::parse(text).expect("a valid query");
    let whole = "an index in memory is whole";
    let matches = snapshot.count(query.filter(), today).expect(whole);
    let page = median(|| snapshot.search(&query, today).expect(whole).len());
    let records = median(|| {
        let page = snapshot.search(&query, today).expect(whole);
        snapshot.records(&page).expect(whole).len()
    });
    let count = median(|| snapshot.count(query.filter(), today).expect(whole));
    let facets = median(|| snapshot.facets(query.filter(), today).expect(whole));
    println!("| {class} | {matches} | {page:.1} | {records:.1} | {count:.1} | {facets:.0} |");
}

/// The median time of a call, in microseconds.
fn median<T>(mut call: impl FnMut() -> T) -> f64 {
    let mut times = Vec::new();
    let started = Instant::now();
    while started.elapsed() < TIME || times.len() < 5 {
        let before = Instant::now();
        black_box(call());
        times.push(before.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}
