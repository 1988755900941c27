//! White-box tests of `companies.rs` and `shard_companies.rs`: a cluster answers as one index does.
//!
//! `SIGNALDEX_QUERIES` sets how many queries are compared for each number of shards.

use std::sync::Arc;

use signaldex::query::{CompanyOrder, CompanyQuery, CompanyStart};
use signaldex::{FacetDictionary, Index};
use signaldex_server::corpus::{self, Corpus as _, CorpusView, RenderedCompanies};

use super::*;
use crate::aggregates::tests::corpora;
use crate::company_pages::companies_page;
use crate::fixtures::{Corpus, Random, TODAY, TestNode, setting};
use crate::question::ShardRequest;

/// Queries in the ordinary run.
const QUERIES: u64 = 120;

fn condition(random: &mut Random) -> String {
    let filter = random.word(&["", "q=raises", "categories=funding", "days=90", "q=nothing"]);
    let bounds = random.word(&["", ";min=2", ";min=0;max=3", ";max=1", ";min=5"]);
    format!("({filter}{bounds})").replace("(;", "(")
}

fn random_query(random: &mut Random) -> CompanyQuery {
    let mut parts = vec![format!("order={}", random.pick(&CompanyOrder::ALL))];
    if random.chance(40) {
        let of_company = [
            "country=germany",
            "companySlug=company-7",
            "employeesMin=300",
            "companies=company-3,Company 4,nobody",
            "company=company",
        ];
        parts.push(random.word(&of_company).to_owned());
    }
    for name in ["has", "hasNot"] {
        if random.chance(60) {
            let conditions = (0..=random.below(2_u64)).map(|_| condition(random));
            let conditions: Vec<String> = conditions.collect();
            parts.push(format!("{name}={}", conditions.join(",")));
        }
    }
    parts.push(format!("limit={}", 1 + random.below(20_u64)));
    CompanyQuery::from_query_string(&parts.join("&")).expect("a query")
}

fn assert_same(found: RenderedCompanies, expected: RenderedCompanies, query: &CompanyQuery) {
    assert_eq!(found.keys, expected.keys, "{query}");
    assert_eq!(found.next_cursor, expected.next_cursor, "{query}");
    assert_eq!(found.ends_early, expected.ends_early, "{query}");
    assert!(
        found.answer.finish(None) == expected.answer.finish(None),
        "{query}"
    );
}

/// The same page of a node and of one index, and how a walk goes on after it.
async fn compare_page(
    node: &TestNode,
    at: &Arc<CorpusView>,
    whole: &Snapshot,
    query: &CompanyQuery,
) -> Option<CompanyStart> {
    let found = node
        .corpus()
        .companies(Arc::clone(at), Arc::new(query.clone()), TODAY);
    let expected = corpus::companies(whole, query, TODAY).expect("a page");
    let next = expected.next_cursor.clone();
    assert_same(found.await.expect("a page"), expected, query);
    next.map(CompanyStart::After)
}

/// Compares walks, numbered pages, counts and facets.
async fn compare(node: &TestNode, at: &Arc<CorpusView>, whole: &Snapshot, query: CompanyQuery) {
    let mut start = Some(CompanyStart::First);
    while let Some(of_page) = start {
        let part = query.part(of_page, query.limit());
        start = compare_page(node, at, whole, &part).await;
    }
    for number in [1, 2, 9] {
        let part = query.part(CompanyStart::Page(number), query.limit());
        compare_page(node, at, whole, &part).await;
    }
    let filter = query.filter();
    let text = format!("{filter}&countOnly=true&facets=countries,industries,sizes");
    let counted: CompanyQuery = text.trim_start_matches('&').parse().expect("a query");
    let counted = Arc::new(counted);
    let count = node
        .corpus()
        .count_companies(Arc::clone(at), Arc::clone(&counted), TODAY);
    let expected = whole.count_companies(filter, TODAY).expect("a count");
    assert_eq!(count.await.expect("a count"), expected, "{query}");
    let facets = node.corpus().company_facets(Arc::clone(at), counted, TODAY);
    let expected = whole.company_facets(filter, TODAY, &Facet::ALL);
    assert_eq!(
        facets.await.expect("facets"),
        expected.expect("facets"),
        "{query}"
    );
}

async fn node_of(corpus: &mut Corpus) -> TestNode {
    corpus.publish().await;
    TestNode::new(&corpus.store, corpus.newest())
}

#[tokio::test]
async fn a_node_answers_as_one_index_does() {
    for shards in [1, 3, 70] {
        let (mut corpus, whole): (Corpus, Index) = corpora(shards, shards.into());
        let (node, mut random) = (node_of(&mut corpus).await, Random::new(31));
        let (at, whole) = (node.members.view(), whole.snapshot());
        for _ in 0..setting("SIGNALDEX_QUERIES", QUERIES) {
            compare(&node, &at, &whole, random_query(&mut random)).await;
        }
    }
}

/// Each node renders some of its first companies, and sends the keys of the others.
#[test]
fn pages_of_two_nodes_are_those_of_one_index() {
    let (corpus, whole) = corpora(5, 8);
    let (whole, mut random) = (whole.snapshot(), Random::new(41));
    let shards: Vec<Arc<Snapshot>> = corpus.shards.iter().map(Index::snapshot).collect();
    let node = |wanted: &CompaniesQuestion, shards: &[Arc<Snapshot>], rendered_max: usize| {
        let question = Question {
            generation: 1,
            shards: (0..).take(shards.len()).collect(),
            rendered_max,
            key: None,
            wanted: Arc::new(ShardRequest::Companies(Box::new(wanted.clone()))),
        };
        let facets = Arc::new(FacetDictionary::new(shards.to_vec()));
        let asked = shards
            .iter()
            .enumerate()
            .map(|(number, snapshot)| AskedShard {
                shard: number as u32,
                snapshot: Arc::clone(snapshot),
                facets: Arc::clone(&facets),
                number,
                key: None,
            });
        let asked: Vec<AskedShard> = asked.collect();
        let keys = shards
            .iter()
            .map(|shard| shard.company_keys(&wanted.query, TODAY));
        let keys: Result<Vec<_>> = keys.collect();
        rendered(&question, wanted, &asked, &keys.expect("keys")).expect("a whole shard")
    };
    for _ in 0..setting("SIGNALDEX_QUERIES", QUERIES) {
        let query = random_query(&mut random);
        let wanted = CompaniesQuestion {
            kind: CompaniesKind::Items,
            query: query.part(CompanyStart::First, query.limit() + 1),
            today: TODAY,
        };
        let some = random.below(4_u64) as usize;
        let parts = vec![
            node(&wanted, &shards[..2], usize::MAX),
            node(&wanted, &shards[2..], some),
        ];
        let request = ShardRequest::Companies(Box::new(wanted));
        let rows = ShardAnswer::merge(&request, parts).and_then(ShardAnswer::companies);
        let rows = rows.expect("rows");
        let expected = corpus::companies(&whole, &query, TODAY).expect("a page");
        let keys: Vec<&CompanyKey> = rows
            .iter()
            .take(query.limit())
            .map(|row| &row.key)
            .collect();
        assert_eq!(keys, expected.keys.iter().collect::<Vec<_>>(), "{query}");
        let is_whole = rows.iter().all(|row| !row.bytes.is_empty());
        if is_whole {
            assert_same(companies_page(&query, TODAY, rows), expected, &query);
        }
    }
}
