//! Tasks of aggregates: without a filter, and under the most frequent word.

use std::hint::black_box;

use signaldex::query::{InvalidQuery, ParameterSet};
use signaldex::{AggregateQuery, Snapshot, sample};

/// The name and the query of each task.
const TASKS: [(&str, &str); 9] = [
    ("aggregate, months", "by=month"),
    ("aggregate, countries", "by=countries"),
    ("aggregate, months of a word", "q=in&by=month"),
    (
        "aggregate, sums by month of a word",
        "q=in&by=month&measures=sum",
    ),
    (
        "aggregate, medians by month of a word",
        "q=in&by=month&measures=median",
    ),
    (
        "aggregate, sums by month and country",
        "by=month,countries&measures=sum",
    ),
    (
        "aggregate, sums by month and country of a phrase",
        "q=\"series a\"&by=month,countries&measures=sum",
    ),
    (
        "aggregate, ten companies of a word",
        "q=in&by=company&limit=10",
    ),
    (
        "aggregate, number of companies of a word",
        "q=in&measures=companies",
    ),
];

/// Hands each task to `sink` with its name and what names its index.
pub(crate) fn run(
    snapshot: &Snapshot,
    index: &str,
    sink: &impl Fn(&str, &mut dyn FnMut()),
) -> Result<(), InvalidQuery> {
    for (name, text) in TASKS {
        let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
        let ask = || {
            black_box(
                snapshot
                    .aggregate(&query, sample::AS_OF)
                    .expect(crate::WHOLE),
            );
        };
        // What a snapshot computes once is computed.
        ask();
        sink(&format!("{name}{index}"), &mut || ask());
    }
    Ok(())
}
