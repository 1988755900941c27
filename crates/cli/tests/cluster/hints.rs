//! Hints: three nodes give those of one index, wherever an answer may have them.

use std::fs;
use std::path::Path;

use crate::client::Response;
use crate::fixture::{Cluster, Fixture, Shape};

/// Searches of the sample corpus: query strings, and the same as arguments of tools.
const SEARCHES: &str = include_str!("../../../../data/searches/hinted.tsv");

/// Enough shards that most values are in few of them.
const SHARDS: u32 = 7;

/// Searches whose hints name a company by another legal form, the nearest value, and a beginning.
pub(crate) const EACH_KIND: [&str; 3] = [
    "companies=%22Pomelora%20GmbH%22",
    "country=Germny",
    "q=robotic",
];

/// The header of hints.
pub(crate) fn hints(answer: &Response) -> Option<&str> {
    assert_eq!(answer.status, 200);
    answer.header("x-hints")
}

#[test]
fn nodes_have_the_hints_of_one_index() {
    let fixture = Fixture::new();
    let folder = fixture.path("sample");
    fs::create_dir(&folder).expect("a new folder");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/sample");
    for name in ["signals.jsonl", "companies.jsonl"] {
        fs::copy(sample.join(name), folder.join(name)).expect("a new file");
    }
    fixture.build("sample");
    fixture.publish("sample", SHARDS, "store");
    let whole = fixture.serve_whole("sample");
    let cluster = Cluster::start(&fixture, "sample", "store", Shape::with_replicas(2));
    let searches = SEARCHES.lines().filter(|line| !line.starts_with('#'));
    let searches = searches.filter_map(|line| line.split('\t').next());
    let mut hinted = 0;
    for (turn, search) in searches.chain(EACH_KIND).enumerate() {
        let node = &cluster.nodes[turn % cluster.nodes.len()];
        let mut targets = vec![
            format!("/api/v1/signals?{search}"),
            format!("/api/v1/signals?{search}&countOnly=true"),
        ];
        if !search.starts_with("ids=") {
            targets.push(format!("/api/v1/export?{search}"));
            targets.push(format!("/api/v1/changes?{search}"));
        }
        for target in targets {
            let (expected, found) = (whole.get(&target), node.get(&target));
            assert_eq!(hints(&found), hints(&expected), "{target}");
            hinted += usize::from(hints(&found).is_some());
        }
    }
    assert!(hinted >= 100, "only {hinted} answers have hints");
    for search in EACH_KIND {
        let answer = cluster.nodes[0].get(&format!("/api/v1/signals?{search}"));
        let hints = hints(&answer).unwrap_or_default();
        assert!(
            hints.contains("did you mean") || hints.contains("robotic*"),
            "{search}: {hints}"
        );
    }
}
