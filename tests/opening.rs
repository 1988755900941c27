//! How much of its files opening reads: little, however large they are.

use std::fs;
use std::path::Path;

use signaldex::{Index, IndexBuilder, Query};
use signaldex_synthetic::Corpus;
use tempfile::TempDir;

/// Signals of the larger index; the smaller one has a quarter.
const SIGNALS: u64 = 40_000;

/// What opening may read: the frame, and the values of facets. A page that is touched brings those around
/// it, 64 KiB in all.
const OPENED_BYTES_MAX: usize = 4 << 20;

fn build(directory: &Path, signals: u64) -> u64 {
    let corpus = Corpus::new(signals, 5).expect("a size within bounds");
    let mut builder = IndexBuilder::in_directory(directory).expect("an empty directory");
    for company in corpus.companies() {
        builder.add_company(&company).expect("a writable directory");
    }
    for mut signal in corpus.signals() {
        signal.evidence = None;
        builder.add_signal(&signal).expect("a writable directory");
    }
    builder
        .finish()
        .expect("a writable directory")
        .snapshot()
        .statistics()
        .expect("a whole index")
        .bytes
}

/// Bytes of the files of a directory that this process has touched through its mappings.
fn touched(directory: &Path) -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").expect("the process's mappings");
    let ours = directory.to_string_lossy();
    let mut is_ours = false;
    let mut kilobytes = 0;
    for line in maps.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if !first.ends_with(':') {
            is_ours = line.contains(&*ours);
        } else if is_ours && first == "Rss:" {
            let number = line.split_whitespace().nth(1);
            kilobytes += number
                .and_then(|number| number.parse::<usize>().ok())
                .unwrap_or(0);
        }
    }
    kilobytes << 10
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads /proc")]
fn opening_reads_little_and_a_question_what_it_needs() {
    let query = Query::from_query_string("q=robotics").expect("a query");
    let today = time::macros::date!(2026 - 06 - 30);
    let [small, large] = [SIGNALS / 4, SIGNALS].map(|signals| {
        let directory = TempDir::new().expect("a temporary directory");
        let bytes = build(directory.path(), signals) as usize;
        let index = Index::open(directory.path()).expect("an index");
        let opened = touched(directory.path());
        let snapshot = index.snapshot();
        snapshot
            .count(query.filter(), today)
            .expect("a whole index");
        let counted = touched(directory.path());
        snapshot.check().expect("a whole index");
        let checked = touched(directory.path());
        println!("{bytes} bytes: {opened} to open, {counted} with a count, {checked} checked");
        assert!(opened <= OPENED_BYTES_MAX, "{opened} of {bytes} bytes");
        assert!(counted < checked, "{counted} of {checked} bytes");
        (opened, checked)
    });
    assert!(large.1 > 2 * small.1, "the larger index has more to check");
    assert!(
        large.0 < 2 * small.0,
        "opening reads as much of a larger index"
    );
}
