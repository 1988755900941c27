//! Totals and pages of usage against plain loops over all lines.

use proptest::prelude::*;
use time::UtcDateTime;

use super::*;
use crate::keys::NewKey;
use crate::state::{CountedBy, NewRequests};

const NOW: i64 = 1_795_000_000;
const DAY: i64 = 24 * 60 * 60;
const KEYS: usize = 5;

/// Units of a key, some days ago.
#[derive(Clone, Debug)]
struct Used {
    key: usize,
    ago: i64,
    counter: Counter,
    units: u64,
    status: u16,
}

fn used() -> impl Strategy<Value = Used> {
    let counter = prop::sample::select(Counter::ALL.to_vec());
    let status = prop::sample::select(vec![200, 304, 404, 429, 500]);
    (0..KEYS, 0..70_i64, counter, 0..100_u64, status).prop_map(
        |(key, ago, counter, units, status)| Used {
            key,
            ago,
            counter,
            units,
            status,
        },
    )
}

fn instant(ago: i64) -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(NOW - ago * DAY).expect("an instant")
}

/// A state with keys, their numbers, and the usage in batches.
fn state_of(used: &[Used], folder: &std::path::Path) -> (State, Vec<i64>) {
    let state = State::open(folder.join("state.db")).expect("a state");
    let keys = (0..KEYS).map(|number| state.create_key(&NewKey::named(format!("key {number}"))));
    let keys: Vec<i64> = keys.map(|key| key.expect("a key").0.number).collect();
    for batch in used.chunks(3) {
        let written = state.with(|connection| {
            let change = state.begin(connection)?;
            let mut usage = UsageBatch::new(&change);
            for used in batch {
                let (key, at) = (keys[used.key], instant(used.ago));
                let (month, day) = (Month::of(at), at.date());
                usage.counts(key, month)?[used.counter.index()] += used.units;
                usage.add_to_day(key, (month, day), used.counter, used.units);
            }
            usage.write()?;
            Ok(change.commit()?)
        });
        written.expect("written");
        let requests: Vec<NewRequests> = batch.iter().map(|used| request(used, &keys)).collect();
        state
            .record_requests(&requests, instant(0))
            .expect("recorded");
    }
    (state, keys)
}

fn request(used: &Used, keys: &[i64]) -> NewRequests {
    let last_at = NOW - used.ago * DAY;
    NewRequests {
        requests: used.units,
        last_at,
        ..NewRequests::none(CountedBy {
            minute: last_at.div_euclid(60),
            key: keys[used.key],
            endpoint: if used.units.is_multiple_of(2) {
                "search"
            } else {
                "signal"
            },
            status: used.status,
        })
    }
}

fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.fold(Counts::default(), |sum, counts| {
        std::array::from_fn(|index| sum[index] + counts[index])
    })
}

/// The most used first, as the state orders equal ones.
fn top(mut lines: Vec<KeyUsage>, by: Counter, rows: usize) -> Vec<KeyUsage> {
    lines.sort_by_key(|line| {
        (
            std::cmp::Reverse(line.counts[by.index()]),
            line.name.clone(),
        )
    });
    lines.truncate(rows);
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn totals_are_the_sums_over_all_keys(used in prop::collection::vec(used(), 0..30), rows in 1..7_usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, keys) = state_of(&used, folder.path());
        let (months, days) = (state.usage(None).expect("usage"), state.usage_by_day(Date::MIN).expect("usage"));
        for ago in [0, 1, 31, 69] {
            let (month, day) = (Month::of(instant(ago)), instant(ago).date());
            let of_month: Vec<KeyUsage> = months.iter().filter(|line| line.month == month).map(|line| KeyUsage {
                key_id: line.key_id.clone(), name: line.name.clone(), counts: line.counts,
            }).collect();
            let of_day: Vec<KeyUsage> = days.iter().filter(|line| line.day == day).map(|line| KeyUsage {
                key_id: line.key_id.clone(), name: line.name.clone(), counts: line.counts,
            }).collect();
            prop_assert_eq!(state.month_total(month).expect("a total"), sum(of_month.iter().map(|line| line.counts)));
            prop_assert_eq!(state.day_total(day).expect("a total"), sum(of_day.iter().map(|line| line.counts)));
            prop_assert_eq!(state.keys_of_month(month).expect("a count"), of_month.len() as u64);
            prop_assert_eq!(state.keys_of_day(day).expect("a count"), of_day.len() as u64);
            for by in Counter::ALL {
                prop_assert_eq!(state.top_of_month(month, by, rows).expect("keys"), top(of_month.clone(), by, rows));
                prop_assert_eq!(state.top_of_day(day, by, rows).expect("keys"), top(of_day.clone(), by, rows));
            }
            let of_key = sum(of_day.iter().filter(|line| line.name == "key 2").map(|line| line.counts));
            prop_assert_eq!(state.day_counts(keys[2], day).expect("counts"), of_key);
        }
    }

    #[test]
    fn totals_of_requests_are_the_sums_over_all_keys(used in prop::collection::vec(used(), 0..30), rows in 1..7_usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, keys) = state_of(&used, folder.path());
        for ago in [0, 3, 69] {
            let from = instant(ago).date();
            let lines = state.requests(from).expect("requests");
            let total = |status: u16, key: Option<&str>| -> u64 {
                let lines = lines.iter().filter(|line| line.status == status);
                let lines = lines.filter(|line| key.is_none_or(|key| line.key.as_ref().is_some_and(|(_, name)| name == key)));
                lines.map(|line| line.requests).sum()
            };
            let all = state.request_totals(from).expect("totals");
            let own = state.requests_of(keys[1], from..=instant(0).date()).expect("totals");
            for status in [200, 304, 404, 429, 500] {
                let of = |totals: &[super::super::RequestTotal]| -> u64 {
                    let totals = totals.iter().filter(|total| total.status == status);
                    totals.map(|total| total.requests).sum()
                };
                prop_assert_eq!(of(&all), total(status, None));
                prop_assert_eq!(of(&own), total(status, Some("key 1")));
            }
            let today: Vec<_> = lines.iter().filter(|line| line.day == from).collect();
            let busiest = state.busiest_keys(from, rows).expect("keys");
            prop_assert!(busiest.is_sorted_by_key(|busy| std::cmp::Reverse(busy.requests)));
            for busy in &busiest {
                let own = today.iter().filter(|line| line.key == busy.key);
                let sum = |class: Option<u16>| -> u64 {
                    let lines = own.clone().filter(|line| class.is_none_or(|class| line.status / 100 == class));
                    lines.map(|line| line.requests).sum()
                };
                prop_assert_eq!((busy.requests, busy.refused, busy.failed), (sum(None), sum(Some(4)), sum(Some(5))));
            }
        }
    }
}
