//! The pace with a clock of the test, and the count of arrivals beside a naive one.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Arrival, Arrivals, CommitPace, PAUSES, PaceStep, WAIT_FACTOR, WAIT_MAX};

/// How late a thread wakes from each pause.
const LATENESS: Duration = Duration::from_micros(60);

/// What happens to a commit: whether charges are awaited at each look, and how long it takes.
#[derive(Clone, Debug)]
struct Round {
    /// Looks at which charges are awaited; after these, none are.
    awaited_looks: usize,
    commit: Duration,
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let looks = prop_oneof![Just(0), 1..8_usize, Just(usize::MAX)];
    let commit = prop_oneof![0..400_u64, 400..20_000_u64, 20_000..5_000_000_u64];
    let round = (looks, commit).prop_map(|(awaited_looks, micros)| Round {
        awaited_looks,
        commit: Duration::from_micros(micros),
    });
    proptest::collection::vec(round, 1..40)
}

proptest! {
    #[test]
    fn a_commit_waits_only_for_what_is_under_way_and_never_long(rounds in rounds()) {
        let (mut pace, mut now) = (CommitPace::default(), Instant::now());
        let mut last_commit = Duration::ZERO;
        for round in rounds {
            let (began, mut looks) = (now, 0);
            let step = loop {
                let is_awaited = looks < round.awaited_looks;
                let step = pace.next(is_awaited, now);
                let PaceStep::Pause(pause) = step else { break step };
                prop_assert!(is_awaited, "nothing is under way");
                prop_assert!(!pause.is_zero() && pause <= PAUSES[1]);
                looks += 1;
                now += pause + LATENESS;
            };
            let allowed = (last_commit * WAIT_FACTOR).min(WAIT_MAX);
            prop_assert!(now - began <= allowed + LATENESS, "{:?}", now - began);
            match step {
                PaceStep::GiveUp => prop_assert!(looks < round.awaited_looks && now - began >= allowed),
                _ => prop_assert_eq!(looks, round.awaited_looks),
            }
            now += round.commit;
            pace.committed(now);
            last_commit = round.commit;
        }
    }

    #[test]
    fn a_request_is_counted_until_it_leaves_or_is_forgotten(
        steps in proptest::collection::vec((0..4_u8, any::<proptest::sample::Index>()), 1..200)
    ) {
        let arrivals = Arrivals::default();
        // Whether each is still counted.
        let mut requests: Vec<(Arrival, bool)> = Vec::new();
        for (step, index) in steps {
            match step {
                0 | 1 => requests.push((arrivals.enter(), true)),
                2 if !requests.is_empty() => drop(requests.swap_remove(index.index(requests.len()))),
                2 => {}
                _ => {
                    arrivals.forget();
                    requests.iter_mut().for_each(|(_, is_counted)| *is_counted = false);
                }
            }
            let is_expected = requests.iter().any(|(_, is_counted)| *is_counted);
            prop_assert_eq!(arrivals.are_under_way(), is_expected);
        }
    }
}

#[test]
fn the_first_commit_and_one_after_a_failure_do_not_wait() {
    let (mut pace, now) = (CommitPace::default(), Instant::now());
    assert_eq!(pace.next(true, now), PaceStep::GiveUp);
    // A commit that failed at once took no time, so the next does not wait for it either.
    pace.committed(now);
    assert_eq!(pace.next(true, now), PaceStep::GiveUp);
}
