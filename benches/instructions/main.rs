//! The work of a fixed set of tasks, to be counted in instructions, which are the same on a busy
//! machine. `benches/instructions/check.py` runs it under valgrind and compares.
//!
//! usage: `instructions build FOLDER` builds four indexes in a folder, `instructions run FOLDER` runs the
//! tasks on them, and `instructions names FOLDER` lists the tasks; `build-cold FOLDER` and `cold FOLDER FILE` are
//! for `benches/instructions/misses.py`. The `updated` index has deleted rows and two small segments, whose ids are all
//! over the index. The `committed` index has had many small commits, half of whose signals are new: its newest signals
//! are in its smallest segments. The fourth is for the tasks that write.

mod aggregates;
#[path = "../classes/mod.rs"]
mod classes;
mod cold;
#[path = "../panel/mod.rs"]
mod panel;
#[path = "../slow_shapes/shapes.rs"]
mod shapes;
#[path = "../updated/mod.rs"]
mod updated;
mod writes;

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use signaldex::json::{Rendering, SearchAnswer};
use signaldex::query::Order;
use signaldex::{Filter, Index, IndexBuilder, Query, SignalId, Snapshot, sample};

use classes::{Class, Statistics};
use panel::PANEL;
use updated::UPDATED_ONE_IN;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Signals of the index: two blocks, so that moving from one to the next counts too.
const SIGNALS: u64 = 100_000;
const SEED: u64 = 1;
/// The names of the indexes' folders.
const FRESH: &str = "fresh";
const UPDATED: &str = "updated";
const COMMITTED: &str = "committed";
/// How many signals each commit writes again: far more than the next, so that merging leaves them apart.
const UPDATES: [usize; 2] = [1_200, 40];
/// Commits to the committed index; they leave four segments, each far larger than the next. Of each commit, some
/// signals are new and others are written again.
const COMMITS: usize = 118;
const NEW_IN_COMMIT: usize = 25;
const UPDATED_IN_COMMIT: usize = 25;
/// The class whose pages are also written.
const WRITTEN: &str = "frequent term";
/// The classes whose panels are counted: with each search, four facets are asked for.
const PANELS: [&str; 3] = ["frequent term", "term + country", "country + size"];
/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["build", folder, ..] => build_all(Path::new(folder)),
        ["build-cold", folder, ..] => cold::build(Path::new(folder)),
        ["cold", folder, file, ..] => cold::run(Path::new(folder), Path::new(file)),
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

/// Builds three indexes of the same signals, changes two of them, and builds the one to write to.
fn build_all(folder: &Path) -> Result<()> {
    writes::build(SIGNALS, IndexBuilder::in_directory(folder.join(FRESH))?)?;
    build_updated(folder)?;
    build_committed(folder)?;
    writes::build_before(folder)
}

/// Builds an index and writes some of its signals again.
fn build_updated(folder: &Path) -> Result<()> {
    let index = writes::build(SIGNALS, IndexBuilder::in_directory(folder.join(UPDATED))?)?;
    updated::write_again(&index, &index.snapshot(), UPDATES)
}

/// Builds an index and makes many small commits. The new signals are copies with higher ids.
fn build_committed(folder: &Path) -> Result<()> {
    let index = writes::build(SIGNALS, IndexBuilder::in_directory(folder.join(COMMITTED))?)?;
    let fresh = index.snapshot();
    let newest = fresh.matches(&Filter::default(), sample::AS_OF, Order::NewestFirst);
    // The newest signal has the highest possible id.
    let mut next_id = newest.ids().nth(1).ok_or("there are signals")??.get();
    let mut new = fresh.scan();
    let mut updated = fresh.scan().step_by(UPDATED_ONE_IN / 4);
    let mut writer = index.writer()?;
    for _ in 0..COMMITS {
        for found in new.by_ref().take(NEW_IN_COMMIT) {
            next_id += 1;
            let mut signal = found?.signal;
            signal.id = SignalId::new(next_id).ok_or("an id far below the highest")?;
            writer.upsert_signal(&signal)?;
        }
        for found in updated.by_ref().take(UPDATED_IN_COMMIT) {
            writer.upsert_signal(&found?.signal)?;
        }
        writer.commit()?;
        writer.wait_for_merges();
    }
    Ok(())
}

