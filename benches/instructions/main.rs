//! The work of a fixed set of tasks, to be counted in instructions, which are the same on a busy
//! machine. `benches/instructions/check.py` runs it under valgrind and compares.
//!
//! usage: `instructions names` lists the tasks, `instructions build FOLDER` makes the index that
//! `instructions run FOLDER` does them on.

#[path = "../classes/mod.rs"]
mod classes;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use signaldex::synthetic::Corpus;
use signaldex::{Index, IndexBuilder, Query, Snapshot, sample};

use classes::{Class, Statistics};

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Signals of the index: two blocks, so that moving from one to the next counts too.
const SIGNALS: u64 = 100_000;
/// Signals that are built from while instructions are counted, which takes fifty times as long.
const BUILT_SIGNALS: u64 = 2_000;
const SEED: u64 = 1;
/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["build", folder, ..] => build(SIGNALS, IndexBuilder::in_directory(folder)?).map(drop),
        ["names", folder, ..] => run(Path::new(folder), |name, _| println!("{name}")),
        ["run", folder, ..] => run(Path::new(folder), |_, task| measured(task)),
        // Cargo runs every bench without arguments; there is nothing to measure in this way.
        _ => Ok(()),
    }
}

/// The only function whose instructions are counted, by its name.
#[inline(never)]
fn measured(task: &mut dyn FnMut()) {
    task();
}

fn build(signals: u64, mut builder: IndexBuilder) -> Result<Index> {
    let corpus = Corpus::new(signals, SEED)?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal)?;
    }
    Ok(builder.finish()?)
}

/// Hands each task to `sink` with its name, always in the same order.
fn run(folder: &Path, sink: impl Fn(&str, &mut dyn FnMut())) -> Result<()> {
    sink("build", &mut || {
        let builder = IndexBuilder::in_memory();
        black_box(build(BUILT_SIGNALS, builder).expect(WHOLE));
    });
    sink("open", &mut || {
        black_box(Index::open(folder).expect(WHOLE));
    });
    let snapshot = Index::open(folder)?.snapshot();
    let statistics = Statistics::of(&snapshot)?;
    for class in classes::draw(&snapshot, &statistics, sample::AS_OF)? {
        run_class(&snapshot, &statistics, &class, &sink)?;
    }
    Ok(())
}

/// A name, the queries, and what is asked of each.
type Task<'t> = (&'t str, &'t [Query], &'t dyn Fn(&Query));

fn run_class(
    snapshot: &Snapshot,
    statistics: &Statistics,
    class: &Class,
    sink: &impl Fn(&str, &mut dyn FnMut()),
) -> Result<()> {
    let wanted = class.queries.iter();
    let queries: Vec<Query> = wanted.map(|wanted| wanted.query(sample::AS_OF)).collect();
    // Without the records: moving them costs more or less with where the stack happens to lie.
    let page = |query: &Query| {
        black_box(snapshot.search(query, sample::AS_OF));
    };
    let count = |query: &Query| {
        black_box(snapshot.count(query.filter(), sample::AS_OF));
    };
    let facets = |query: &Query| {
        black_box(snapshot.facets(query.filter(), sample::AS_OF));
    };
    let middle = middle_pages(snapshot, statistics, class)?;
    let tasks: [Task<'_>; 4] = [
        ("page", &queries, &page),
        ("page from the middle", &middle, &page),
        ("count", &queries, &count),
        ("facets", &queries, &facets),
    ];
    let tasks = tasks.iter().take(if class.is_counted { 4 } else { 2 });
    for (task, queries, ask) in tasks {
        // What only the first query of a thread does is not counted.
        queries.iter().for_each(ask);
        sink(&format!("{}, {task}", class.name), &mut || {
            queries.iter().for_each(ask);
        });
    }
    // As a host asks that gets a query string: nothing of the query is known before.
    let texts: Vec<String> = queries.iter().map(Query::to_string).collect();
    sink(&format!("{}, parsed page", class.name), &mut || {
        for text in &texts {
            page(&text.parse().expect("it was written by a query"));
        }
    });
    Ok(())
}

/// The queries, each from the middle of its matches on.
fn middle_pages(snapshot: &Snapshot, statistics: &Statistics, class: &Class) -> Result<Vec<Query>> {
    let mut queries = Vec::new();
    for wanted in &class.queries {
        let rank = wanted.middle_rank(snapshot, statistics, sample::AS_OF)?;
        queries.push(wanted.query_from(rank, statistics, sample::AS_OF));
    }
    Ok(queries)
}
