//! A key with a filter: three nodes answer it as one process does over an index of everything, narrowed.
//!
//! `SIGNALDEX_QUERIES` says how many queries for each filter, `SIGNALDEX_SEED` which.

use signaldex::query::KeyFilter;

use crate::agreement::compare_queries;
use crate::feed::Copied;
use crate::fixture::{Cluster, Fixture, Shape, TODAY, number};
use crate::hints::{EACH_KIND, hints};
use crate::oracle::Oracle;
use crate::random::Random;

const SHARDS: u32 = 7;

/// Filters and exceptions: of companies, of words with an exception, of dates, and one that leaves nothing.
const KEYS: [(&[&str], &[&str]); 4] = [
    (&["country=Germany", "country=France"], &[]),
    (&["q=raises", "categories=hiring"], &["size=1-49"]),
    (&[], &["days=90", "categories=funding"]),
    (&["country=Atlantis"], &[]),
];

fn compare(filters: &[&str], exceptions: &[&str]) {
    let key = KeyFilter::parse(filters.iter().copied(), exceptions.iter().copied());
    let key = key.expect("valid filters");
    let fixture = Fixture::with_filter(Some(key.clone()));
    fixture.generate("corpus", 1_500, number("SIGNALDEX_SEED", 1));
    fixture.publish("corpus", SHARDS, "store");
    let whole = fixture.serve_whole("corpus");
    let cluster = Cluster::start(&fixture, "corpus", "store", Shape::with_replicas(2));
    let index = fixture.index("corpus");
    let records = Oracle::of(&index).records;
    let visible = records
        .iter()
        .filter(|(signal, company)| key.matches(signal, company, TODAY));
    let visible = visible.count();
    for node in &cluster.nodes {
        let count = node.get("/api/v1/signals?countOnly=true");
        assert_eq!(
            count.json()["data"]["count"],
            visible,
            "{key}: {}",
            node.log()
        );
    }
    let queries = number("SIGNALDEX_QUERIES", 25);
    compare_queries(
        &whole,
        &cluster,
        &index,
        number("SIGNALDEX_SEED", 1),
        queries,
    );
    for (turn, search) in EACH_KIND.into_iter().enumerate() {
        let target = format!("/api/v1/signals?{search}");
        let found = cluster.nodes[turn % cluster.nodes.len()].get(&target);
        assert_eq!(hints(&found), hints(&whole.get(&target)), "{key}: {target}");
    }
    let mut random = Random::new(number("SIGNALDEX_SEED", 1));
    for filter in ["", "&q=raises"] {
        Copied::new(filter).complete(&cluster, &whole, &mut random);
    }
}

#[test]
fn three_nodes_answer_a_key_with_a_filter_as_one_narrowed_index() {
    for (filters, exceptions) in KEYS {
        compare(filters, exceptions);
    }
}
