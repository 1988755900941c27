//! Counts, panels of four facets and aggregates of an index on one thread and on several, and what many threads answer
//! together with and without an executor. Queries that one thread answers within half a millisecond are left out of the
//! means.
//!
//! usage: `cargo bench --bench query_threads -- run INDEX [THREADS]`; INDEX is a directory with ten million signals, as
//! `signaldex generate` and `signaldex build` make it. Writes benches/results/query-threads.json.

#[allow(dead_code, reason = "not all of the classes is used here")]
mod classes;
mod panel;

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::json;
use signaldex::query::ParameterSet;
use signaldex::{AggregateQuery, Executor, Filter, Index, Snapshot, sample};

use classes::Statistics;
use panel::PANEL;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Queries of each class.
const QUERIES: usize = 6;

/// How often each query is asked in either way; the fastest counts.
const TURNS: usize = 15;

/// What takes less is no work for several threads.
const WORK_MIN: Duration = Duration::from_micros(500);

/// What is grouped and measured, under filters of the classes.
const GROUPINGS: [&str; 3] = [
    "by=month",
    "by=country",
    "by=quarter&measures=count,sum&fundingCurrency=USD",
];

/// Threads that ask at a time under load, and for how long in each of [`ROUNDS`] rounds.
const ASKING: usize = 4;
const LOAD_TIME: Duration = Duration::from_secs(3);
const ROUNDS: usize = 4;

/// Where the record is.
const RECORD: &str = "benches/results/query-threads.json";

/// A pool that helps the thread that asks.
struct Pool(ThreadPool);

impl Executor for Pool {
    fn run(&self, task: &(dyn Fn() + Sync)) {
        self.0.in_place_scope(|scope| {
            (0..self.0.current_num_threads()).for_each(|_| scope.spawn(|_| task()));
            task();
        });
    }
}

/// A question with the name of its kind.
type Question = (&'static str, Box<dyn Fn(&Snapshot) + Sync>);

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Cargo runs every bench without arguments; there is nothing to measure in this way.
    let ["run", directory, rest @ ..] = arguments.as_slice() else {
        return Ok(());
    };
    let threads = rest.first().and_then(|text| text.parse().ok()).unwrap_or(2);
    let [alone, parallel] = [Index::open(directory)?, Index::open(directory)?];
    let pool = ThreadPoolBuilder::new().num_threads(threads - 1).build()?;
    parallel.set_executor(Arc::new(Pool(pool)))?;
    let both = [alone.snapshot(), parallel.snapshot()];
    let questions = questions(&both[0])?;
    let times: Vec<[Duration; 2]> = questions.iter().map(|(_, ask)| times(&both, ask)).collect();
    let mut record = json!({
        "date": date(),
        "machine": format!("{} cores", thread::available_parallelism()?),
        "repeat": format!("cargo bench --bench query_threads -- run INDEX {threads}"),
        "values": {"signals": both[0].signal_count().to_string(), "threads": threads.to_string()},
    });
    for kind in ["count", "facets", "aggregate"] {
        let of_kind = questions
            .iter()
            .zip(&times)
            .filter(|((of, _), _)| *of == kind);
        let all: Vec<[Duration; 2]> = of_kind.map(|(_, times)| *times).collect();
        let (text, ratio, n) = summary(&all);
        println!("{kind}: {text}");
        record["values"][kind] = json!(format!("{ratio:.2}"));
        record["values"][format!("{kind}-queries")] = json!(n.to_string());
    }
    let asked: Vec<&Question> = questions.iter().collect();
    let [before, with] = load(&both, &asked);
    println!(
        "load: {before:.0} per second alone, {with:.0} with an executor, {:.3}",
        with / before
    );
    record["values"]["load"] = json!(format!("{:.2}", with / before));
    let text = serde_json::to_string_pretty(&record)?;
    fs::write(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD),
        text + "\n",
    )?;
    Ok(())
}

