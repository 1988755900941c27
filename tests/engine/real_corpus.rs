//! The real corpus beside the checkout: everything valid in it is loaded, and random queries of
//! its own words agree with a scan.

use std::path::{Path, PathBuf};

use signaldex::json::{self, OnInvalid};
use signaldex::{Index, IndexBuilder};
use time::Date;
use time::macros::date;

use crate::agreement::{compare, setting};

/// Random queries in the ordinary run; each scans 120,517 signals.
const QUERIES: usize = 30;

/// What counts as today: a day around which the corpus is dense.
const AS_OF: Date = date!(2013 - 06 - 30);

fn corpus() -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    ["companies.jsonl.zst", "signals.jsonl.zst"].map(|name| folder.join(name))
}

fn load([companies, signals]: &[PathBuf; 2]) -> Index {
    let mut builder = IndexBuilder::in_memory();
    let report = json::load(companies, signals, &mut builder, OnInvalid::Stop)
        .expect("the corpus is there and nothing of it is rejected");
    assert_eq!((report.companies, report.signals), (43_478, 120_517));
    builder.finish().expect("what was built is valid")
}

#[test]
#[ignore = "needs the real corpus in ../shared/corpus"]
fn the_real_corpus_is_loaded_whole_and_answers_agree() {
    let index = load(&corpus());
    let queries = setting("SIGNALDEX_REAL_QUERIES", QUERIES);
    let seed = setting("SIGNALDEX_SEED", 1) as u64;
    let answered = compare(&index, AS_OF, queries, seed);
    // The corpus has no hiring attributes, so more queries than elsewhere find nothing.
    assert!(
        answered * 3 > queries,
        "only {answered} of {queries} queries find something"
    );
}
