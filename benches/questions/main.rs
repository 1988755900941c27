//! Pages by value, aggregates, and companies by their signals: what each takes beside its goal.
//!
//! usage: `taskset -c 1 cargo bench --bench questions -- [ROW]`
//!
//! `benches/corpus` says over which corpus. Queries are made inside. Each figure is the median of the rounds of a task, on
//! one segment and on four of which 1.5 % of the rows are deleted.

#[path = "../classes/mod.rs"]
#[allow(dead_code, reason = "pages from the middle are not asked for here")]
mod classes;
#[path = "../corpus/mod.rs"]
mod corpus;
mod pages;
mod tasks;

use std::hint::black_box;
use std::time::{Duration, Instant};

use signaldex::query::{CompanyQuery, GroupBy, Measure, Order};
use signaldex::{AggregateQuery, Filter, Index, IndexBuilder, Snapshot, sample};

use classes::Statistics;
use corpus::Source;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

/// Rounds of which the median counts.
const ROUNDS: usize = 15;
/// A round takes at least as long, so that the clock is exact.
const ROUND_TIME: Duration = Duration::from_millis(4);
/// Thousandths of the signals that each commit writes again: 15 in all, far more than the next.
const UPDATED: [f64; 3] = [13.0, 1.8, 0.2];

/// Counts the companies of all signals.
const COUNT_COMPANIES: fn(&Snapshot) = |snapshot| {
    let builder = AggregateQuery::builder(Filter::default());
    let query = builder
        .by([GroupBy::Company])
        .measures([Measure::Count])
        .limit(10);
    let query = query.build().expect("a valid query");
    black_box(snapshot.aggregate(&query, sample::AS_OF).expect(WHOLE));
};

/// Counts the companies with a round.
const COUNT_FULFILLING: fn(&Snapshot) = |snapshot| {
    let query = CompanyQuery::from_query_string("has=(fundingStage=series a)");
    let query = query.expect("a valid query");
    let count = snapshot.count_companies(query.filter(), sample::AS_OF);
    black_box(count.expect(WHOLE));
};

fn main() -> Result<()> {
    let row = std::env::args()
        .skip(1)
        .find(|text| !text.starts_with("--"));
    let is_asked = |name: &str| row.as_ref().is_none_or(|row| name.contains(row.as_str()));
    let index = Source::of_environment()?.build(IndexBuilder::in_memory())?;
    let fresh = index.snapshot();
    let statistics = Statistics::of(&fresh)?;
    first_use("a fresh snapshot", &fresh);
    commit_updates(&index, 0.0)?;
    first_use("a commit of one signal", &index.snapshot());
    for share in UPDATED {
        commit_updates(&index, share)?;
    }
    let updated = index.snapshot();
    first_use("all commits", &updated);
    println!(
        "\n{} segments of {} signals\n",
        updated.statistics()?.segments,
        updated.signal_count()
    );
    for (task, ask) in tasks::all()? {
        if is_asked(&task) {
            let (one, four) = (median(|| ask(&fresh)), median(|| ask(&updated)));
            let ratio = four.as_secs_f64() / one.as_secs_f64();
            println!(
                "{:>10.1} µs {:>10.1} µs {ratio:>5.2}  {task}",
                micros(one),
                micros(four)
            );
        }
    }
    if is_asked("pages") {
        pages::by_value(&fresh, &updated, &statistics)?;
    }
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Writes a share of the signals again, in thousandths, or one of them.
fn commit_updates(index: &Index, thousandths: f64) -> Result<()> {
    let snapshot = index.snapshot();
    let count = snapshot.signal_count();
    let updated = ((count as f64 * thousandths / 1e3) as usize).max(1);
    let all = snapshot.matches(&Filter::default(), sample::AS_OF, Order::OldestFirst);
    let step = count as usize / updated;
    let mut writer = index.writer()?;
    // From the middle of each step, so that a single one is not the first of all.
    for id in all.ids().skip(step / 2).step_by(step).take(updated) {
        let found = snapshot.signal(id?)?.ok_or("a listed signal is there")?;
        writer.upsert_signal(&found.signal)?;
    }
    writer.commit()?;
    writer.wait_for_merges();
    Ok(())
}

/// Shows what the first count of companies takes on a snapshot, and the second.
fn first_use(of: &str, snapshot: &Snapshot) {
    for (what, count) in [
        ("companies of all signals", COUNT_COMPANIES),
        ("companies that fulfil a filter", COUNT_FULFILLING),
    ] {
        let time = || {
            let started = Instant::now();
            count(snapshot);
            micros(started.elapsed())
        };
        println!(
            "{what}, first after {of}: {:.1} µs, then {:.1} µs",
            time(),
            time()
        );
    }
}

/// The median time of a call over all rounds.
pub(crate) fn median<T>(mut call: impl FnMut() -> T) -> Duration {
    let mut round = |calls: u32| {
        let started = Instant::now();
        (0..calls).for_each(|_| drop(black_box(call())));
        started.elapsed() / calls
    };
    let once = round(1).min(round(1)).max(Duration::from_nanos(20));
    let calls = (ROUND_TIME.as_nanos() / once.as_nanos()) as u32 + 1;
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round(calls)).collect();
    times.sort_unstable();
    times[ROUNDS / 2]
}
