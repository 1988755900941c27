//! The real corpus beside the checkout: everything valid in it is loaded, random queries of its own words agree with
//! a scan, and what is built of its dump answers the same.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use signaldex::json::{
    self, CompanyDetail, FilterOptions, OnInvalid, SignalDetail, write_item_line,
};
use signaldex::query::Order;
use signaldex::{Facet, Filter, Index, IndexBuilder, Query, Snapshot};
use tempfile::TempDir;
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

/// Queries whose walks, counts and facets are compared, the first over everything.
const DUMP_QUERIES: [&str; 9] = [
    "limit=50",
    "order=oldest&limit=49",
    "q=robot",
    "q=\"raises\" -series",
    "any=software data&exclude=new",
    "country=United States&limit=37",
    "size=101-500",
    "dateFrom=2013-01-01&dateTo=2013-06-30",
    "q=software&order=-date",
];

/// Writes the dump of a snapshot, and returns its files.
fn dump(snapshot: &Snapshot, folder: &Path) -> [PathBuf; 2] {
    fs::create_dir(folder).expect("a new folder");
    let paths = ["companies.jsonl", "signals.jsonl"].map(|name| folder.join(name));
    let [companies, signals] = &paths;
    let create = |path| BufWriter::new(File::create_new(path).expect("a new file"));
    let dumped = snapshot.dump(create(companies), create(signals));
    let dumped = dumped.expect("a whole index");
    assert_eq!((dumped.companies, dumped.signals), (43_478, 120_517));
    paths
}

/// All pages of the walk, the count, the facets and the export of a query, as bytes.
fn answers(snapshot: &Snapshot, text: &str) -> Vec<u8> {
    let query = Query::from_query_string(text).expect("a query");
    let (filter, mut bytes) = (query.filter(), Vec::new());
    for page in snapshot.pages(&query, AS_OF) {
        let page = page.expect("a whole index");
        bytes.extend(format!("{:?}\n", page.next_cursor().map(ToString::to_string)).bytes());
        for item in snapshot.records(&page).expect("a whole index") {
            write_item_line(&mut bytes, &item.signal, &item.company_name);
        }
    }
    let count = snapshot.count(filter, AS_OF).expect("a whole index");
    bytes.extend(format!("{count}\n").bytes());
    let counts = &snapshot.facets(filter, AS_OF).expect("a whole index");
    let facets = &Facet::ALL;
    serde_json::to_writer(&mut bytes, &FilterOptions { counts, facets }).expect("memory");
    for item in snapshot.matches(filter, AS_OF, query.order()) {
        let item = item.expect("a whole index");
        write_item_line(&mut bytes, &item.signal, &item.company_name);
    }
    bytes
}

/// The details of all signals and companies, as bytes.
fn details(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    let all = snapshot.matches(&Filter::default(), AS_OF, Order::OldestFirst);
    for found in all.with_companies() {
        let found = found.expect("a whole index");
        let (signal, company) = (&found.signal, &found.company);
        serde_json::to_writer(&mut bytes, &SignalDetail { signal, company }).expect("memory");
    }
    for company in snapshot.companies_by_slug().expect("a whole index") {
        let slug = company.expect("a whole index").slug;
        let profile = snapshot.company(&slug).expect("a whole index");
        let profile = &profile.expect("a live company");
        serde_json::to_writer(&mut bytes, &CompanyDetail { profile }).expect("memory");
    }
    bytes
}

#[test]
#[ignore = "needs the real corpus in ../shared/corpus"]
fn the_dump_of_the_real_corpus_is_built_into_the_same_answers_and_the_same_dump() {
    let snapshot = load(&corpus()).snapshot();
    let folder = TempDir::new().expect("a temporary directory");
    let files = dump(&snapshot, &folder.path().join("first"));
    let rebuilt = load(&files).snapshot();
    let again = dump(&rebuilt, &folder.path().join("second"));
    for (first, second) in files.iter().zip(&again) {
        let read = |path: &PathBuf| fs::read(path).expect("a readable file");
        assert!(read(first) == read(second), "{}", first.display());
    }
    let mut answered = 0;
    for query in DUMP_QUERIES {
        let expected = answers(&snapshot, query);
        assert!(answers(&rebuilt, query) == expected, "{query}");
        answered += expected.len();
    }
    assert!(answered > 100 << 20, "{answered} bytes are compared");
    assert!(details(&rebuilt) == details(&snapshot));
}
