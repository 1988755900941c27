//! Answers with an executor equal those without: counts, facets and aggregates of random queries over segments of several
//! blocks, with deletions, stored counts of values, and filters of keys.
//!
//! `SIGNALDEX_PARALLEL` sets how many random queries are asked; a failure prints the query.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use signaldex::query::KeyFilter;
use signaldex::{Executor, Facet, Filter, Index, IndexBuilder, Snapshot, SplitLimits, Strategies};
use signaldex_synthetic::Corpus;
use tempfile::TempDir;
use time::Date;

use crate::aggregates::query_of;
use crate::agreement::setting;
use crate::oracle::Record;
use crate::questions::Questions;

/// Random queries in the ordinary run.
const QUERIES: usize = 120;

/// Signals of the first commit and of the second: three blocks, and two.
const SIGNALS: [usize; 2] = [140_000, 70_000];

/// Splits all but segments of one block, in parts of one block.
const LIMITS: SplitLimits = SplitLimits {
    rows_min: 1 << 16,
    part_blocks: 1,
    rest_min: Duration::ZERO,
    late_min: Duration::ZERO,
    alone_after_late: 0,
};

/// Three threads for each query; counts the queries.
#[derive(Default)]
struct Threads {
    queries: AtomicUsize,
}

impl Executor for Threads {
    fn run(&self, task: &(dyn Fn() + Sync)) {
        self.queries.fetch_add(1, Ordering::Relaxed);
        thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(task)));
            task();
        });
    }
}

/// Writes an index of two large segments and a small one, with deletions in both of the large ones.
fn write(directory: &TempDir) -> signaldex::Result<Date> {
    let corpus = Corpus::new((SIGNALS[0] + SIGNALS[1]) as u64, 7).expect("a size within bounds");
    let mut builder = IndexBuilder::in_directory(directory.path())?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    let mut signals = corpus.signals();
    for signal in signals.by_ref().take(SIGNALS[0]) {
        builder.add_signal(&signal)?;
    }
    let mut writer = builder.finish()?.writer()?;
    for signal in signals {
        writer.upsert_signal(&signal)?;
    }
    writer.commit()?;
    for signal in corpus.signals().step_by(301) {
        writer.delete_signal(signal.id)?;
    }
    for mut signal in corpus.signals().skip(30).step_by(997) {
        signal.title = "Rewritten since".into();
        writer.upsert_signal(&signal)?;
    }
    writer.commit()?;
    Ok(corpus.as_of())
}

/// A few of the records.
fn records(snapshot: &Snapshot) -> Vec<Record> {
    let some = snapshot.scan().step_by(401);
    let owned = some.map(|found| found.expect("a whole index").into_owned());
    owned.map(|found| (found.signal, found.company)).collect()
}

fn compare(alone: &Snapshot, parallel: &Snapshot, text: &str, today: Date) {
    let Ok(filter) = Filter::from_query_string(text) else {
        return;
    };
    let counts = [alone, parallel].map(|snapshot| snapshot.count(&filter, today));
    let [count, other] = counts.map(|count| count.expect("a whole index"));
    assert_eq!(count, other, "count of {text}");
    let facets = [alone, parallel].map(|snapshot| snapshot.facets_of(&filter, today, &Facet::ALL));
    let [facets, other] = facets.map(|facets| facets.expect("a whole index"));
    assert_eq!(facets, other, "facets of {text}");
}

#[test]
fn answers_do_not_depend_on_an_executor() {
    let directory = TempDir::new().expect("a temporary directory");
    let today = write(&directory).expect("a writable directory");
    let open = || Index::open(directory.path()).expect("an index");
    let (alone, parallel, threads) = (open(), open(), Arc::new(Threads::default()));
    let set = parallel.set_executor_within(Arc::clone(&threads) as Arc<dyn Executor>, LIMITS);
    set.expect("the first executor");
    let alone = alone.snapshot();
    let parallel = parallel.snapshot();
    assert!(alone.segments().len() >= 2, "several segments");
    let key = KeyFilter::parse(["categories=funding,hiring"], ["country=Germany"]);
    let key = key.expect("filters");
    let narrowed = [&alone, &parallel].map(|snapshot| snapshot.narrowed(&key, today));
    let [narrowed, other] = narrowed.map(|snapshot| snapshot.expect("a whole index"));
    let mut visiting = Strategies::ALL;
    visiting.stored_facets = false;
    let pairs = [
        ((*alone).clone(), (*parallel).clone()),
        ((*narrowed).clone(), (*other).clone()),
        (
            alone.with_strategies(visiting),
            parallel.with_strategies(visiting),
        ),
    ];
    let records = records(&alone);
    let mut questions = Questions::new(&records, today, 5);
    for number in 0..setting("SIGNALDEX_PARALLEL", QUERIES) {
        let (alone, parallel) = &pairs[number % pairs.len()];
        compare(alone, parallel, &questions.filter(), today);
        let Some((text, query)) = query_of(&mut questions) else {
            continue;
        };
        let both = [alone, parallel].map(|snapshot| snapshot.aggregate(&query, today));
        let [aggregates, other] = both.map(|aggregates| aggregates.map_err(|e| e.to_string()));
        assert_eq!(aggregates, other, "aggregates of {text}");
    }
    for text in [
        "q=raises",
        "q=raises&country=Germany",
        "exact=series+a",
        "days=90",
        "",
    ] {
        for (alone, parallel) in &pairs {
            compare(alone, parallel, text, today);
        }
    }
    let queries = threads.queries.load(Ordering::Relaxed);
    assert!(queries > QUERIES, "{queries} parts ran on several threads");
}

#[test]
fn an_index_keeps_its_executor_over_commits() {
    let index = Index::in_memory().expect("memory");
    let executor = || Arc::new(Threads::default());
    index.set_executor(executor()).expect("the first one");
    let mut writer = index.writer().expect("the only writer");
    writer
        .upsert_company(&signaldex::Company::new("acme", "Acme"))
        .expect("a company");
    writer.commit().expect("memory");
    let error = index.set_executor(executor()).expect_err("it has one");
    assert!(error.to_string().contains("set it once"), "{error}");
}
