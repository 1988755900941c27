//! Runs simulations, and replays them.

use super::*;

/// Seeds of the gate; `SIGNALDEX_SEEDS=FIRST..END` runs others.
const SEEDS: std::ops::Range<u64> = 0..200;

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

fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("SIGNALDEX_SEEDS") else {
        return SEEDS;
    };
    let (first, end) = text.split_once("..").expect("FIRST..END");
    let number = |text: &str| text.parse().expect("a number");
    number(first)..number(end)
}

#[test]
fn every_answer_is_of_one_index_and_all_nodes_recover() {
    let (mut right, mut refused) = (0, 0);
    for seed in seeds() {
        let (log, outcome) = run(seed);
        let count = |kind: &str| log.iter().filter(|line| line.contains(kind)).count();
        right += count(": Right(");
        refused += count(": Refused(");
        if let Err(broken) = outcome {
            panic!(
                "seed {seed}: {broken}\n{}\nreplay: SIGNALDEX_SEEDS={seed}..{}",
                log.join("\n"),
                seed + 1
            );
        }
    }
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
