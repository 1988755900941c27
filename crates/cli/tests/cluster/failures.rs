//! Nodes that are killed or stopped: right answers from their replicas, or a refusal that names the
//! shard; never a shorter answer, and never one that does not end.

use std::time::{Duration, Instant};

use signaldex_cluster::{ClusterSettings, Node, NodeOptions, Security, holders};

use crate::client::Response;
use crate::fixture::{Cluster, Fixture, NAMES, Served, Shape, settings_path, write_settings};

const SHARDS: u32 = 4;

/// What is asked again and again.
const TARGETS: [&str; 5] = [
    "/api/v1/signals?limit=50",
    "/api/v1/signals?q=raises&limit=20",
    "/api/v1/signals?limit=10&page=3",
    "/api/v1/signals?countOnly=true&days=90",
    "/api/v1/filter-options?q=new",
];

/// More than a deadline, for a machine that is busy with other things.
const SLACK: Duration = Duration::from_secs(4);

fn expected(whole: &Served) -> Vec<Vec<u8>> {
    TARGETS
        .iter()
        .map(|target| whole.get(target).body)
        .collect()
}

/// Asks a node for everything a few times; returns the longest time an answer took.
fn ask(node: &Served, expected: &[Vec<u8>], rounds: usize) -> Duration {
    let mut longest = Duration::ZERO;
    for _ in 0..rounds {
        for (target, expected) in TARGETS.iter().zip(expected) {
            let started = Instant::now();
            let answer = node.get(target);
            longest = longest.max(started.elapsed());
            assert_eq!(answer.status, 200, "{target}: {}", node.log());
            assert!(answer.body == *expected, "{target}");
        }
    }
    longest
}

fn start(fixture: &Fixture, shape: Shape) -> (Served, Cluster) {
    fixture.generate("corpus", 2_000, 5);
    fixture.publish("corpus", SHARDS, "store");
    let whole = fixture.serve_whole("corpus");
    (whole, Cluster::start(fixture, "cluster", "store", shape))
}

/// What happens to the queries of one node when a signal is sent to another.
fn lose_a_replica(signal: &str) -> (Fixture, Served, Cluster) {
    let fixture = Fixture::new();
    let shape = Shape::with_replicas(2);
    let (whole, mut cluster) = start(&fixture, shape);
    let right = expected(&whole);
    let before = ask(&cluster.nodes[0], &right, 3);
    cluster.nodes[1].signal(signal);
    let deadline = Duration::from_secs_f64(shape.deadline);
    let at_once = ask(&cluster.nodes[0], &right, 1);
    let after = ask(&cluster.nodes[0], &right, 5);
    println!("{signal}: longest answer {before:?} before, {at_once:?} at once, {after:?} later");
    assert!(at_once < deadline + SLACK, "{at_once:?}");
    cluster.nodes[2].await_ready("");
    ask(&cluster.nodes[2], &right, 2);
    (fixture, whole, cluster)
}

#[test]
fn a_killed_node_with_a_replica_costs_no_answer() {
    let (fixture, whole, mut cluster) = lose_a_replica("KILL");
    cluster.restart(&fixture, 1);
    cluster.await_ready("\"generation\":1");
    ask(&cluster.nodes[1], &expected(&whole), 2);
}

#[test]
fn a_stopped_node_with_a_replica_costs_no_answer() {
    let (_fixture, whole, mut cluster) = lose_a_replica("STOP");
    cluster.nodes[1].signal("CONT");
    cluster.await_ready("\"generation\":1");
    ask(&cluster.nodes[1], &expected(&whole), 2);
}

#[test]
fn a_question_to_a_slow_node_is_soon_asked_of_others_within_a_budget() {
    let fixture = Fixture::new();
    // Too long for what follows: only second attempts are as early.
    let shape = Shape {
        deadline: 60.0,
        first_attempt_timeout: 30.0,
        ..Shape::with_replicas(2)
    };
    let (whole, mut cluster) = start(&fixture, shape);
    let right = expected(&whole);
    let hedged =
        |cluster: &Cluster| cluster.nodes[0].metric("signaldex_cluster_questions_hedged_total");
    // Times of one period count in the next.
    let mut rounds = 0;
    // The budget may be used up on a busy machine.
    let was_asked_soon = (0..5).any(|_| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(11) {
            ask(&cluster.nodes[0], &right, 1);
            rounds += 1;
        }
        let before = hedged(&cluster);
        cluster.nodes[1].signal("STOP");
        let longest = ask(&cluster.nodes[0], &right, 1);
        cluster.nodes[1].signal("CONT");
        rounds += 1;
        println!("after {rounds} rounds and {before} second attempts: {longest:?}");
        hedged(&cluster) > before
    });
    assert!(was_asked_soon);
    // A page with a number takes two questions to each of two nodes.
    let questions = rounds * (TARGETS.len() as u64 + 1) * 2;
    let after = hedged(&cluster);
    assert!(after * 20 <= questions, "{after} of {questions}");
}

