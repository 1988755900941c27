//! Series against plain sums over all requests, and against the bytes that the guide promises.

use std::time::Duration;

use proptest::prelude::*;
use time::UtcDateTime;

use super::*;
use crate::state::CountedBy;

/// A minute at which a day begins.
const TODAY: i64 = 20_800 * 24 * 60;
const ENDPOINTS: [&str; 3] = ["search", "signal", "export"];

fn instant(minute: i64) -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(minute * 60).expect("an instant")
}

/// Requests some minutes ago, all of which took as long.
fn requests() -> impl Strategy<Value = (i64, i64, &'static str, u16, u64, u64)> {
    let endpoint = prop::sample::select(ENDPOINTS.to_vec());
    let status = prop::sample::select(vec![200, 304, 404, 503]);
    (
        0..90_i64,
        0..3_i64,
        endpoint,
        status,
        1..5_u64,
        1..100_000_u64,
    )
}

fn new(
    minute: i64,
    key: i64,
    endpoint: &'static str,
    status: u16,
    (requests, microseconds): (u64, u64),
) -> NewRequests {
    let mut new = NewRequests::none(CountedBy {
        minute,
        key,
        endpoint,
        status,
    });
    for _ in 0..requests {
        new.requests += 1;
        if status == 200 {
            new.units += microseconds % 7;
            new.times.add(Duration::from_micros(microseconds));
        }
    }
    new
}

fn open(folder: &tempfile::TempDir) -> State {
    State::open(folder.path().join("state.db")).expect("a state")
}

fn expected(all: &[NewRequests], key: Option<i64>, step: SeriesStep) -> Vec<SeriesLine> {
    let mut lines: BTreeMap<(i64, &str), SeriesFigures> = BTreeMap::new();
    for new in all
        .iter()
        .filter(|new| key.is_none_or(|key| key == new.by.key))
    {
        let start = step.start_of(new.by.minute);
        lines.entry((start, new.by.endpoint)).or_default().add(new);
    }
    let line = |((start, endpoint), figures): ((i64, &str), SeriesFigures)| SeriesLine {
        start,
        endpoint: endpoint.to_owned(),
        figures,
    };
    lines.into_iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn each_step_has_the_sum_over_processes(
        one in prop::collection::vec(requests(), 0..20),
        other in prop::collection::vec(requests(), 0..20),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let processes = [open(&folder), open(&folder)];
        let mut all = Vec::new();
        for (state, asked) in processes.iter().zip([one, other]) {
            let asked = asked.into_iter().map(|(ago, key, endpoint, status, count, time)| {
                new(TODAY - ago, key, endpoint, status, (count, time))
            });
            let asked: Vec<NewRequests> = asked.collect();
            state.record_requests(&asked, instant(TODAY)).expect("recorded");
            all.extend(asked);
        }
        let from = TODAY - 24 * 60;
        for step in SeriesStep::ALL {
            let found = processes[0].series(None, step, from..TODAY + 1).expect("a series");
            prop_assert_eq!(found, expected(&all, None, step));
        }
        for step in [SeriesStep::Hour, SeriesStep::Day] {
            for key in 1..3 {
                let found = processes[1].series(Some(key), step, from..TODAY + 1).expect("a series");
                prop_assert_eq!(found, expected(&all, Some(key), step));
            }
        }
        let unknown = processes[0].series(Some(0), SeriesStep::Hour, from..TODAY + 1);
        prop_assert_eq!(unknown.expect("a series"), Vec::new());
    }
}

#[test]
fn steps_are_removed_when_their_time_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = open(&folder);
    let asked = [new(TODAY, 1, "search", 200, (1, 10))];
    state
        .record_requests(&asked, instant(TODAY))
        .expect("recorded");
    let day = SeriesStep::Day.minutes();
    let count = |key, step| {
        state
            .series(key, step, TODAY..TODAY + day)
            .expect("a series")
            .len()
    };
    for (days, minutes, hours, of_key) in
        [(2, 1, 1, 1), (3, 0, 1, 1), (31, 0, 1, 0), (401, 0, 0, 0)]
    {
        state
            .record_requests(&[], instant(TODAY + days * day))
            .expect("recorded");
        assert_eq!(count(None, SeriesStep::Minute), minutes, "{days}");
        assert_eq!(count(None, SeriesStep::Hour), hours, "{days}");
        assert_eq!(count(None, SeriesStep::Day), hours, "{days}");
        assert_eq!(count(Some(1), SeriesStep::Hour), of_key, "{days}");
        assert_eq!(count(Some(1), SeriesStep::Day), hours, "{days}");
    }
}

