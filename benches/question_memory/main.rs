//! The most memory that questions and exports need beside the index.
//!
//! usage: `cargo bench --bench question_memory`
//!
//! `benches/corpus` says over which corpus. A counting allocator takes some time, so `benches/questions` measures that.

#[path = "../corpus/mod.rs"]
mod corpus;
#[path = "../questions/tasks.rs"]
mod tasks;

use std::hint::black_box;

use peak_alloc::PeakAlloc;
use signaldex::query::{Order, ParameterSet};
use signaldex::{AggregateQuery, Filter, IndexBuilder, Snapshot, sample};

use corpus::Source;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Exports by name: all amounts compare if they are of one currency.
const EXPORTS: [(&str, Order, &str); 4] = [
    ("newest", Order::NewestFirst, ""),
    ("-date", Order::LatestDate, ""),
    ("-amount", Order::LargestAmount, "fundingCurrency=USD"),
    ("amount", Order::SmallestAmount, "fundingCurrency=USD"),
];

/// Aggregates of many groups, with quartiles.
const GROUPS: [(&str, &str); 3] = [
    (
        "quartiles by week and country",
        "by=week,countries&measures=companies,p25,median,p75",
    ),
    (
        "quartiles by day",
        "by=day&measures=companies,p25,median,p75",
    ),
    (
        "quartiles by company",
        "by=company&measures=p25,median,p75&limit=1000",
    ),
];

fn main() -> Result<()> {
    let index = Source::of_environment()?.build(IndexBuilder::in_memory())?;
    let snapshot = index.snapshot();
    for (name, ask) in tasks::all()? {
        // What a first question leaves with the snapshot counts as the index.
        ask(&snapshot);
        show("question", &name, || ask(&snapshot));
    }
    for (name, text) in GROUPS {
        let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
        show("question", name, || {
            black_box(snapshot.aggregate(&query, sample::AS_OF).expect(WHOLE));
        });
    }
    for (name, order, filter) in EXPORTS {
        let filter = Filter::from_query_string(filter)?;
        show("export", name, || export(&snapshot, &filter, order));
    }
    Ok(())
}

/// Reads all matches, one after the other.
fn export(snapshot: &Snapshot, filter: &Filter, order: Order) {
    let matches = snapshot.matches(filter, sample::AS_OF, order);
    let found = matches.with_companies().map(|found| found.expect(WHOLE));
    black_box(found.count());
}

/// Shows by how much memory grows within a call, at most.
fn show(kind: &str, name: &str, call: impl FnOnce()) {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    call();
    let grown = (ALLOCATOR.peak_usage() - before) as f64 / f64::from(1 << 20);
    println!("{grown:>8.1} MiB for the {kind} {name}");
}
