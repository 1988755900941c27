//! What is kept of requests, and for how long.

use super::*;

fn answered(key: i64, number: u64) -> Answered<'static> {
    Answered {
        key,
        request_id: format!("request{number}"),
        endpoint: "search",
        status: 200,
        code: None,
        time: Duration::from_micros(number),
        charged: number,
        query: Some("q=secret"),
    }
}

fn instant(seconds: i64) -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(1_795_000_000 + seconds).expect("an instant")
}

#[test]
fn counts_are_taken_once_and_kept_where_they_were_not_recorded() {
    let activity = Activity::new();
    for number in 0..3 {
        activity.note(&answered(1, number), instant(0));
    }
    let taken = activity.take_unrecorded();
    assert_eq!((taken.len(), taken[0].requests), (1, 3));
    assert!(activity.take_unrecorded().is_empty());
    activity.keep(taken);
    activity.note(&answered(1, 9), instant(0));
    let taken = activity.take_unrecorded();
    assert_eq!(
        (taken[0].requests, taken[0].last_at),
        (4, instant(0).unix_timestamp())
    );
    activity.keep(taken);
    activity.note(&answered(1, 9), instant(7));
    activity.note(&answered(1, 9), instant(3));
    assert_eq!(
        activity.take_unrecorded()[0].last_at,
        instant(7).unix_timestamp()
    );
}

#[test]
fn refusals_and_failures_leave_the_times_alone() {
    let activity = Activity::new();
    for status in [304, 400, 401, 402, 404, 429, 500, 503] {
        let refused = Answered {
            status,
            ..answered(1, 5)
        };
        activity.note(&refused, instant(0));
    }
    activity.note(&answered(1, 400), instant(0));
    for new in activity.take_unrecorded() {
        let has_times = new.times.percentile(50).is_some();
        assert_eq!(has_times, new.by.status == 200, "{new:?}");
    }
}

#[test]
fn units_of_an_answer_under_way_are_counted_without_a_request() {
    let activity = Activity::new();
    activity.note(&answered(1, 3), instant(0));
    let _ = activity.take_unrecorded();
    activity.add_charged(1, "search", (40, instant(70)));
    let taken = activity.take_unrecorded();
    assert_eq!((taken[0].requests, taken[0].units), (0, 40));
}

#[test]
fn what_cannot_be_recorded_for_long_is_kept_by_hour() {
    let activity = Activity::new();
    let minutes = BY_MINUTE_MAX as i64 + 1;
    for minute in 0..minutes {
        activity.note(&answered(1, 1), instant(60 * minute));
    }
    let taken = activity.take_unrecorded();
    assert_eq!(taken.len() as i64, minutes);
    activity.keep(taken);
    let kept = activity.take_unrecorded();
    assert!((kept.len() as i64) < minutes / 60 + 2, "{}", kept.len());
    let requests: u64 = kept.iter().map(|new| new.requests).sum();
    assert_eq!(requests as i64, minutes);
    assert!(kept.iter().all(|new| new.by.minute % 60 == 0));
}
