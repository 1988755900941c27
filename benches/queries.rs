//! How long pages, counts and facets take, by class of query.
//!
//! usage: `taskset -c 1 cargo bench --bench queries -- [CLASS OR TASK]`
//!
//! `benches/corpus` says over which corpus. Each figure is the mean time of one query, the queries
//! of a class taking turns. The same classes beside other engines: `benches/peers`.

mod classes;
mod corpus;

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use signaldex::{IndexBuilder, Query, Snapshot, sample};

use classes::{Class, Statistics};
use corpus::Source;

/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

fn queries(criterion: &mut Criterion) {
    let source = Source::of_environment().expect("a corpus to build from");
    let builder = IndexBuilder::in_memory();
    let index = source.build(builder).expect("a corpus without errors");
    let snapshot = index.snapshot();
    let statistics = Statistics::of(&snapshot).expect(WHOLE);
    let classes = classes::draw(&snapshot, &statistics, sample::AS_OF).expect(WHOLE);
    for class in classes.iter().filter(|class| !class.queries.is_empty()) {
        let mut group = criterion.benchmark_group(class.name);
        bench_pages(&mut group, &snapshot, &statistics, class);
        if class.is_counted {
            bench_counts(&mut group, &snapshot, class);
        }
        group.finish();
    }
}

fn bench_pages(
    group: &mut BenchmarkGroup<'_, WallTime>,
    snapshot: &Snapshot,
    statistics: &Statistics,
    class: &Class,
) {
    let search = |query: &Query| {
        snapshot
            .search(query, sample::AS_OF)
            .expect("a whole index")
    };
    let first = first_pages(class);
    let middle: Vec<Query> = class
        .queries
        .iter()
        .map(|wanted| {
            let rank = wanted.middle_rank(snapshot, statistics, sample::AS_OF);
            wanted.query_from(rank.expect(WHOLE), statistics, sample::AS_OF)
        })
        .collect();
    bench(group, "page", &first, |query| search(query).len());
    bench(group, "page from the middle", &middle, |query| {
        search(query).len()
    });
    bench(group, "page with records", &first, |query| {
        snapshot.records(&search(query)).expect(WHOLE).len()
    });
}

fn bench_counts(group: &mut BenchmarkGroup<'_, WallTime>, snapshot: &Snapshot, class: &Class) {
    let first = first_pages(class);
    bench(group, "count", &first, |query| {
        snapshot
            .count(query.filter(), sample::AS_OF)
            .expect("a whole index")
    });
    bench(group, "facets", &first, |query| {
        snapshot
            .facets(query.filter(), sample::AS_OF)
            .expect("a whole index")
    });
}

fn first_pages(class: &Class) -> Vec<Query> {
    let queries = class.queries.iter();
    queries.map(|wanted| wanted.query(sample::AS_OF)).collect()
}

/// Measures one task, a query after the other.
fn bench<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    task: &str,
    queries: &[Query],
    ask: impl Fn(&Query) -> T,
) {
    let mut turns = queries.iter().cycle();
    group.bench_function(task, |bencher| {
        bencher.iter(|| turns.next().map(|query| ask(black_box(query))));
    });
}

criterion_group! {
    name = benches;
    // There are about ninety figures; a second each shows a change of a few percent.
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .without_plots();
    targets = queries
}
criterion_main!(benches);
