//! What the figures have to be, and which classes miss it.

use std::fmt::Write;

use crate::engines::Kind;
use crate::measure::{ClassTimes, Results, Task};
use crate::report::{best, figure, geometric_mean};

/// Engines of which the faster one is compared with.
const FASTEST: [&str; 3] = ["tantivy", "Lucene", "SQLite"];
/// The bitmaps that are compared with by their mean alone.
const NAIVE: [&str; 1] = ["roaring"];

/// Classes whose counts the peers read as a stored number, where no factor can be asked for.
const STORED_COUNTS: [&str; 4] = ["no filter", "frequent term", "rare term", "one company"];

/// Microseconds that the median of a page may take in any class.
const PAGE_MEDIAN_MAX: f64 = 50.0;
/// Microseconds that one page in a hundred may exceed.
const PAGE_P99_MAX: f64 = 200.0;
/// How many times as long as the limit a count may take.
const LIMIT_MAX: f64 = 3.0;

/// A goal for a task: how many times faster than other engines.
struct Goal {
    ours: Kind,
    task: Task,
    engines: &'static [&'static str],
    mean: f64,
    /// In every class that is not exempt; 0 where only the mean counts.
    each: f64,
}

const GOALS: [Goal; 10] = [
    goal(Task::Page, &FASTEST, 12.0, 4.0),
    goal(Task::Middle, &FASTEST, 10.0, 2.0),
    goal(Task::PageMade, &FASTEST, 10.0, 2.0),
    parsed(Task::PageMade, &FASTEST, 9.0, 2.0),
    goal(Task::Page, &NAIVE, 3.0, 0.0),
    goal(Task::Count, &FASTEST, 10.0, 1.5),
    goal(Task::CountMade, &FASTEST, 15.0, 1.0),
    parsed(Task::CountMade, &FASTEST, 15.0, 1.0),
    goal(Task::Count, &NAIVE, 3.0, 0.0),
    goal(Task::Facets, &FASTEST, 5.0, 1.5),
];

const fn goal(task: Task, engines: &'static [&'static str], mean: f64, each: f64) -> Goal {
    Goal {
        ours: Kind::Signaldex,
        task,
        engines,
        mean,
        each,
    }
}

/// The same for queries parsed from query strings.
const fn parsed(task: Task, engines: &'static [&'static str], mean: f64, each: f64) -> Goal {
    Goal {
        ours: Kind::SignaldexParsed,
        ..goal(task, engines, mean, each)
    }
}

/// All goals with what was reached, and the classes that miss.
pub fn section(results: &Results) -> String {
    let mut text = "\n## Goals\n\n| task | against | geometric mean | goal | each class | classes \
                    below |\n|---|---|--:|--:|--:|---|\n"
        .to_owned();
    for goal in &GOALS {
        text += &line(results, goal);
    }
    let _ = writeln!(text, "\n{}", bounds(results));
    text
}

fn line(results: &Results, goal: &Goal) -> String {
    let reached: Vec<(&ClassTimes, f64)> = results
        .classes
        .iter()
        .filter_map(|class| Some((class, factor(class, goal)?)))
        .collect();
    let below = reached.iter().filter(|(class, factor)| {
        let is_exempt = goal.task == Task::Count && STORED_COUNTS.contains(&class.class.as_str());
        *factor < goal.each && !is_exempt
    });
    let below: Vec<String> = below
        .map(|(class, factor)| format!("{} ({})", class.class, figure(*factor)))
        .collect();
    format!(
        "| {}, {} | {} | {} | {} | {} | {} |\n",
        goal.ours.name(),
        goal.task.title(),
        goal.engines.join(", "),
        figure(geometric_mean(reached.iter().map(|(_, factor)| *factor))),
        goal.mean,
        goal.each,
        below.join(", "),
    )
}

/// How many times longer the fastest of the engines takes.
fn factor(class: &ClassTimes, goal: &Goal) -> Option<f64> {
    let times = class.tasks.get(&goal.task)?;
    let engines = goal.engines.iter();
    let fastest = engines
        .filter_map(|name| best(times, name))
        .min_by(f64::total_cmp)?;
    Some(fastest / times.get(&goal.ours)?.median)
}

/// What is bounded by itself: pages in microseconds, counts by the limit.
fn bounds(results: &Results) -> String {
    let mut misses = Vec::new();
    for class in &results.classes {
        for task in [Task::Page, Task::Middle] {
            let times = class.tasks.get(&task).and_then(|t| t.get(&Kind::Signaldex));
            if let Some(times) = times
                && (times.median > PAGE_MEDIAN_MAX || times.p99 > PAGE_P99_MAX)
            {
                let (median, p99) = (figure(times.median), figure(times.p99));
                misses.push(format!(
                    "- {}, {}: {median} / {p99} µs",
                    class.class,
                    task.title()
                ));
            }
        }
        if let Some(distance) = distance(class).filter(|&distance| distance > LIMIT_MAX) {
            misses.push(format!(
                "- {}, count: {} limits",
                class.class,
                figure(distance)
            ));
        }
    }
    format!(
        "Beyond {PAGE_MEDIAN_MAX} µs at the median or {PAGE_P99_MAX} µs at p99 of a page, or \
         {LIMIT_MAX} limits of a count:\n\n{}",
        misses.join("\n")
    )
}

/// How many times as long as the limit a count takes.
fn distance(class: &ClassTimes) -> Option<f64> {
    let times = class.tasks.get(&Task::Count)?;
    Some(times.get(&Kind::Signaldex)?.median / times.get(&Kind::Limit)?.median)
}
