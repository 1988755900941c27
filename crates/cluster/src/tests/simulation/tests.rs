//! Runs simulations, and replays them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::thread;

use super::*;

/// Seeds of the gate; `SIGNALDEX_SEEDS=FIRST..END` runs others.
const SEEDS: Range<u64> = 0..200;

/// Runs a simulation. Returns its log, and how it breaks the law.
fn run(seed: u64) -> (Vec<String>, Result<(), String>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let mut simulation = Simulation::new(seed);
        let outcome = simulation.run().await;
        (simulation.world.take_log(), outcome)
    })
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("SIGNALDEX_SEEDS") else {
        return SEEDS;
    };
    let (first, end) = text.split_once("..").expect("FIRST..END");
    let number = |text: &str| text.parse().expect("a number");
    number(first)..number(end)
}

/// What simulations of several seeds have had.
#[derive(Default)]
struct Tally {
    right: usize,
    refused: usize,
    /// How seeds break the law.
    broken: BTreeMap<u64, String>,
}

impl Tally {
    fn add(&mut self, seed: u64, log: &[String], outcome: Result<(), String>) {
        let count = |kind: &str| log.iter().filter(|line| line.contains(kind)).count();
        self.right += count(": Right(");
        self.refused += count(": Refused(");
        if let Err(broken) = outcome {
            let (log, end) = (log.join("\n"), seed + 1);
            let text = format!("{broken}\n{log}\nreplay: SIGNALDEX_SEEDS={seed}..{end}");
            self.broken.insert(seed, text);
        }
    }
}

/// Runs simulations on all processors, each seed on one thread, until one breaks the law.
fn run_all(seeds: Range<u64>) -> Tally {
    let (seeds, tally) = (Mutex::new(seeds), Mutex::new(Tally::default()));
    let take = || seeds.lock().expect("no panic").next();
    let run_some = || {
        while let Some(seed) = take() {
            let (log, outcome) = run(seed);
            let mut tally = tally.lock().expect("no panic");
            tally.add(seed, &log, outcome);
            if !tally.broken.is_empty() {
                break;
            }
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(run_some)));
    });
    tally.into_inner().expect("no panic")
}

#[test]
fn every_answer_is_of_one_index_and_all_nodes_recover() {
    let tally = run_all(seeds());
    if let Some((seed, broken)) = tally.broken.first_key_value() {
        panic!("seed {seed}: {broken}");
    }
    let Tally { right, refused, .. } = tally;
    println!("{right} right answers, {refused} refused");
    assert!(right > 5 * refused, "{right} right, {refused} refused");
}

#[test]
fn a_seed_replays_to_the_same_log() {
    for seed in 1_000..1_006 {
        let ((first, _), (second, _)) = (run(seed), run(seed));
        let differing = first.iter().zip(&second).position(|(a, b)| a != b);
        let differing = differing.map(|at| (&first[at], &second[at]));
        assert_eq!(differing, None, "seed {seed}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
