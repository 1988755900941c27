//! Load: slow nodes stay members, and what is too much is refused before it is begun.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Response;
use crate::fixture::{Cluster, Fixture, Shape};

const TARGETS: [&str; 3] = [
    "/api/v1/signals?limit=50",
    "/api/v1/signals?countOnly=true&q=new",
    "/api/v1/filter-options?q=raises",
];

fn start(shape: Shape) -> (Fixture, Cluster) {
    let fixture = Fixture::new();
    fixture.generate("corpus", 3_000, 21);
    fixture.publish("corpus", 4, "store");
    let cluster = Cluster::start(&fixture, "cluster", "store", shape);
    (fixture, cluster)
}

/// A node that nobody can stand in for is waited for until the deadline.
#[test]
fn a_slow_node_without_a_replica_is_waited_for_and_stays_a_member() {
    let (_fixture, cluster) = start(Shape {
        deadline: 8.0,
        first_attempt_timeout: 0.2,
        ..Shape::with_replicas(1)
    });
    for target in TARGETS {
        let slow = &cluster.nodes[1];
        let pause = Duration::from_millis(900);
        slow.send("STOP");
        let started = Instant::now();
        let answer = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(pause);
                slow.send("CONT");
            });
            cluster.nodes[0].get(target)
        });
        let time = started.elapsed();
        assert_eq!(answer.status, 200, "{target}: {}", cluster.nodes[0].log());
        assert!(time >= pause / 2, "{target}: it was not stopped: {time:?}");
        assert_eq!(cluster.nodes[0].get("/readyz").status, 200);
    }
    let log = cluster.nodes[0].log();
    assert!(!log.contains("a node counts as dead"), "{log}");
}

/// How the answers to a flood of requests are.
#[derive(Default)]
struct Flood {
    answered: AtomicU64,
    overloaded: AtomicU64,
    is_over: AtomicBool,
}

impl Flood {
    fn note(&self, target: &str, answer: &Response) {
        if answer.status == 200 {
            self.answered.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let body = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 503, "{target}: {body}");
        assert!(body.contains("\"code\":\"overloaded\""), "{target}: {body}");
        assert!(answer.header("retry-after").is_some(), "{target}");
        assert_eq!(answer.charged(), 0, "{target}");
        self.overloaded.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_flood_is_refused_in_part_and_no_node_is_taken_for_dead() {
    const CLIENTS: usize = 24;
    let (_fixture, cluster) = start(Shape {
        queries_max: 2,
        ..Shape::with_replicas(2)
    });
    let flood = Flood::default();
    thread::scope(|scope| {
        for node in &cluster.nodes {
            for client in 0..CLIENTS {
                let flood = &flood;
                scope.spawn(move || {
                    for target in TARGETS.iter().cycle().skip(client) {
                        if flood.is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        flood.note(target, &node.get(target));
                    }
                });
            }
        }
        let end = Instant::now() + Duration::from_secs(4);
        while Instant::now() < end {
            for node in &cluster.nodes {
                let ready = node.get("/readyz");
                assert_eq!(ready.status, 200, "{ready:?}: {}", node.log());
            }
            thread::sleep(Duration::from_millis(50));
        }
        flood.is_over.store(true, Ordering::Relaxed);
    });
    let (answered, overloaded) = (flood.answered.into_inner(), flood.overloaded.into_inner());
    println!("{answered} answered, {overloaded} refused");
    assert!(answered > 0 && overloaded > 0);
    for node in &cluster.nodes {
        assert!(!node.log().contains("counts as dead"), "{}", node.log());
    }
}
