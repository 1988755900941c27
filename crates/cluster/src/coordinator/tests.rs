//! A key with a filter: the nodes narrow their shards, and the answers are those of one narrowed index.

use signaldex::query::{Facet, ParameterSet, QueryBuilder};
use signaldex::{Digest, Snapshot};
use signaldex_server::corpus::{self, FeedPosition, company_answer, page, signal_answer};

use super::*;
use crate::aggregates::tests::corpora;
use crate::fixtures::{TODAY, TestNode};

const KEYS: [(&[&str], &[&str]); 4] = [
    (&["country=Germany"], &[]),
    (&["q=raises", "categories=hiring"], &["days=30"]),
    (&[], &["categories=funding"]),
    (&["country=Atlantis"], &[]),
];

const QUERIES: [&str; 7] = [
    "",
    "q=raises",
    "country=germany",
    "days=90&categories=funding",
    "country=germani",
    "companySlug=company-7",
    "dateRanges=30,older",
];

/// Asks a node and one index, both as a key.
struct Asked {
    node: TestNode,
    at: Arc<CorpusView>,
    whole: Arc<Snapshot>,
    filter: Arc<KeyFilter>,
}

impl Asked {
    async fn compare(&self, text: &str) {
        let Asked {
            node,
            at,
            whole,
            filter,
        } = self;
        let parse = |text: &str| {
            let (builder, []) = QueryBuilder::from_query_string(text, ParameterSet::SEARCH, []);
            Arc::new(builder.for_key(Some(filter)).build().expect("a query"))
        };
        let corpus = || node.corpus();
        let query = parse(text);
        let count = corpus()
            .count(Arc::clone(at), query.filter().clone(), TODAY)
            .await;
        let expected = whole.count(query.filter(), TODAY).expect("a count");
        assert_eq!(count.expect("a count"), expected, "{filter}, {text}");
        let mut next = format!("{text}&limit=7");
        for _ in 0..3 {
            let query = parse(&next);
            let found = corpus()
                .page(Arc::clone(at), Arc::clone(&query), TODAY, Rendering::Whole)
                .await;
            let (found, expected) = (
                found.expect("a page"),
                page(whole, &query, TODAY, Rendering::Whole),
            );
            let expected = expected.expect("a page");
            assert_eq!(found.keys, expected.keys, "{filter}, {next}");
            assert_eq!(found.next_cursor, expected.next_cursor, "{filter}, {next}");
            assert_eq!(
                found.answer.finish(None),
                expected.answer.finish(None),
                "{filter}, {next}"
            );
            let Some(cursor) = found.next_cursor else {
                break;
            };
            next = format!("{text}&limit=7&cursor={cursor}");
        }
        for is_empty in [false, true] {
            let hints = corpus()
                .hints(Arc::clone(at), Arc::clone(&query), is_empty)
                .await;
            let expected = whole.hints(&query, is_empty).expect("hints");
            assert_eq!(hints.expect("hints"), expected, "{filter}, {text}");
        }
        let facets = Arc::new(FacetQuery::new(query.filter().clone(), Facet::ALL));
        let found = corpus()
            .facets(Arc::clone(at), Arc::clone(&facets), TODAY)
            .await;
        let expected = whole.facets(query.filter(), TODAY).expect("facets");
        assert_eq!(found.expect("facets"), expected, "{filter}, {text}");
        let aggregates = format!("{text}&by=month,countries&measures=companies,sum,median");
        let aggregates = AggregateQuery::from_query_string(&aggregates, ParameterSet::FILTERS);
        let aggregates = Arc::new(aggregates.expect("a query"));
        let found = corpus()
            .aggregate(Arc::clone(at), Arc::clone(&aggregates), TODAY)
            .await;
        let expected = whole.aggregate(&aggregates, TODAY).expect("aggregates");
        assert_eq!(
            found.expect("an answer").expect("aggregates"),
            expected,
            "{filter}, {text}"
        );
    }

