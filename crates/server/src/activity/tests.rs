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
fn the_last_requests_of_a_key_are_kept_and_no_more() {
    let activity = Activity::new(false);
    for number in 0..2 * KEPT_MAX as u64 {
        activity.note(answered(1, number), instant(number.cast_signed()));
    }
    activity.note(answered(2, 7), instant(5));
    let recent = activity.recent(Some(1));
    assert_eq!(recent.len(), KEPT_MAX);
    assert_eq!(recent[0].request_id, "request199");
    assert!(recent.iter().all(|request| request.query.is_none()));
    assert_eq!(activity.recent(None).len(), KEPT_MAX + 1);
    assert!(activity.recent(Some(3)).is_empty());
}

#[test]
fn keys_are_bounded_and_the_silent_one_gives_way() {
    let activity = Activity::new(false);
    for key in 0..=KEYS_MAX.cast_signed() as i64 {
        activity.note(answered(key, 1), instant(key));
    }
    assert!(activity.recent(Some(0)).is_empty());
    assert_eq!(activity.recent(None).len(), KEYS_MAX);
}

#[test]
fn parameters_are_kept_only_where_they_are_asked_for() {
    let activity = Activity::new(true);
    let long = format!("q={}", "é".repeat(1000));
    for query in ["q=robots", &long] {
        let answered = Answered {
            query: Some(query),
            ..answered(1, 1)
        };
        activity.note(answered, instant(0));
    }
    let recent = activity.recent(Some(1));
    let queries: Vec<&str> = recent.iter().filter_map(|r| r.query.as_deref()).collect();
    assert!(queries.contains(&"q=robots"));
    assert!(queries.iter().all(|query| query.len() <= QUERY_BYTES_MAX));
}

#[test]
fn counts_are_taken_once_and_kept_where_they_were_not_recorded() {
    let activity = Activity::new(false);
    for number in 0..3 {
        activity.note(answered(1, number), instant(0));
    }
    let taken = activity.take_unrecorded();
    assert_eq!((taken.len(), taken[0].requests), (1, 3));
    assert!(activity.take_unrecorded().is_empty());
    activity.keep(taken);
    activity.note(answered(1, 9), instant(0));
    let taken = activity.take_unrecorded();
    assert_eq!(
        (taken[0].requests, taken[0].last_at),
        (4, instant(0).unix_timestamp())
    );
    activity.keep(taken);
    activity.note(answered(1, 9), instant(7));
    activity.note(answered(1, 9), instant(3));
    assert_eq!(
        activity.take_unrecorded()[0].last_at,
        instant(7).unix_timestamp()
    );
}

#[test]
fn refusals_and_failures_leave_the_times_alone() {
    let activity = Activity::new(false);
    for status in [304, 400, 401, 402, 404, 429, 500, 503] {
        let refused = Answered {
            status,
            ..answered(1, 5)
        };
        activity.note(refused, instant(0));
    }
    activity.note(answered(1, 400), instant(0));
    for new in activity.take_unrecorded() {
        let has_times = new.times.percentile(50).is_some();
        assert_eq!(has_times, new.by.status == 200, "{new:?}");
    }
}

#[test]
fn units_of_an_answer_under_way_are_counted_without_a_request() {
    let activity = Activity::new(false);
    activity.note(answered(1, 3), instant(0));
    let _ = activity.take_unrecorded();
    activity.add_charged((1, "request3"), "search", (40, instant(70)));
    let taken = activity.take_unrecorded();
    assert_eq!((taken[0].requests, taken[0].units), (0, 40));
    assert_eq!(activity.recent(Some(1))[0].charged, 43);
}

#[test]
fn what_cannot_be_recorded_for_long_is_kept_by_hour() {
    let activity = Activity::new(false);
    let minutes = BY_MINUTE_MAX as i64 + 1;
    for minute in 0..minutes {
        activity.note(answered(1, 1), instant(60 * minute));
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