/// The shards that only the second node holds.
fn lost_shards() -> Vec<u32> {
    let nodes = NAMES.map(|name| (name, ""));
    let is_lost = |shard: &u32| holders(*shard, SHARDS, &nodes, 1) == [1];
    (0..SHARDS).filter(is_lost).collect()
}

fn names_a_lost_shard(answer: &Response) -> bool {
    let detail = answer.json()["detail"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let named = |shard: &u32| detail.starts_with(&format!("Shard {shard} of {SHARDS} "));
    answer.status == 503 && lost_shards().iter().any(named)
}

/// What happens to the queries of one node when another that alone has its shards gets a signal.
fn lose_shards(signal: &str) -> (Fixture, Served, Cluster) {
    assert!(!lost_shards().is_empty(), "the second node holds a shard");
    let fixture = Fixture::new();
    let shape = Shape {
        deadline: 2.0,
        first_attempt_timeout: 1.0,
        ..Shape::with_replicas(1)
    };
    let (whole, mut cluster) = start(&fixture, shape);
    let right = expected(&whole);
    ask(&cluster.nodes[0], &right, 2);
    cluster.nodes[1].signal(signal);
    let node = &cluster.nodes[0];
    let mut longest = Duration::ZERO;
    for round in 0..4 {
        for target in TARGETS {
            let started = Instant::now();
            let answer = node.get(target);
            longest = longest.max(started.elapsed());
            let body = String::from_utf8_lossy(&answer.body);
            assert!(names_a_lost_shard(&answer), "{round} {target}: {body:.300}");
            assert_eq!(answer.charged(), 0, "{target}");
            assert!(answer.header("retry-after").is_some(), "{target}");
        }
    }
    println!("{signal} without a replica: 503 after at most {longest:?}");
    assert!(longest < Duration::from_secs_f64(shape.deadline) + SLACK);
    node.await_readiness(|status, body| status == 503 && body.contains("has no live replica"));
    ask_for_companies(&fixture, node, &whole);
    (fixture, whole, cluster)
}

/// What lies in a shard that is there is answered.
fn ask_for_companies(fixture: &Fixture, node: &Served, whole: &Served) {
    let index = fixture.index("corpus");
    let snapshot = index.snapshot();
    let mut answered = 0;
    for company in snapshot.scan_companies().take(40) {
        let slug = company.expect("a company").slug.into_owned();
        let shard = signaldex_cluster::shard_of(&slug, SHARDS);
        for target in [
            format!("/api/v1/companies/{slug}"),
            format!("/api/v1/signals?companySlug={slug}"),
        ] {
            let answer = node.get(&target);
            if lost_shards().contains(&shard) {
                assert!(names_a_lost_shard(&answer), "{target}: {answer:?}")
            } else {
                assert!(answer.body == whole.get(&target).body, "{target}");
                answered += 1;
            }
        }
    }
    assert!(answered > 0);
}

#[test]
fn a_killed_node_without_a_replica_is_a_refusal_that_names_the_shard() {
    let (fixture, whole, mut cluster) = lose_shards("KILL");
    cluster.restart(&fixture, 1);
    cluster.await_ready("\"generation\":1");
    ask(&cluster.nodes[0], &expected(&whole), 2);
}

#[test]
fn a_stopped_node_without_a_replica_is_a_refusal_that_names_the_shard() {
    let (_fixture, whole, mut cluster) = lose_shards("STOP");
    cluster.nodes[1].signal("CONT");
    cluster.await_ready("\"generation\":1");
    ask(&cluster.nodes[0], &expected(&whole), 2);
}

/// A node whose worker cannot accept connections any more says so, for its process to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_serve_stops() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 100, 9);
    fixture.publish("corpus", 1, "store");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let same = listener.try_clone().expect("the same socket");
    listener.set_nonblocking(true).expect("a setting");
    let path = settings_path(&fixture, "cluster");
    write_settings(&path, &fixture.path("store"), 1, &[port]);
    let node = Node::start(
        ClusterSettings::read(&path).expect("a cluster"),
        NAMES[0],
        tokio::net::TcpListener::from_std(listener).expect("a listener"),
        Security::none(),
        NodeOptions::new(fixture.path("cache")),
    );
    let stopped = node.await.expect("a node").stopped();
    let mut stopped = std::pin::pin!(stopped);
    let a_while = Duration::from_millis(300);
    let early = tokio::time::timeout(a_while, &mut stopped).await;
    assert!(early.is_err(), "it serves: {early:?}");
    // The socket under the listener listens no more.
    let socket = std::net::TcpStream::from(std::os::fd::OwnedFd::from(same));
    socket
        .shutdown(std::net::Shutdown::Both)
        .expect("shut down");
    let error = tokio::time::timeout(Duration::from_secs(20), stopped).await;
    let error = error.expect("it has stopped").to_string();
    assert!(
        error.contains("accept connections of other nodes"),
        "{error}"
    );
}
