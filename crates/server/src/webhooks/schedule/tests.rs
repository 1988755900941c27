//! Each answer and each attempt.

use std::time::Duration;

use super::{AfterAttempt, DEFAULT, RetryPauses};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn attempts_go_on_for_more_than_three_days() {
    let pauses = RetryPauses::default();
    assert!(DEFAULT.iter().sum::<u64>() * 4 / 5 > 60 * 3_600);
    for (attempt, pause) in (1..).zip(DEFAULT) {
        for random in [0, 1, 399, 400, 401, u64::MAX] {
            let AfterAttempt::Retry(next) = pauses.after(attempt, None, None, random) else {
                panic!("attempt {attempt} is not the last");
            };
            let bounds = seconds(pause) * 4 / 5..=seconds(pause) * 6 / 5;
            assert!(bounds.contains(&next), "{attempt} {random}");
        }
    }
    assert_eq!(pauses.after(10, Some(500), None, 0), AfterAttempt::Disable);
    assert_eq!(pauses.after(u32::MAX, None, None, 0), AfterAttempt::Disable);
}

#[test]
fn only_a_2xx_is_accepted_and_only_410_ends_at_once() {
    let pauses = RetryPauses::default();
    for status in 100..600 {
        let after = pauses.after(1, Some(status), None, 0);
        match status {
            200..=299 => assert_eq!(after, AfterAttempt::Accepted, "{status}"),
            410 => assert_eq!(after, AfterAttempt::Disable),
            _ => assert_eq!(after, AfterAttempt::Retry(seconds(4)), "{status}"),
        }
    }
}

#[test]
fn retry_after_counts_of_429_and_503_up_to_a_day() {
    let pauses = RetryPauses::default();
    let after = |status, asked| match pauses.after(1, Some(status), Some(seconds(asked)), 0) {
        AfterAttempt::Retry(pause) => pause.as_secs(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (after(429, 60), after(503, 60), after(500, 60)),
        (60, 60, 4)
    );
    assert_eq!((after(429, 1), after(503, u64::MAX)), (4, 86_400));
}

#[test]
fn pauses_are_bounded() {
    for text in [
        "",
        "5",
        "5d",
        "s",
        "0s",
        "-1s",
        "25h",
        "5s,",
        "5 s",
        "é",
        "99999999999999999999h",
    ] {
        assert_eq!(RetryPauses::parse(text), None, "{text}");
    }
    assert_eq!(RetryPauses::parse(&["1s"; 33].join(",")), None);
    assert!(RetryPauses::parse(&["1s"; 32].join(",")).is_some());
}
