//! Properties that relate answers to each other, whatever the corpus.

use std::sync::LazyLock;

use proptest::prelude::*;
use signaldex::query::Order;
use signaldex::{Facet, Filter, Index, Query, SignalId};
use signaldex_synthetic::Corpus;
use time::Date;

use crate::oracle::{Oracle, index_of};
use crate::questions::Questions;
use crate::search_tables::encoded;

struct Fixture {
    index: Index,
    oracle: Oracle,
    today: Date,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let corpus = Corpus::new(70_000, 11).expect("a size within bounds");
    let index = index_of(corpus.companies(), corpus.signals());
    let oracle = Oracle::of(&index);
    Fixture {
        index,
        oracle,
        today: corpus.as_of(),
    }
});

impl Fixture {
    fn questions(&self, seed: u64) -> Questions<'_> {
        Questions::new(&self.oracle.records, self.today, seed)
    }

    fn count(&self, text: &str) -> u64 {
        let filter = Filter::from_query_string(text).expect("a valid filter");
        self.index
            .snapshot()
            .count(&filter, self.today)
            .expect("a whole index")
    }

    /// All matches of a query, page by page.
    fn walk(&self, text: &str, order: Order, limit: usize) -> Vec<SignalId> {
        let mut ids = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let builder = Query::from_query_string(text)
                .expect("a valid query")
                .into_builder();
            let builder = builder.order(order).limit(limit);
            let query = match &cursor {
                Some(cursor) => builder.cursor(cursor).build(),
                None => builder.build(),
            };
            let query = query.expect("a valid query");
            let page = self
                .index
                .snapshot()
                .search(&query, self.today)
                .expect("a whole index");
            ids.extend(page.ids());
            assert!(
                ids.len() <= self.oracle.records.len(),
                "a walk ends: {text}"
            );
            match page.next_cursor() {
                Some(next) => cursor = Some(next.to_string()),
                None => return ids,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn adding_a_filter_never_grows_a_result(seed in any::<u64>()) {
        let mut questions = FIXTURE.questions(seed);
        let (first, second) = (questions.filter(), questions.filter());
        let both = format!("{first}&{second}");
        // Two random filters may name one parameter twice, which is no query.
        if Filter::from_query_string(&both).is_ok() {
            let (first, second, both) = (FIXTURE.count(&first), FIXTURE.count(&second), FIXTURE.count(&both));
            prop_assert!(both <= first.min(second));
        }
    }

    #[test]
    fn a_word_and_its_exclusion_partition_everything(seed in any::<u64>()) {
        let mut questions = FIXTURE.questions(seed);
        let (signal, _) = questions.random.pick(&FIXTURE.oracle.records);
        let words: Vec<&str> = signal.title.split_whitespace().collect();
        let word = encoded(questions.random.word(&words));
        if Filter::from_query_string(&format!("all={word}")).is_ok() {
            let with = FIXTURE.count(&format!("all={word}"));
            let without = FIXTURE.count(&format!("exclude={word}"));
            prop_assert_eq!(with + without, FIXTURE.index.snapshot().signal_count());
        }
    }

    #[test]
    fn facet_counts_are_the_counts_of_their_values(seed in any::<u64>()) {
        let text = FIXTURE.questions(seed).filter();
        let Ok(filter) = Filter::from_query_string(&text) else { return Ok(()) };
        let snapshot = FIXTURE.index.snapshot();
        let facets = snapshot.facets(&filter, FIXTURE.today).expect("a whole index");
        for (facet, parameter) in [
            (Facet::Category, "categories"),
            (Facet::Country, "country"),
            (Facet::Size, "size"),
            (Facet::FundingStage, "fundingStage"),
            (Facet::Seniority, "seniority"),
        ] {
            for value in facets.values(facet).iter().take(3) {
                let rest: Vec<&str> =
                    text.split('&').filter(|part| !part.starts_with(&format!("{parameter}="))).collect();
                let one = format!("{}&{parameter}={}", rest.join("&"), encoded(value.label()));
                let count = FIXTURE.count(one.trim_start_matches('&'));
                prop_assert_eq!(count, value.count(), "{}", one);
            }
        }
    }

    #[test]
    fn walks_of_any_page_size_see_the_same(seed in any::<u64>(), limit in 1_usize..=50) {
        let mut questions = FIXTURE.questions(seed);
        let text = questions.filter();
        let Ok(filter) = Filter::from_query_string(&text) else { return Ok(()) };
        let snapshot = FIXTURE.index.snapshot();
        if snapshot.count(&filter, FIXTURE.today).expect("a whole index") > 3_000 {
            return Ok(());
        }
        let mut newest = FIXTURE.walk(&text, Order::NewestFirst, limit);
        prop_assert_eq!(&newest, &FIXTURE.walk(&text, Order::NewestFirst, 50));
        newest.reverse();
        prop_assert_eq!(newest, FIXTURE.walk(&text, Order::OldestFirst, limit));
    }
}
