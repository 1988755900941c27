//! What a statement over nodes does not do, in words that name the node.

use std::time::Duration;

use signaldex::sample;
use signaldex_sql::FlightOptions;
use tonic::Code;

use crate::fixture::{Nodes, Setup};

#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_sql_is_named() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let setup = Setup {
        without_sql: Some(2),
        ..Setup::default()
    };
    let nodes = Nodes::start(&snapshot, setup).await;
    for node in &nodes.nodes[..2] {
        let status = node.refusal("SELECT count(*) FROM signals").await;
        let message = status.message();
        assert!(
            message.contains("node node-2 was started without --sql-addr"),
            "{message}"
        );
        assert_eq!(status.code(), Code::Internal, "{message}");
    }
}

/// Its shards have another replica, which is asked instead.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_sql_is_left_out_where_others_have_its_shards() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let setup = Setup {
        replicas: 2,
        without_sql: Some(2),
        ..Setup::default()
    };
    let nodes = Nodes::start(&snapshot, setup).await;
    for node in &nodes.nodes[..2] {
        let rows = node.answer("SELECT count(*) FROM signals").await;
        assert_eq!(rows, [[snapshot.signal_count().to_string()]]);
    }
}

/// What is wrong with a statement is said as over one index, before any node is asked.
#[tokio::test(flavor = "multi_thread")]
async fn statements_are_refused_as_over_one_index() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let nodes = Nodes::start(&snapshot, Setup::default()).await;
    for (statement, expected) in [
        ("SELECT contry FROM signals", "did you mean country?"),
        ("DELETE FROM signals", "DELETE is refused"),
        (
            "SELECT id FROM signals WHERE query = 'contry=de'",
            "query = 'contry=de'",
        ),
        ("SELECT repeat('a', 100000) FROM signals", "repeat"),
    ] {
        let status = nodes.nodes[1].refusal(statement).await;
        assert_eq!(
            status.code(),
            Code::InvalidArgument,
            "{statement}: {status}"
        );
        assert!(status.message().contains(expected), "{statement}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_and_time_are_bounded() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let setup = Setup {
        options: FlightOptions {
            memory: 300 << 10,
            timeout: Duration::from_secs(3),
            ..FlightOptions::default()
        },
        ..Setup::default()
    };
    let nodes = Nodes::start(&snapshot, setup).await;
    let node = &nodes.nodes[0];
    let large = "SELECT id, title, count(*) FROM signals GROUP BY id, title ORDER BY title";
    let status = node.refusal(large).await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("--sql-memory"), "{status}");
    let slow = "SELECT sum(a.id % 7 + b.id % 5 + c.id % 3) FROM signals a, signals b, signals c";
    let status = node.refusal(slow).await;
    assert!(
        [Code::DeadlineExceeded, Code::ResourceExhausted].contains(&status.code()),
        "{status}"
    );
    // The service goes on.
    let rows = node.answer("SELECT count(*) FROM signals").await;
    assert_eq!(rows, [[snapshot.signal_count().to_string()]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_ended_is_named() {
    let snapshot = sample::index().expect("the sample").snapshot();
    let mut nodes = Nodes::start(&snapshot, Setup::default()).await;
    drop(nodes.nodes.pop());
    for _ in 0..20 {
        let status = nodes.nodes[0]
            .refusal("SELECT max(date) FROM signals")
            .await;
        let message = status.message();
        // At first the connection is refused; then the node is known to be dead.
        assert!(
            message.contains("node node-2") || message.contains("has no live replica"),
            "{message}"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