    async fn compare_companies(&self, text: &str) {
        let Asked {
            node,
            at,
            whole,
            filter,
        } = self;
        let query = CompanyQuery::from_query_string(text).expect("a query");
        let query = query.into_builder().for_key(Some(filter)).build();
        let query = Arc::new(query.expect("a query"));
        let found = node
            .corpus()
            .companies(Arc::clone(at), Arc::clone(&query), TODAY)
            .await;
        let found = found.expect("a page");
        let expected = corpus::companies(whole, &query, TODAY).expect("a page");
        assert_eq!(found.keys, expected.keys, "{filter}, {text}");
        assert_eq!(found.next_cursor, expected.next_cursor, "{filter}, {text}");
        assert_eq!(
            found.answer.finish(None),
            expected.answer.finish(None),
            "{filter}, {text}"
        );
    }

    async fn compare_records(&self) {
        let Asked {
            node,
            at,
            whole,
            filter,
        } = self;
        for number in 1..40 {
            let id = SignalId::new(number).expect("an id");
            let found = node
                .corpus()
                .signal(Arc::clone(at), id)
                .await
                .expect("an answer");
            assert_eq!(
                found,
                signal_answer(whole, id).expect("a record"),
                "{filter}, {id}"
            );
            let slug = format!("company-{number}");
            let found = node.corpus().company(Arc::clone(at), slug.clone()).await;
            let expected = company_answer(whole, &slug).expect("a record");
            assert_eq!(found.expect("an answer"), expected, "{filter}, {slug}");
        }
    }

    /// An empty copy that follows holds what the key sees.
    async fn compare_feed(&self) {
        let Asked {
            node,
            at,
            whole,
            filter,
        } = self;
        let (mut since, mut upserts, mut more) = ("start".to_owned(), 0, true);
        while more {
            let request = ChangesRequest {
                filter: Filter::default(),
                limit: 50,
                since: Some(since.parse::<FeedPosition>().expect("a position")),
                upserts_max: usize::MAX,
                rendering: Rendering::Whole,
            };
            let found = node.corpus().changes(Arc::clone(at), request, TODAY).await;
            let found = found.expect("an answer").expect("a position of this key");
            upserts += found.upserts;
            let body: serde_json::Value = serde_json::from_slice(&found.body).expect("JSON");
            more = body["data"]["more"] == true;
            since = body["data"]["next"]
                .as_str()
                .expect("a position")
                .to_owned();
        }
        assert_eq!(upserts, whole.signal_count(), "{filter}");
        let request = ChangesRequest {
            filter: Filter::default(),
            limit: 50,
            since: Some(since.parse().expect("a position")),
            upserts_max: usize::MAX,
            rendering: Rendering::Whole,
        };
        let all = node.members.view();
        let refused = node
            .corpus()
            .changes(all, request, TODAY)
            .await
            .expect("an answer");
        assert_eq!(
            refused.err(),
            Some(PositionError::OtherKeyFilter),
            "{filter}"
        );
    }
}

#[tokio::test]
async fn a_key_with_a_filter_gets_the_answers_of_one_narrowed_index() {
    for shards in [1, 5] {
        let (mut corpus, whole) = corpora(shards, 77);
        corpus.publish().await;
        for (filters, exceptions) in KEYS {
            let key = KeyFilter::parse(filters.iter().copied(), exceptions.iter().copied());
            let filter = Arc::new(key.expect("valid filters"));
            let node = TestNode::new(&corpus.store, corpus.newest());
            let all = node.members.view();
            let at = node
                .corpus()
                .narrowed(&all, &filter, TODAY)
                .expect("a view");
            assert_ne!(Digest::from(at.tag_seed), Digest::from(all.tag_seed));
            let whole = whole.snapshot().narrowed(&filter, TODAY).expect("whole");
            let asked = Asked {
                node,
                at,
                whole,
                filter,
            };
            for query in QUERIES {
                asked.compare(query).await;
            }
            for query in [
                "",
                "has=(q=raises;min=2)",
                "hasNot=()",
                "country=germany&order=-matches",
            ] {
                asked.compare_companies(&format!("{query}&limit=4")).await;
            }
            asked.compare_records().await;
            asked.compare_feed().await;
        }
    }
}
