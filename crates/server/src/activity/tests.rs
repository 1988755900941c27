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
fn quantiles_are_close_and_of_the_day_alone() {
    let activity = Activity::new(false);
    let today = instant(0).date();
    assert_eq!(activity.times_of(today), None);
    for number in 1..=1000 {
        activity.note(answered(1, number), instant(0));
    }
    let times = activity.times_of(today).expect("times");
    for (time, exact) in [(times.median, 500.0), (times.p99, 990.0)] {
        let ratio = time.as_secs_f64() * 1e6 / exact;
        assert!((1.0..1.1).contains(&ratio), "{time:?}");
    }
    activity.note(answered(1, 8), instant(24 * 60 * 60));
    assert_eq!(activity.times_of(today), None);
}

#[test]
fn refusals_and_failures_leave_the_times_alone() {
    let activity = Activity::new(false);
    for status in [304, 400, 401, 402, 404, 429, 500, 503] {
        for number in 0..67 {
            let refused = Answered {
                status,
                ..answered(1, 5 + number % 2)
            };
            activity.note(refused, instant(0));
        }
    }
    assert_eq!(activity.times_of(instant(0).date()), None);
    activity.note(answered(1, 400), instant(0));
    let times = activity.times_of(instant(0).date()).expect("times");
    assert!(times.median > Duration::from_micros(400), "{times:?}");
}

#[test]
fn no_time_is_too_short_or_too_long() {
    for time in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        assert!(bucket(time) < BUCKETS);
    }
}
