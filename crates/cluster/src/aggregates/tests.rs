//! White-box tests of `aggregates.rs`: parts cross the network as they are, and a cluster answers as one index does.

use std::sync::Arc;

use signaldex::query::{Measure, ParameterSet};
use signaldex::replicate::Store;
use signaldex::{Company, Currency, Facet, Funding, Index, IndexBuilder, Signal, SignalId};
use signaldex_server::corpus::Corpus as _;
use time::Duration;

use super::*;
use crate::fixtures::{Corpus, Random, TODAY, TestNode};
use crate::placement::shard_of;

const SIGNALS: u64 = 400;

fn query(text: &str) -> AggregateQuery {
    AggregateQuery::from_query_string(text, ParameterSet::FILTERS).expect("a query")
}

/// A random signal and its company, of which some spell their country otherwise.
fn record(random: &mut Random, id: u64) -> (Company<'static>, Signal<'static>) {
    let number = random.below(60_u64);
    let mut company = Company::new(format!("company-{number}"), format!("Company {number}"));
    let country = [
        "Germany",
        "GERMANY",
        "Chile",
        "Côte d’Ivoire",
        "Cote d'Ivoire",
        "",
    ];
    let country = country[(number % 6) as usize];
    company.country = (!country.is_empty()).then(|| country.into());
    company.employees = (!number.is_multiple_of(7)).then_some(number as i64 * 20);
    let id = SignalId::new(id).expect("an id");
    let title = ["Acme raises", "Acme hires"][random.below(2_usize)];
    let mut signal = Signal::new(id, company.slug.clone(), title);
    signal.date = random
        .chance(90)
        .then(|| TODAY - Duration::days(random.below(900_u64) as i64));
    signal.category = random
        .chance(80)
        .then(|| ["funding", "Funding", "hiring"][random.below(3_usize)].into());
    let amounts = [
        0.1,
        0.2,
        0.3,
        1e6,
        4_700_000.0,
        0.0,
        12.345_678,
        1e22,
        3e-5,
        1e300,
    ];
    signal.funding = random.chance(70).then(|| Funding {
        amount: random.chance(80).then(|| *random.pick(&amounts)),
        currency: Currency::new(random.word(&["USD", "EUR", "GBP", "none"])),
        ..Funding::default()
    });
    (company, signal)
}

/// The same records in shards and in one index.
pub(crate) fn corpora(shards: u32, seed: u64) -> (Corpus, Index) {
    let mut random = Random::new(seed);
    let corpus = Corpus::new(shards, Store::in_memory());
    let mut whole = IndexBuilder::in_memory();
    let mut writers: Vec<_> = corpus
        .shards
        .iter()
        .map(|shard| shard.writer().expect("a writer"))
        .collect();
    for id in 1..=SIGNALS {
        let (company, signal) = record(&mut random, id);
        let writer = &mut writers[shard_of(&company.slug, shards) as usize];
        if !writer.has_company(&company.slug).expect("a look-up") {
            writer.upsert_company(&company).expect("a company");
            whole.add_company(&company).expect("a company");
        }
        writer.upsert_signal(&signal).expect("a signal");
        whole.add_signal(&signal).expect("a signal");
        // Several segments.
        if id % 150 == 0 {
            for writer in &mut writers {
                writer.commit().expect("a commit");
            }
        }
    }
    for writer in &mut writers {
        writer.commit().expect("a commit");
    }
    drop(writers);
    (corpus, whole.finish().expect("an index"))
}

/// A random query, mostly of groups.
fn random_query(random: &mut Random) -> String {
    let unit = random.word(&["day", "week", "month", "quarter", "year"]);
    let lists: Vec<&str> = (0..2).map(|_| random.word(&Facet::LIST_NAMES)).collect();
    let by = match random.below(7_u64) {
        0 => String::new(),
        1 => "&by=company".to_owned(),
        2 => format!("&by={unit}"),
        3 => format!("&by={}", lists[0]),
        4 => format!("&by={},{unit}", lists[0]),
        _ if lists[0] == lists[1] => format!("&by={}", lists[0]),
        _ => format!("&by={},{}", lists[0], lists[1]),
    };
    let measures: Vec<&str> = (0..4).map(|_| random.word(&Measure::NAMES)).collect();
    let filter = random.word(&[
        "",
        "q=raises",
        "country=germany",
        "days=90",
        "company=nobody",
    ]);
    let order = random.word(&[
        "",
        "&order=key",
        "&order=-key",
        "&order=-count",
        "&fundingCurrency=USD&order=-sum",
    ]);
    let limit = ["", "&limit=1", "&limit=5", "&limit=1000"];
    let limit = random.word(&limit);
    format!("{filter}{by}&measures={}{order}{limit}", measures.join(","))
}

/// The part as another node receives it.
fn sent(part: &AggregatesPart) -> AggregatesPart {
    let bytes = part.message().expect("few groups").encode_to_vec();
    AggregatesPart::Sent(PartialMessage::decode(&bytes[..]).expect("a message"))
}

