//! When alerts of quotas are told: once a part, again after the quota was raised.

use super::*;
use crate::keys::{KeyRecord, NewKey};
use crate::metering::Quotas;
use crate::state::CountedBy;

const NOW: i64 = 1_795_000_000;
const MONTH_LATER: i64 = NOW + 31 * 24 * 60 * 60;

fn instant(seconds: i64) -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(seconds).expect("an instant")
}

fn key_with(state: &State, quotas: Quotas) -> KeyRecord {
    let new = NewKey {
        quotas,
        ..NewKey::named("shop")
    };
    state.create_key(&new).expect("a key").0
}

fn of_signals(quota: u64) -> Quotas {
    Quotas {
        signals: Some(quota),
        ..Quotas::default()
    }
}

/// The alerts that follow once a key has used a number of signals in a month.
fn alerts(state: &State, key: &KeyRecord, used: u64, at: i64) -> Vec<(Counter, u64, u64)> {
    let month = Month::of(instant(at)).number();
    state
        .with(|connection| {
            let sql = "INSERT OR REPLACE INTO usage VALUES (?1, ?2, ?3, 0, 0, ?3)";
            Ok(connection.execute(sql, params![key.number, month, Number(used)])?)
        })
        .expect("used");
    let new = NewRequests {
        requests: 1,
        last_at: at,
        ..NewRequests::none(CountedBy {
            minute: at.div_euclid(60),
            key: key.number,
            endpoint: "search",
            status: 200,
        })
    };
    let alerts = state.record_requests(&[new], instant(at));
    let alerts = alerts.expect("recorded").into_iter();
    alerts
        .map(|alert| (alert.counter, alert.percent, alert.used))
        .collect()
}

fn open(folder: &tempfile::TempDir) -> State {
    State::open(folder.path().join("state.db")).expect("a state")
}

#[test]
fn each_part_is_told_once_over_all_processes_and_again_next_month() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (open(&folder), open(&folder));
    let key = key_with(&one, of_signals(10));
    for (state, used, told) in [
        (&one, 7, None),
        (&one, 8, Some(80)),
        (&other, 9, None),
        (&other, 10, Some(100)),
        (&one, 10, None),
    ] {
        let told: Vec<_> = told
            .into_iter()
            .map(|percent| (Counter::Signals, percent, used))
            .collect();
        assert_eq!(alerts(state, &key, used, NOW), told, "{used}");
    }
    let whole = vec![(Counter::Signals, 100, 12)];
    assert_eq!(alerts(&one, &key, 12, MONTH_LATER), whole);
    assert_eq!(alerts(&one, &key, 12, MONTH_LATER), vec![]);
}

#[test]
fn a_raised_quota_is_told_again_and_a_lowered_one_at_its_next_part() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = open(&folder);
    let key = key_with(&state, of_signals(10));
    assert_eq!(alerts(&state, &key, 8, NOW).len(), 1);
    let set = |quota: Option<u64>| {
        let edited = state.edit_key(&key.id, |settings| settings.quotas.signals = quota);
        edited.expect("edited").expect("the key");
    };
    set(Some(9));
    assert_eq!(alerts(&state, &key, 8, NOW), vec![]);
    set(Some(8));
    assert_eq!(alerts(&state, &key, 8, NOW), [(Counter::Signals, 100, 8)]);
    set(Some(100));
    assert_eq!(alerts(&state, &key, 9, NOW), vec![]);
    assert_eq!(alerts(&state, &key, 80, NOW), [(Counter::Signals, 80, 80)]);
    set(None);
    assert_eq!(alerts(&state, &key, 1000, NOW), vec![]);
}

#[test]
fn counters_are_apart_and_a_quota_of_nothing_is_no_news() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = open(&folder);
    let quotas = Quotas {
        signals: Some(0),
        companies: Some(0),
        free_answers: Some(5),
        ..Quotas::default()
    };
    let key = key_with(&state, quotas);
    let told = [(Counter::FreeAnswers, 100, 5)];
    assert_eq!(alerts(&state, &key, 5, NOW), told);
    let (reached, all) = state.reached_quotas(instant(NOW), 10).expect("alerts");
    assert_eq!((reached.len(), all), (1, 1));
    state.revoke_key(&key.id).expect("revoked");
    let (reached, all) = state.reached_quotas(instant(NOW), 10).expect("alerts");
    assert_eq!((reached.len(), all), (0, 0));
}

#[test]
fn parts_are_reached_exactly() {
    for (used, quota, percent) in [
        (79, 100, None),
        (80, 100, Some(80)),
        (99, 100, Some(80)),
        (100, 100, Some(100)),
        (u64::MAX, u64::MAX, Some(100)),
        (0, 0, None),
        (1, 1, Some(100)),
        (4, 5, Some(80)),
    ] {
        assert_eq!(percent_reached(used, quota), percent, "{used} of {quota}");
    }
}