/// Counts and panels of the classes, and aggregates under some of their filters.
fn questions(snapshot: &Snapshot) -> Result<Vec<Question>> {
    let statistics = Statistics::of(snapshot)?;
    let classes = classes::draw_each(snapshot, &statistics, sample::AS_OF, QUERIES)?;
    let mut questions: Vec<Question> = Vec::new();
    for class in classes.iter().filter(|class| class.is_counted) {
        for (number, query) in class.queries.iter().enumerate() {
            let filter = query.query(sample::AS_OF).filter().clone();
            let of_facets = filter.clone();
            let text = filter.to_string();
            questions.push(("count", Box::new(move |it| count(it, &filter))));
            questions.push(("facets", Box::new(move |it| panel(it, &of_facets))));
            let grouping = GROUPINGS[number % GROUPINGS.len()];
            let text = format!("{text}&{grouping}");
            let query = AggregateQuery::from_query_string(&text, ParameterSet::FILTERS);
            if let Ok(query) = query {
                questions.push(("aggregate", Box::new(move |it| aggregate(it, &query))));
            }
        }
    }
    Ok(questions)
}

fn count(snapshot: &Snapshot, filter: &Filter) {
    black_box(snapshot.count(filter, sample::AS_OF)).expect("a whole index");
}

fn panel(snapshot: &Snapshot, filter: &Filter) {
    black_box(snapshot.facets_of(filter, sample::AS_OF, &PANEL)).expect("a whole index");
}

fn aggregate(snapshot: &Snapshot, query: &AggregateQuery) {
    black_box(snapshot.aggregate(query, sample::AS_OF)).expect("a whole index");
}

/// The fastest times of a question on one thread and on several, asked in turn.
fn times(both: &[Arc<Snapshot>; 2], ask: &dyn Fn(&Snapshot)) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..TURNS {
        for (best, snapshot) in best.iter_mut().zip(both) {
            let started = Instant::now();
            ask(snapshot);
            *best = started.elapsed().min(*best);
        }
    }
    best
}

/// How many times as fast several threads are, over the queries that are work and over the others.
fn summary(times: &[[Duration; 2]]) -> (String, f64, usize) {
    let (work, small): (Vec<_>, Vec<_>) = times.iter().partition(|[alone, _]| *alone >= WORK_MIN);
    let ratio = |[alone, parallel]: &[Duration; 2]| alone.as_secs_f64() / parallel.as_secs_f64();
    let mean = |times: &[[Duration; 2]]| {
        let logs: f64 = times.iter().map(|times| ratio(times).ln()).sum();
        (logs / times.len().max(1) as f64).exp()
    };
    let worst = work.iter().map(ratio).fold(f64::INFINITY, f64::min);
    let sum: Duration = work.iter().map(|[alone, _]| *alone).sum();
    let text = format!(
        "{} queries of {:.2} ms on average: {:.2} times as fast, the worst {worst:.2}; {} smaller ones: {:.2}",
        work.len(),
        sum.as_secs_f64() * 1e3 / work.len().max(1) as f64,
        mean(&work),
        small.len(),
        mean(&small),
    );
    (text, mean(&work), work.len())
}

/// Questions answered per second by several threads that ask at a time, without an executor and with one.
fn load(both: &[Arc<Snapshot>; 2], questions: &[&Question]) -> [f64; 2] {
    let mut answered = [0; 2];
    for _ in 0..ROUNDS {
        for (answered, snapshot) in answered.iter_mut().zip(both) {
            *answered += answered_in(LOAD_TIME, snapshot, questions);
        }
    }
    answered.map(|n| n as f64 / (LOAD_TIME * ROUNDS as u32).as_secs_f64())
}

/// How many questions are answered in a time; each thread begins elsewhere.
fn answered_in(time: Duration, snapshot: &Snapshot, questions: &[&Question]) -> u64 {
    let (is_over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for number in 0..ASKING {
            let skipped = questions.len() * number / ASKING;
            let (is_over, answered) = (&is_over, &answered);
            scope.spawn(move || {
                for (_, ask) in questions.iter().cycle().skip(skipped) {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    ask(snapshot);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
    });
    answered.into_inner()
}

/// Today, for the record.
fn date() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}