#[test]
fn parts_of_other_nodes_are_those_of_one_index() {
    for shards in [1, 2, 5] {
        let (corpus, whole) = corpora(shards, shards.into());
        let (whole, mut random) = (whole.snapshot(), Random::new(17));
        for _ in 0..300 {
            let text = random_query(&mut random);
            let query = query(&text);
            let expected = whole.aggregate(&query, TODAY).expect("aggregates");
            let parts = corpus.shards.iter().map(|shard| {
                let part = AggregatesPart::find(&shard.snapshot(), &query, TODAY);
                let part = part.expect("a part");
                if random.chance(50) { sent(&part) } else { part }
            });
            let parts: Vec<AggregatesPart> = parts.collect();
            // As nodes merge theirs, and the coordinator those of nodes.
            let (first, others) = parts.split_at(parts.len() / 2);
            let nodes = [first, others].map(|parts| {
                let merged = AggregatesPart::merge(&query, parts.to_vec());
                sent(&merged.expect("a part"))
            });
            let merged = AggregatesPart::merge(&query, nodes.to_vec());
            let found = merged.and_then(|merged| merged.finish(&query));
            assert_eq!(found.expect("whole parts"), Ok(expected), "{text}");
        }
    }
}

#[tokio::test]
async fn a_node_answers_as_one_index_does() {
    let (mut corpus, whole) = corpora(3, 5);
    corpus.publish().await;
    let node = TestNode::new(&corpus.store, corpus.newest());
    let (whole, mut random) = (whole.snapshot(), Random::new(23));
    for _ in 0..200 {
        let text = random_query(&mut random);
        let query = Arc::new(query(&text));
        let expected = whole.aggregate(&query, TODAY).expect("aggregates");
        let found = node.corpus().aggregate(node.members.view(), query, TODAY);
        assert_eq!(found.await.expect("an answer"), Ok(expected), "{text}");
    }
}

#[test]
fn too_many_groups_are_told_wherever_they_are_found() {
    let (corpus, whole) = corpora(3, 7);
    let of_bound = |groups_max: usize| {
        let query = query("by=day,countries").to_string();
        let query: AggregateQuery = format!("{query}&groupsMax={groups_max}")
            .parse()
            .expect("a query");
        let parts = corpus
            .shards
            .iter()
            .map(|shard| AggregatesPart::find(&shard.snapshot(), &query, TODAY).expect("a part"));
        let merged = AggregatesPart::merge(&query, parts.collect()).expect("a part");
        let expected = whole.snapshot().aggregate(&query, TODAY);
        let found = merged.finish(&query).expect("whole parts");
        assert_eq!(found.is_err(), expected.is_err(), "{groups_max}");
        found.map_err(|invalid| invalid.errors()[0].code.as_str())
    };
    let all = of_bound(100_000).expect("few groups").totals.groups as usize;
    assert!(of_bound(all).is_ok());
    for groups_max in [all - 1, all / 2, 1] {
        assert_eq!(of_bound(groups_max), Err("too_many_groups"));
    }
}

#[test]
fn malformed_parts_are_refused() {
    let key = |key: KeyMessage| GroupMessage {
        key: vec![key],
        count: Some(1),
        ..GroupMessage::default()
    };
    let country = || KeyMessage {
        label: Some("Chile".to_owned()),
        ..KeyMessage::default()
    };
    let day = KeyMessage {
        first_day: Some(i32::MAX),
        ..KeyMessage::default()
    };
    let amounts = |amounts: Vec<f64>, counts: Vec<u64>, currency: Option<&str>| GroupMessage {
        amounts: vec![AmountsMessage {
            currency: currency.map(str::to_owned),
            amounts,
            counts,
        }],
        ..key(country())
    };
    let count = |count: Option<u64>| GroupMessage {
        count,
        ..key(country())
    };
    let read = |by: &str, groups: Vec<GroupMessage>| {
        let message = PartialMessage {
            groups,
            ..PartialMessage::default()
        };
        message.read(&query(by))
    };
    assert!(read("by=countries", vec![key(country()), count(Some(2))]).is_ok());
    for (by, groups) in [
        ("by=day", vec![key(day)]),
        ("by=day", vec![key(country())]),
        ("by=company", vec![key(country())]),
        ("by=countries,sizes", vec![key(country())]),
        ("", vec![key(country())]),
        ("by=countries", vec![count(None)]),
        ("by=countries", vec![count(Some(0))]),
        ("by=countries", vec![count(Some(COUNT_MAX + 1))]),
        ("by=countries", vec![count(Some(COUNT_MAX)), count(Some(1))]),
        (
            "by=countries",
            vec![count(Some(u64::MAX)), count(Some(u64::MAX))],
        ),
        ("by=countries", vec![amounts(vec![1.0], vec![], None)]),
        ("by=countries", vec![amounts(vec![f64::NAN], vec![1], None)]),
        (
            "by=countries",
            vec![amounts(vec![f64::INFINITY], vec![1], None)],
        ),
        ("by=countries", vec![amounts(vec![-1.0], vec![1], None)]),
        ("by=countries", vec![amounts(vec![1.0], vec![0], None)]),
        (
            "by=countries",
            vec![amounts(vec![1.0, 1.0], vec![u64::MAX; 2], None)],
        ),
        (
            "by=countries",
            vec![amounts(vec![1.0], vec![1], Some("euro"))],
        ),
    ] {
        let error = read(by, groups.clone());
        assert!(
            error.is_err_and(|error| error.kind() == ErrorKind::Corrupt),
            "{by} {groups:?}"
        );
    }
}
