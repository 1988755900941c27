//! New generations under load: every answer is of exactly one.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Cluster, Fixture, Served, Shape, number};

/// Questions that two corpora answer differently.
const TARGETS: [&str; 7] = [
    "/api/v1/signals?limit=50",
    "/api/v1/signals?limit=5",
    "/api/v1/signals?limit=20&page=2",
    "/api/v1/signals?countOnly=true",
    "/api/v1/signals?countOnly=true&days=30",
    "/api/v1/filter-options",
    "/api/v1/filter-options?days=90",
];

/// What each generation answers, and how many answers were of it.
struct Generations {
    answers: Vec<Vec<Vec<u8>>>,
    seen: Vec<AtomicU64>,
}

impl Generations {
    fn of(wholes: &[Served]) -> Generations {
        let answers = |whole: &Served| {
            let targets = TARGETS.iter();
            targets.map(|target| whole.get(target).body).collect()
        };
        Generations {
            answers: wholes.iter().map(answers).collect(),
            seen: wholes.iter().map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Asks for everything once; every answer has to be that of one generation.
    fn ask(&self, node: &Served) {
        for (place, target) in TARGETS.iter().enumerate() {
            let answer = node.get(target);
            assert_eq!(answer.status, 200, "{target}: {answer:?} {}", node.log());
            let of = self
                .answers
                .iter()
                .position(|known| known[place] == answer.body);
            let of = of.unwrap_or_else(|| panic!("{target}: an answer of no generation"));
            self.seen[of].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn seen(&self) -> Vec<u64> {
        let seen = self.seen.iter();
        seen.map(|seen| seen.load(Ordering::Relaxed)).collect()
    }
}

#[test]
fn every_answer_is_of_one_generation_while_others_are_published() {
    let fixture = Fixture::new();
    let rounds = number("SIGNALDEX_ROUNDS", 4) as usize;
    let names: Vec<String> = (0..=rounds)
        .map(|round| format!("corpus-{round}"))
        .collect();
    for (seed, name) in (11..).zip(&names) {
        fixture.generate(name, 1_500 + seed * 10, seed);
    }
    let wholes: Vec<Served> = names.iter().map(|name| fixture.serve_whole(name)).collect();
    let generations = Generations::of(&wholes);
    drop(wholes);
    fixture.publish(&names[0], 3, "store");
    let cluster = Cluster::start(&fixture, "cluster", "store", Shape::with_replicas(2));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for node in &cluster.nodes {
            let (generations, is_over) = (&generations, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    generations.ask(node);
                }
            });
        }
        // Also with another number of shards.
        for (round, name) in names.iter().enumerate().skip(1) {
            thread::sleep(Duration::from_millis(300));
            fixture.publish(name, [3, 5][round % 2], "store");
            cluster.await_ready(&format!("\"generation\":{}", round + 1));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let seen = generations.seen();
    println!("{rounds} generations published under load; answers of each: {seen:?}");
    assert!(seen[0] > 0 && seen[rounds - 1] > 0);
    // What is over is asked for by nobody: answers are of the last.
    for node in &cluster.nodes {
        for (target, expected) in TARGETS.iter().zip(&generations.answers[rounds]) {
            assert!(node.get(target).body == *expected, "{target}");
        }
    }
}

/// The directories of copies of shards of that many.
fn copies(fixture: &Fixture, node: &str, shards: u32) -> Vec<PathBuf> {
    let of_count = format!("-of-{shards}");
    let entries = fs::read_dir(fixture.path(&format!("cluster-{node}-cache"))).expect("the cache");
    let paths = entries.map(|entry| entry.expect("a copy").path());
    let is_of_count = |path: &PathBuf| path.to_string_lossy().ends_with(&of_count);
    paths.filter(is_of_count).collect()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// The most generations of a shard that a node has mapped: each has one file.
fn generations_mapped(fixture: &Fixture, node: &Served, name: &str, shards: u32) -> usize {
    let copies = copies(fixture, name, shards);
    let mapped = copies
        .iter()
        .map(|copy| node.mapped(&format!("{}/", copy.display())));
    mapped.map(|files| files.len()).max().unwrap_or(0)
}

#[test]
fn a_node_that_cannot_load_does_not_make_others_keep_what_it_lacks() {
    const FORMER: u32 = 3;
    const SHARDS: u32 = 5;
    const GENERATIONS: u64 = 6;
    let fixture = Fixture::new();
    let names: Vec<String> = (0..GENERATIONS)
        .map(|number| format!("corpus-{number}"))
        .collect();
    for (seed, name) in (41..).zip(&names) {
        fixture.generate(name, 300, seed);
    }
    fixture.publish(&names[0], FORMER, "store");
    let shape = Shape {
        deadline: 0.5,
        first_attempt_timeout: 0.4,
        ..Shape::with_replicas(2)
    };
    let cluster = Cluster::start(&fixture, "cluster", "store", shape);
    // A file where a copy should be: like a full disk, it lets nothing be loaded.
    let blocks: Vec<PathBuf> = (0..SHARDS)
        .map(|shard| {
            fixture
                .path("cluster-two-cache")
                .join(format!("{shard}-of-{SHARDS}"))
        })
        .collect();
    for block in &blocks {
        fs::write(block, "").expect("a file in the way");
    }
    let able = [&cluster.nodes[0], &cluster.nodes[2]];
    for (generation, name) in (2..).zip(&names[1..]) {
        fixture.publish(name, SHARDS, "store");
        for node in able {
            node.await_ready(&format!("\"generation\":{generation}"));
        }
    }
    let able = || able.into_iter().zip(["one", "three"]);
    // What is served, and the generation before at most.
    wait_until("old generations are let go", || {
        able().all(|(node, name)| generations_mapped(&fixture, node, name, SHARDS) <= 2)
    });
    wait_until("copies of the former number of shards are gone", || {
        let is_gone = |(node, name): (&Served, &str)| {
            let mapped = node.mapped(&format!("-of-{FORMER}/"));
            mapped.is_empty() && copies(&fixture, name, FORMER).is_empty()
        };
        able().all(is_gone)
    });
    for (node, _) in able() {
        assert_eq!(node.get(TARGETS[0]).status, 200, "{}", node.log());
    }
    // What it has is no longer all, and it says why it has nothing newer.
    let behind = &cluster.nodes[1];
    behind.await_readiness(|status, body| {
        status == 503
            && body.contains("has no live replica")
            && body.contains("The newest generation cannot be loaded: shard")
    });
    assert_eq!(behind.get(TARGETS[0]).status, 503);
    assert_eq!(behind.metric("signaldex_follow_failing"), 1);
    for block in &blocks {
        fs::remove_file(block).expect("removed");
    }
    cluster.await_ready(&format!("\"generation\":{GENERATIONS}"));
    wait_until("the last copies of the former number are gone", || {
        copies(&fixture, "two", FORMER).is_empty()
    });
}
