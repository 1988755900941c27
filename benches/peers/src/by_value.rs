//! Pages by date and by amount: signaldex beside tantivy's order by a fast field, the query made inside.
//!
//! The queries are those of the classes that have more than 1,000 matches; pages by amount are asked in US dollars.
//! tantivy orders documents with equal values by their numbers. Its first document is the newest signal, so that is
//! signaldex's order, and pages are compared id by id.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use signaldex::query::{Facet, Order};

use crate::classes::Wanted;
use crate::corpus::{Asked, Corpus};
use crate::engine::Engine;
use crate::engines::Kind;
use crate::measure::{self, Times};
use crate::question::Question;
use crate::report::{figure, geometric_mean};
use crate::{Result, Source};

/// Of tantivy, the faster way of finding dates counts in each row.
const KINDS: [Kind; 3] = [Kind::Signaldex, Kind::TantivyColumns, Kind::TantivyPostings];
/// Matches from which a page is asked for.
const MATCHES_MIN: u64 = 1_000;
/// Runs of each query of which the median counts, after one that does not.
const RUNS: usize = 9;
/// How many times as fast as tantivy a page has to be.
const GOAL: f64 = 10.0;

/// The engines, and the questions that they are asked.
struct Compared<'a> {
    engines: &'a [(Kind, Box<dyn Engine>)],
    asked: &'a Asked,
}

/// Compares and measures, prints the rows, and writes the record.
pub fn run(source: &Source) -> Result<()> {
    let corpus = Corpus::of(source)?;
    corpus.build(source.rebuild)?;
    let (any, in_dollars) = (corpus.questions()?, corpus.questions_with(add_dollars)?);
    let engines = corpus.open(&KINDS, &any.dictionary)?;
    let mut rows = Vec::new();
    for class in 0..any.classes.len() {
        for (asked, orders) in [
            (&any, [Order::LatestDate, Order::EarliestDate]),
            (&in_dollars, [Order::LargestAmount, Order::SmallestAmount]),
        ] {
            let engines = &engines;
            let compared = Compared { engines, asked };
            rows.extend(compared.rows(class, orders)?);
        }
    }
    write(&rows)
}

/// Lets a query match amounts of one currency, as an order by amount needs.
fn add_dollars(wanted: &mut Wanted) {
    let currency = Facet::FundingCurrency;
    if wanted.facets.iter().all(|(facet, _)| *facet != currency) {
        wanted.facets.push((currency, vec!["USD".into()]));
    }
}

/// A class in one order: its name, the number of queries, and the medians in microseconds.
struct Row {
    name: String,
    queries: usize,
    ours: f64,
    theirs: f64,
}

impl Compared<'_> {
    /// The rows of a class, unless too few match its queries.
    fn rows(&self, class: usize, orders: [Order; 2]) -> Result<Vec<Row>> {
        let class = &self.asked.classes[class];
        let mut questions = Vec::new();
        for question in class.questions.iter().filter(|it| it.cursor.is_none()) {
            if self.engines[0].1.prepare(question)?.count()? > MATCHES_MIN {
                questions.push(question);
            }
        }
        let mut rows = Vec::new();
        for order in orders.into_iter().filter(|_| !questions.is_empty()) {
            self.compare(&questions, order)?;
            let [ours, column, postings] = self.medians(&questions, order)?;
            rows.push(Row {
                name: format!("{}, {order}", class.class),
                queries: questions.len(),
                ours,
                theirs: column.min(postings),
            });
        }
        Ok(rows)
    }

    /// Whether all engines give the same pages.
    fn compare(&self, questions: &[&Question], order: Order) -> Result<()> {
        for question in questions {
            let mut pages = Vec::new();
            for (kind, engine) in self.engines {
                let page = engine.prepare(question)?.page_by_value(order)?;
                pages.push(page.ok_or_else(|| kind.name())?.ids());
            }
            if pages.iter().any(|page| *page != pages[0]) {
                let wanted = &question.wanted;
                return Err(format!("pages by {order} differ: {wanted:?}: {pages:?}").into());
            }
        }
        Ok(())
    }

    /// The median of each engine, in turns: what else goes on in the machine falls on all.
    fn medians(&self, questions: &[&Question], order: Order) -> Result<[f64; KINDS.len()]> {
        let mut samples = vec![Vec::new(); KINDS.len()];
        for run in 0..=RUNS {
            for ((_, engine), samples) in self.engines.iter().zip(&mut samples) {
                for question in questions {
                    let time = timed(&**engine, question, order)?;
                    if run > 0 {
                        samples.push(time);
                    }
                }
            }
        }
        let median = |samples: Vec<Duration>| Times::of(samples).map_or(0.0, |it| it.median);
        let medians: Vec<f64> = samples.into_iter().map(median).collect();
        Ok(medians.try_into().map_err(|_| "a median for each engine")?)
    }
}

/// How long making a query and finding its page takes.
fn timed(engine: &dyn Engine, question: &Question, order: Order) -> Result<Duration> {
    let started = Instant::now();
    let mut prepared = engine.prepare(question)?;
    black_box(prepared.page_by_value(order)?);
    drop(prepared);
    Ok(started.elapsed())
}

/// Prints all rows and writes them as `benches/figures.py` reads them.
fn write(rows: &[Row]) -> Result<()> {
    let times = |row: &Row| row.theirs / row.ours;
    let cells = |row: &Row| {
        let queries = row.queries.to_string();
        let medians = [figure(row.ours), figure(row.theirs), figure(times(row))];
        let [ours, theirs, times] = medians;
        [row.name.clone(), queries, ours, theirs, times]
    };
    let cells: Vec<[String; 5]> = rows.iter().map(cells).collect();
    cells
        .iter()
        .for_each(|cells| println!("| {} |", cells.join(" | ")));
    let least = rows
        .iter()
        .min_by(|a, b| times(a).total_cmp(&times(b)))
        .ok_or("no query has enough matches")?;
    let met = rows.iter().filter(|row| times(row) >= GOAL).count();
    let record = json!({
        "date": measure::today(),
        "machine": measure::machine()?,
        "repeat": "benches/peers/run.sh, then signaldex-peers by-value",
        "values": {
            "mean": figure(geometric_mean(rows.iter().map(times))),
            "least": figure(times(least)),
            "least-class": least.name,
            "met": met.to_string(),
            "classes": rows.len().to_string(),
        },
        "tables": {"classes": {
            "columns": ["class, order", "queries", "signaldex, µs", "tantivy, µs", "times as fast"],
            "rows": cells,
        }},
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/by-value.json");
    Ok(std::fs::write(
        path,
        serde_json::to_string_pretty(&record)? + "\n",
    )?)
}
