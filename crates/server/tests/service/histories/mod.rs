//! Random histories of a service and its index, each answer compared with a naive model of metering and feed.
//!
//! `SIGNALDEX_HISTORIES` sets their number. A difference is shrunk, and printed with the seed of its
//! history; `SIGNALDEX_SEED` starts there.

mod corpus;
mod exchange;
mod history;
mod model;
mod steps;
mod subject;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use model::Fault;

/// Histories in the ordinary run.
const HISTORIES: u64 = 200;
/// Histories within which a planted fault has to be found.
const FOUND_WITHIN: u64 = 500;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Histories that are tried to make a failing one smaller.
const SHRUNK_MAX: u32 = 3_000;

/// A runner that draws the same history from the same seed.
fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        max_shrink_iters: SHRUNK_MAX,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Runs the history of a seed, and shrinks it where it fails.
fn check(seed: u64) {
    let mut runner = runner(seed);
    let history = steps::history().new_tree(&mut runner).expect("a history");
    let outcome = runner.run_one(history, |steps| {
        history::run(&steps, None).map_err(TestCaseError::fail)
    });
    if let Err(difference) = outcome {
        panic!("seed {seed}: {difference:#?}");
    }
}

/// Whether the history of a seed differs with a fault, and only with it.
fn finds(seed: u64, fault: Fault) -> bool {
    let history = steps::history().new_tree(&mut runner(seed));
    let steps = history.expect("a history").current();
    history::run(&steps, Some(fault)).is_err() && history::run(&steps, None).is_ok()
}

#[test]
fn histories_are_charged_and_told_as_the_naive_model_says() {
    let first = setting("SIGNALDEX_SEED", 1);
    for seed in first..first + setting("SIGNALDEX_HISTORIES", HISTORIES) {
        check(seed);
    }
}

#[test]
fn planted_faults_are_found() {
    for fault in [
        Fault::PaidRanges,
        Fault::PositionsWithoutDigests,
        Fault::LostCharge,
    ] {
        let mut seeds = 1..=FOUND_WITHIN;
        let found = seeds.find(|&seed| finds(seed, fault));
        let found = found.unwrap_or_else(|| panic!("{fault:?} is not found"));
        // Printed with `--nocapture`, for the record in docs/testing.md.
        println!("{fault:?}: found in history {found}");
    }
}
