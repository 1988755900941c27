//! Statements that ask other nodes late: when other generations are served, or when the node is lost.

use std::sync::atomic::Ordering;
use std::time::Duration;

use signaldex::{Signal, SignalId, Snapshot, sample};
use tonic::{Code, Status};

use crate::fixture::{Gate, Nodes, Rows, Setup};

/// Reads rows of all nodes.
const STATEMENT: &str = "SELECT id FROM signals ORDER BY id";

/// Twice the deadline of a query, after which nodes let go of a generation that nobody needs, and as long again as they take
/// to look.
const RETIRE_TIME: Duration = Duration::from_secs(6);

async fn arrived(gate: &Gate) {
    while gate.arrived.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Publishes a generation, and waits until all nodes serve it.
async fn publish(nodes: &Nodes, snapshot: &Snapshot, number: u64) {
    let generation = |node: usize| nodes.nodes[node].node.shards().map(|of| of.generation);
    let next = 1 + generation(0).expect("a generation");
    let company = snapshot.scan_companies().next().expect("a company");
    let slug = company.expect("a record").slug.into_owned();
    let id = SignalId::new(number).expect("an id");
    nodes
        .publish(&Signal::new(id, slug, "A new one").into_owned())
        .await;
    for node in 0..nodes.nodes.len() {
        while generation(node).map_or(0, |served| served) < next {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The outcome of a statement that asks other nodes when they have served three further generations.
async fn asked_after_three_generations(keeps: bool) -> (u64, Result<Rows, Status>) {
    let snapshot = sample::index().expect("the sample").snapshot();
    let gate = Gate::new(keeps);
    let setup = Setup {
        gate: Some(gate),
        ..Setup::default()
    };
    let nodes = Nodes::start(&snapshot, setup).await;
    let publishing = async {
        arrived(gate).await;
        for number in 1..=3 {
            publish(&nodes, &snapshot, number).await;
        }
        tokio::time::sleep(RETIRE_TIME).await;
        gate.open.add_permits(1_000);
    };
    let (rows, ()) = tokio::join!(nodes.nodes[0].ask(STATEMENT), publishing);
    (snapshot.signal_count(), rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generation_is_kept_while_a_statement_reads_it() {
    let (count, rows) = asked_after_three_generations(true).await;
    assert_eq!(rows.expect("rows").len() as u64, count);
}

/// Otherwise nodes let go of it, and say so: the lease is what keeps it.
#[tokio::test(flavor = "multi_thread")]
async fn a_generation_without_a_lease_is_let_go_of() {
    let (_, rows) = asked_after_three_generations(false).await;
    let status = rows.expect_err("a refusal");
    assert!(status.message().contains("ask again"), "{status}");
}

/// Three nodes, of which the one that the first would ask is lost while a statement waits.
async fn asked_when_a_node_is_lost(replicas: usize) -> (u64, Result<Rows, Status>) {
    let snapshot = sample::index().expect("the sample").snapshot();
    let gate = Gate::new(true);
    let setup = Setup {
        replicas,
        gate: Some(gate),
        ..Setup::default()
    };
    let mut nodes = Nodes::start(&snapshot, setup).await;
    let first = nodes.nodes.remove(0);
    let plan = first.answer(&format!("EXPLAIN {STATEMENT}")).await;
    let is_asked_last = plan.concat().concat().contains("elsewhere=[node node-2");
    let losing = async {
        arrived(gate).await;
        drop(nodes.nodes.remove(usize::from(is_asked_last)));
        gate.open.add_permits(1_000);
    };
    let (rows, ()) = tokio::join!(first.ask(STATEMENT), losing);
    (snapshot.signal_count(), rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_asked_instead_of_a_node_that_is_lost() {
    let (count, rows) = asked_when_a_node_is_lost(2).await;
    assert_eq!(rows.expect("rows").len() as u64, count);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_replica_the_lost_node_is_named() {
    let (_, rows) = asked_when_a_node_is_lost(1).await;
    let status = rows.expect_err("a refusal");
    assert!(status.message().contains("node node-"), "{status}");
    assert_ne!(status.code(), Code::InvalidArgument, "{status}");
}