#[test]
fn damaged_times_are_told_and_counting_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = open(&folder);
    let asked = [new(TODAY, 1, "search", 200, (2, 10))];
    state
        .record_requests(&asked, instant(TODAY))
        .expect("recorded");
    let damaged =
        state.with(|connection| Ok(connection.execute("UPDATE series SET times = x'0900'", [])?));
    assert_eq!(damaged.expect("damaged"), 3);
    assert!(
        state
            .series(None, SeriesStep::Hour, TODAY..TODAY + 1)
            .is_err()
    );
    state
        .record_requests(&asked, instant(TODAY))
        .expect("recorded");
    let lines = state.series(None, SeriesStep::Hour, TODAY..TODAY + 1);
    assert_eq!(lines.expect("a series")[0].figures.requests, 4);
}

/// The formula of docs/operators.md: an upper bound of the bytes of all series.
fn bytes_max(endpoints: u64, keys: u64, endpoints_of_key: u64, buckets: u64) -> u64 {
    let rows = 12_880 * endpoints + 1_120 * keys * endpoints_of_key;
    rows * (70 + 4 * buckets)
}

/// The bytes of the tables after 400 days without a pause.
fn bytes_after_400_days(keys: i64, buckets: u64) -> u64 {
    let folder = tempfile::tempdir().expect("a folder");
    let state = open(&folder);
    state
        .with(|connection| Ok(connection.pragma_update(None, "synchronous", "OFF")?))
        .expect("faster");
    let empty = bytes_of(&state);
    let day = SeriesStep::Day.minutes();
    for hour in 0..400 * 24 {
        let now = TODAY + hour * 60;
        let is_by_minute = hour >= 398 * 24;
        let is_by_hour = hour >= 370 * 24;
        let minutes = now..now + if is_by_minute { 60 } else { 1 };
        let keys = if is_by_hour || now % day == 0 {
            keys
        } else {
            1
        };
        let mut asked = Vec::new();
        for key in 1..=keys {
            for minute in minutes.clone().take(if key == 1 { 60 } else { 1 }) {
                let mut new = new(minute, key, "search", 200, (0, 1));
                for bucket in 0..buckets {
                    new.requests += 1;
                    new.times
                        .add(Duration::from_micros(100 + 40 * bucket * bucket));
                }
                asked.push(new);
            }
        }
        state
            .record_requests(&asked, instant(now))
            .expect("recorded");
    }
    bytes_of(&state) - empty
}

fn bytes_of(state: &State) -> u64 {
    state
        .with(|connection| {
            connection.pragma_update(None, "wal_checkpoint", "TRUNCATE")?;
            let sql = "SELECT (page_count - freelist_count) * page_size \
                       FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
            Ok(connection.query_row(sql, [], |row| number(row, 0))?)
        })
        .expect("bytes")
}

#[test]
fn series_take_at_most_the_bytes_of_the_guide() {
    for (keys, buckets) in [(5, 1), (5, 20)] {
        let (bytes, bound) = (
            bytes_after_400_days(keys, buckets),
            bytes_max(1, keys.cast_unsigned(), 1, buckets),
        );
        println!("{keys} keys, {buckets} buckets: {bytes} of {bound}");
        assert!(bytes <= bound, "{keys} {buckets}: {bytes} of {bound}");
        assert!(bytes > bound / 4, "{keys} {buckets}: {bytes} of {bound}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn series_of_1_000_keys_take_at_most_the_bytes_of_the_guide() {
    let (bytes, bound) = (bytes_after_400_days(1_000, 20), bytes_max(1, 1_000, 1, 20));
    println!("{bytes} of {bound}");
    assert!((bound / 4..=bound).contains(&bytes), "{bytes} of {bound}");
}
