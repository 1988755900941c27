//! How long building an index and opening one take.
//!
//! usage: `taskset -c 1 cargo bench --bench build`
//!
//! `benches/corpus` says over which corpus. Making the records counts where they are generated,
//! and reading the lines where they are not; `benches/build.sh` measures the program against zstd.

mod corpus;

use criterion::{Criterion, criterion_group, criterion_main};
use signaldex::{Index, IndexBuilder, Query, sample};

use corpus::Source;

/// What is written where something that cannot fail does.
const WHOLE: &str = "an index that was just built is whole";

fn build(criterion: &mut Criterion) {
    let source = Source::of_environment().expect("a corpus to build from");
    criterion.bench_function("build", |bencher| {
        bencher.iter(|| {
            let builder = IndexBuilder::in_memory();
            source.build(builder).expect("a corpus without errors")
        });
    });
}

/// Opens from files that the system has in memory, and asks for a first page.
fn open(criterion: &mut Criterion) {
    let source = Source::of_environment().expect("a corpus to build from");
    let folder = tempfile::tempdir().expect("a folder to write to");
    let path = folder.path().join("index");
    let builder = IndexBuilder::in_directory(&path).expect("a folder to write to");
    source.build(builder).expect("a corpus without errors");
    let query = Query::from_query_string("all=series a&country=Germany").expect("a valid query");
    criterion.bench_function("open", |bencher| {
        bencher.iter(|| {
            let snapshot = Index::open(&path).expect(WHOLE).snapshot();
            snapshot
                .search(&query, sample::AS_OF)
                .expect("a whole index")
                .len()
        });
    });
}

criterion_group! {
    name = benches;
    // A build takes seconds; ten of them show what there is to see.
    config = Criterion::default().sample_size(10).without_plots();
    targets = build, open
}
criterion_main!(benches);
