//! Pages of keys against a plain loop over all keys.

use std::cmp::Ordering;

use proptest::prelude::*;
use rusqlite::params;

use super::*;
use crate::keys::{NewKey, Scopes};

const NOW: i64 = 1_795_000_000;

fn now() -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(NOW).expect("an instant")
}

/// A key with what a table of keys may be sorted by.
#[derive(Clone, Debug)]
struct Known {
    name: String,
    rate: u32,
    signals_only: bool,
    ends_in: Option<i64>,
    is_revoked: bool,
    counts: Option<Counts>,
}

fn known() -> impl Strategy<Value = Known> {
    (
        "[aBÄß][ ü%_']{0,2}",
        1..4_u32,
        any::<bool>(),
        prop::option::of(-2..3_i64),
        any::<bool>(),
        prop::option::of(prop::array::uniform4(0..3_u64)),
    )
        .prop_map(
            |(name, rate, signals_only, ends_in, is_revoked, counts)| Known {
                name,
                rate,
                signals_only,
                ends_in,
                is_revoked,
                counts,
            },
        )
}

fn state_of(keys: &[Known], folder: &std::path::Path) -> (State, Vec<(KeyRecord, Counts)>) {
    let state = State::open(folder.join("state.db")).expect("a state");
    for known in keys {
        let end = known.ends_in.map(|seconds| NOW + seconds);
        let new = NewKey {
            rate: known.rate,
            scopes: Scopes::parse(if known.signals_only {
                "signals:read"
            } else {
                "signals:read,companies:read"
            })
            .expect("scopes"),
            expires_at: end.map(|end| UtcDateTime::from_unix_timestamp(end).expect("an instant")),
            ..NewKey::named(known.name.clone())
        };
        let (record, _) = state.create_key(&new).expect("a key");
        if known.is_revoked {
            state.revoke_key(&record.id).expect("revoked");
        }
        let Some([signals, activities, companies, free]) = known.counts else {
            continue;
        };
        let month = Month::of(now());
        let lines = [(month, 1), (month.before(), 7)];
        for (month, factor) in lines {
            let added = state.with(|connection| {
                let sql = "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let month = month.number();
                let line = params![
                    record.number,
                    month,
                    signals * factor,
                    activities,
                    companies,
                    free
                ];
                Ok(connection.execute(sql, line)?)
            });
            added.expect("usage");
        }
    }
    let records = state.keys().expect("keys").into_iter();
    let counts = keys.iter().map(|known| known.counts.unwrap_or_default());
    let all = records.zip(counts).collect();
    (state, all)
}

/// All wanted keys in order.
fn expected(keys: &[(KeyRecord, Counts)], wanted: &KeysWanted<'_>) -> Vec<String> {
    let find = wanted.find.to_lowercase();
    let is_wanted = |key: &KeyRecord| {
        let hint = key.hint.clone().unwrap_or_default();
        let texts = [&key.settings.name, &key.id, &hint];
        let has = texts.iter().any(|text| text.to_lowercase().contains(&find));
        let status = KeyStatus::of(key, wanted.now);
        has && wanted.status.is_none_or(|known| known == status)
    };
    let mut keys: Vec<_> = keys.iter().filter(|(key, _)| is_wanted(key)).collect();
    keys.sort_by(|one, other| {
        let order = compare(one, other, wanted).then(other.0.number.cmp(&one.0.number));
        if wanted.is_descending {
            order.reverse()
        } else {
            order
        }
    });
    keys.iter().map(|(key, _)| key.id.clone()).collect()
}

fn compare(
    (one, used): &(KeyRecord, Counts),
    (other, of_other): &(KeyRecord, Counts),
    wanted: &KeysWanted<'_>,
) -> Ordering {
    let (a, b) = (&one.settings, &other.settings);
    let end = |key: &KeyRecord| {
        let end = key.revoked_at.or(key.settings.expires_at);
        (end.is_none(), end)
    };
    match wanted.sort {
        "name" => a.name.to_lowercase().cmp(&b.name.to_lowercase()),
        "scopes" => a.scopes.to_string().cmp(&b.scopes.to_string()),
        "rate" => a.rate.cmp(&b.rate),
        "created" => one.created_at.cmp(&other.created_at),
        "end" => end(one).cmp(&end(other)),
        sort => match Counter::ALL.iter().find(|counter| counter.as_str() == sort) {
            Some(counter) => used[counter.index()].cmp(&of_other[counter.index()]),
            None => KeyStatus::of(one, wanted.now).cmp(&KeyStatus::of(other, wanted.now)),
        },
    }
}

const SORTS: [&str; 11] = [
    "",
    "name",
    "status",
    "scopes",
    "rate",
    "created",
    "end",
    "signals",
    "activities",
    "companies",
    "freeAnswers",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_are_those_of_a_plain_loop(
        keys in prop::collection::vec(known(), 0..12),
        find in prop_oneof![Just(String::new()), "[abäÜß%_']", Just("key_".to_owned()), Just("SDX_".to_owned())],
        status in prop::option::of(prop::sample::select(KeyStatus::ALL.to_vec())),
        is_descending: bool,
        rows in 1..5_u64,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, all) = state_of(&keys, folder.path());
        for sort in SORTS {
            let wanted = |page| KeysWanted { status, find: &find, sort, is_descending, page, rows, now: now() };
            let expected = expected(&all, &wanted(1));
            let mut found = Vec::new();
            let pages = (expected.len() as u64).div_ceil(rows).max(1);
            for number in 1..=pages {
                let page = state.key_page(&wanted(number)).expect("a page");
                prop_assert_eq!((page.page, page.wanted, page.all), (number, expected.len() as u64, all.len() as u64));
                for (key, counts) in page.keys {
                    let known = all.iter().find(|(known, _)| known.id == key.id);
                    prop_assert_eq!(known.map(|(_, counts)| *counts), Some(counts));
                    found.push(key.id);
                }
            }
            prop_assert_eq!(&found, &expected, "{}", sort);
            let last = state.key_page(&wanted(u64::MAX)).expect("a page");
            prop_assert_eq!(last.page, pages);
            prop_assert_eq!(state.key_page(&wanted(0)).expect("a page").page, 1);
        }
    }
}

#[test]
fn the_trial_key_of_this_process_is_active() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = State::open(folder.path().join("state.db")).expect("a state");
    state.create_trial_key().expect("a key");
    let wanted = KeysWanted {
        status: Some(KeyStatus::Active),
        find: "",
        sort: "",
        is_descending: false,
        page: 1,
        rows: 10,
        now: now(),
    };
    let page = state.key_page(&wanted).expect("a page");
    assert!(
        page.keys
            .iter()
            .any(|(key, _)| key.is_trial() && key.revoked_at.is_none())
    );
}
