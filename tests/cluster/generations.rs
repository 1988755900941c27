//! New generations under load: every answer is of exactly one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

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