/// Hands each task to `sink` with its name, always in the same order.
fn run(folder: &Path, sink: impl Fn(&str, &mut dyn FnMut())) -> Result<()> {
    writes::run(folder, &sink)?;
    sink("open", &mut || {
        black_box(Index::open(folder.join(FRESH)).expect(WHOLE));
    });
    let snapshot = Index::open(folder.join(FRESH))?.snapshot();
    let updated = Index::open(folder.join(UPDATED))?.snapshot();
    let committed = Index::open(folder.join(COMMITTED))?.snapshot();
    // Questions are counted as they are once the files have been checked.
    for snapshot in [&snapshot, &updated, &committed] {
        snapshot.check()?;
    }
    let statistics = Statistics::of(&snapshot)?;
    for class in classes::draw(&snapshot, &statistics, sample::AS_OF)? {
        let wanted = class.queries.iter();
        let queries: Vec<Query> = wanted.map(|wanted| wanted.query(sample::AS_OF)).collect();
        let middle = middle_pages(&snapshot, &statistics, &class)?;
        run_class(&snapshot, &class, (&queries, &middle), &sink);
        for (changed, snapshot) in [(UPDATED, &updated), (COMMITTED, &committed)] {
            let name = format!("{}, {changed}", class.name);
            run_pages_and_counts(snapshot, &name, &queries, &sink);
        }
        if PANELS.contains(&class.name) {
            for (index, snapshot) in [
                ("", &snapshot),
                (", updated", &updated),
                (", committed", &committed),
            ] {
                let panel = |query: &Query| ask_panel(snapshot, query);
                let name = format!("{}{index}", class.name);
                run_tasks(&name, &[("panel", &queries, &panel)], &sink);
            }
        }
    }
    for (index, snapshot) in [
        ("", &snapshot),
        (", updated", &updated),
        (", committed", &committed),
    ] {
        aggregates::run(snapshot, index, &sink)?;
    }
    let mut draw = shapes::Draw::new(&snapshot, &statistics)?;
    for (name, queries) in draw.fixed() {
        run_pages_and_counts(&snapshot, &format!("slow, {name}"), &queries, &sink);
    }
    Ok(())
}

/// A name, the queries, and what is asked of each.
type Task<'t> = (&'t str, &'t [Query], &'t dyn Fn(&Query));

fn run_class(
    snapshot: &Snapshot,
    class: &Class,
    (queries, middle): (&[Query], &[Query]),
    sink: &impl Fn(&str, &mut dyn FnMut()),
) {
    let page = |query: &Query| ask_page(snapshot, query);
    let count = |query: &Query| ask_count(snapshot, query);
    let facets = |query: &Query| {
        black_box(
            snapshot
                .facets(query.filter(), sample::AS_OF)
                .expect("a whole index"),
        );
    };
    let tasks: [Task<'_>; 4] = [
        ("page", queries, &page),
        ("page from the middle", middle, &page),
        ("count", queries, &count),
        ("facets", queries, &facets),
    ];
    let asked = if class.is_counted { 4 } else { 2 };
    run_tasks(class.name, &tasks[..asked], sink);
    // As a host asks that gets a query string: nothing of the query is known before.
    let texts: Vec<String> = queries.iter().map(Query::to_string).collect();
    sink(&format!("{}, parsed page", class.name), &mut || {
        for text in &texts {
            page(&text.parse().expect("it was written by a query"));
        }
    });
    if class.name == WRITTEN {
        let written = |query: &Query| write_page(snapshot, query);
        run_tasks(class.name, &[("page written", queries, &written)], sink);
    }
}

fn run_pages_and_counts(
    snapshot: &Snapshot,
    name: &str,
    queries: &[Query],
    sink: &impl Fn(&str, &mut dyn FnMut()),
) {
    let tasks: [Task<'_>; 2] = [
        ("page", queries, &|query| ask_page(snapshot, query)),
        ("count", queries, &|query| ask_count(snapshot, query)),
    ];
    run_tasks(name, &tasks, sink);
}

/// Without the records: moving them costs more or less with where the stack happens to lie.
fn ask_page(snapshot: &Snapshot, query: &Query) {
    black_box(
        snapshot
            .search(query, sample::AS_OF)
            .expect("a whole index"),
    );
}

/// As the service answers: with the records, as JSON.
fn write_page(snapshot: &Snapshot, query: &Query) {
    let page = snapshot.search(query, sample::AS_OF).expect(WHOLE);
    let answer = SearchAnswer::of_page(snapshot, &page, Rendering::Whole);
    black_box(answer.expect(WHOLE).finish(None));
}

fn ask_count(snapshot: &Snapshot, query: &Query) {
    black_box(
        snapshot
            .count(query.filter(), sample::AS_OF)
            .expect("a whole index"),
    );
}

fn ask_panel(snapshot: &Snapshot, query: &Query) {
    let facets = snapshot.facets_of(query.filter(), sample::AS_OF, &PANEL);
    black_box(facets.expect(WHOLE));
}

/// Hands on each task with a name, after what only the first query of a thread does.
fn run_tasks(name: &str, tasks: &[Task<'_>], sink: &impl Fn(&str, &mut dyn FnMut())) {
    for (task, queries, ask) in tasks {
        queries.iter().for_each(ask);
        sink(&format!("{name}, {task}"), &mut || {
            queries.iter().for_each(ask);
        });
    }
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
