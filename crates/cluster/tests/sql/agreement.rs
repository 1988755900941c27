//! Three nodes answer statements as one index does, at each of them, and over changes.

use std::time::Duration;

use signaldex::{Company, Index, Signal, SignalId, sample};

use crate::fixture::{Nodes, Rows, Setup, answer_of};
use crate::statements::{ORDERED, STATEMENTS};

/// The sample with labels in other spellings, in only some shards, and a company without signals.
fn spelled() -> Index {
    let index = sample::index().expect("the sample");
    let snapshot = index.snapshot();
    let mut writer = index.writer().expect("the only writer");
    for company in snapshot.scan_companies().step_by(17) {
        let mut company: Company<'static> = company.expect("a record").into_owned();
        company.country = company.country.map(|country| country.to_lowercase().into());
        writer.upsert_company(&company).expect("a company");
    }
    let mut alone = Company::new("alone", "Alone");
    alone.country = Some("Germany".into());
    writer.upsert_company(&alone).expect("a company");
    for id in 1..40 {
        let id = SignalId::new(id).expect("an id");
        let signal = Signal::new(id, "alone", "Alone raises Series A");
        writer.upsert_signal(&signal).expect("a signal");
    }
    writer.commit().expect("a commit");
    index
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort();
    rows
}

async fn compared(index: Index, setup: Setup) {
    let nodes = Nodes::start(&index.snapshot(), setup).await;
    for (number, statement) in STATEMENTS.iter().enumerate() {
        let of_one = index.clone();
        let expected = tokio::task::spawn_blocking(move || answer_of(&of_one, statement));
        let expected = sorted(expected.await.expect("an answer"));
        // Each statement at one node, and all nodes in turn.
        let node = &nodes.nodes[number % nodes.nodes.len()];
        assert_eq!(
            sorted(node.answer(statement).await),
            expected,
            "{statement}"
        );
    }
    for statement in ORDERED {
        let of_one = index.clone();
        let expected = tokio::task::spawn_blocking(move || answer_of(&of_one, statement));
        let expected = expected.await.expect("an answer");
        for node in &nodes.nodes {
            assert_eq!(node.answer(statement).await, expected, "{statement}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_answer_as_one_index() {
    compared(sample::index().expect("the sample"), Setup::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_with_replicas_answer_as_one_index() {
    let setup = Setup {
        replicas: 2,
        ..Setup::default()
    };
    compared(spelled(), setup).await;
}

/// A limit without an order takes any rows, as many as it says, over all nodes.
#[tokio::test(flavor = "multi_thread")]
async fn limits_are_kept_over_nodes() {
    let index = sample::index().expect("the sample");
    let nodes = Nodes::start(&index.snapshot(), Setup::default()).await;
    for limit in [0, 1, 50, 100_000] {
        let expected = index.snapshot().signal_count().min(limit);
        for column in ["title", "1"] {
            let statement = format!("SELECT {column} FROM signals LIMIT {limit}");
            let rows = nodes.nodes[0].answer(&statement).await;
            assert_eq!(rows.len() as u64, expected, "{statement}");
        }
        let statement = format!("SELECT count(*) FROM (SELECT 1 FROM signals LIMIT {limit})");
        assert_eq!(
            nodes.nodes[1].answer(&statement).await,
            [[expected.to_string()]]
        );
    }
}

/// Each statement is of one generation: the number of signals and their count by company agree, and both change.
#[tokio::test(flavor = "multi_thread")]
async fn statements_follow_generations() {
    let index = sample::index().expect("the sample");
    let nodes = Nodes::start(&index.snapshot(), Setup::default()).await;
    let snapshot = index.snapshot();
    let company = snapshot.scan_companies().next().expect("a company");
    let slug = company.expect("a record").slug.into_owned();
    let statement =
        "SELECT (SELECT count(*) FROM signals), (SELECT sum(signal_count) FROM companies)";
    let before = index.snapshot().signal_count();
    let new = Signal::new(SignalId::new(17).expect("an id"), slug, "A new one").into_owned();
    nodes.publish(&new).await;
    let mut seen = Vec::new();
    for turn in 0..400 {
        let node = &nodes.nodes[turn % nodes.nodes.len()];
        let row = node.answer(statement).await.remove(0);
        assert_eq!(row[0], row[1], "a statement has seen two generations");
        let count: u64 = row[0].parse().expect("a number");
        assert!(count == before || count == before + 1, "{count}");
        seen.push(count);
        if seen.iter().rev().take(6).all(|&count| count == before + 1) && seen.len() > 6 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the new generation is not seen: {seen:?}");
}
