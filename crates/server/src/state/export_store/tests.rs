//! White-box tests of `state/export_store.rs`.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;

use super::*;
use crate::keys::NewKey;
use crate::state::KeptLimits;
use crate::state::kept_store::{Removal, remove_expired};

const NOW: i64 = 1_800_000_000;
const LIMITS: KeptLimits = KeptLimits {
    bytes_per_key: u64::MAX,
    bytes: u64::MAX,
};

struct Fixture {
    state: State,
    _directory: tempfile::TempDir,
}

fn named(name: &str) -> ExportName {
    ExportName {
        key: 1,
        name: name.to_owned(),
        parameters: [7; 32],
    }
}

fn ids(ids: &[u64]) -> Vec<SignalId> {
    let id = |id: &u64| SignalId::new(*id).expect("an id");
    ids.iter().map(id).collect()
}

impl Fixture {
    fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        state.create_key(&NewKey::named("test")).expect("a key");
        Fixture {
            state,
            _directory: directory,
        }
    }

    /// Pays for the signals of an export, and says how many were charged.
    fn pay(&self, name: &str, signals: &[u64], now: i64) -> Result<u64, ChargeError> {
        self.pay_within(LIMITS, name, signals, now)
    }

    fn pay_within(
        &self,
        limits: KeptLimits,
        name: &str,
        signals: &[u64],
        now: i64,
    ) -> Result<u64, ChargeError> {
        let charge = ExportCharge {
            name: named(name),
            ids: ids(signals),
        };
        let paid = self.state.with(|connection| {
            let mut kept = KeptBatch::new(connection, limits, now);
            let unpaid = match charge.unpaid(connection, now)? {
                Ok(unpaid) => unpaid,
                Err(error) => return Ok(Err(error)),
            };
            let paid = charge.pay(connection, &mut kept, &unpaid, now)?;
            kept.write()?;
            Ok(paid.map(|()| unpaid.len() as u64))
        });
        paid.expect("a state")
    }

    fn unpaid(&self, name: &str, signals: &[u64], now: i64) -> u64 {
        let unpaid = self.state.unpaid(&named(name), &ids(signals), now);
        unpaid.expect("a state")
    }

    fn remove(&self, count_max: usize, now: i64) {
        let removal = Removal {
            count_max,
            bytes_max: u64::MAX,
        };
        let removed = self.state.with(|connection| {
            let mut kept = KeptBatch::new(connection, LIMITS, now);
            remove_expired(connection, &mut kept, now, removal)?;
            Ok(kept.write()?)
        });
        removed.expect("removed");
    }

    fn rows(&self) -> u64 {
        let rows = self.state.with(|connection| {
            let sql = "SELECT count(*) FROM export_slices";
            Ok(connection.query_row(sql, [], |row| row.get(0))?)
        });
        rows.expect("a count")
    }
}

#[test]
fn ids_between_paid_ones_are_not_paid() {
    let fixture = Fixture::new();
    assert_eq!(fixture.pay("an export", &[1, 1_000_000], NOW), Ok(2));
    let between: Vec<u64> = (1..=500).map(|number| 1000 * number).collect();
    assert_eq!(fixture.unpaid("an export", &between, NOW), 500);
    assert_eq!(fixture.pay("an export", &between, NOW), Ok(500));
    assert_eq!(fixture.pay("an export", &between, NOW), Ok(0));
    assert_eq!(fixture.pay("an export", &[1_000_000, 1], NOW), Ok(0));
    assert_eq!(fixture.rows(), 2, "a row a slice that charges");
}

#[test]
fn each_slice_expires_a_day_after_its_charge() {
    const DAY: i64 = LIFETIME_SECONDS;
    let fixture = Fixture::new();
    assert_eq!(fixture.pay("an export", &[90, 80], NOW), Ok(2));
    assert_eq!(fixture.pay("an export", &[70], NOW + 100), Ok(1));
    // What is free already is not paid for longer.
    let later = NOW + DAY - 1;
    assert_eq!(fixture.pay("an export", &[90, 80, 70], later), Ok(0));
    assert_eq!(fixture.unpaid("an export", &[90, 80, 70], NOW + DAY), 2);
    assert_eq!(fixture.pay("an export", &[90, 70], NOW + DAY), Ok(1));
    assert_eq!(
        fixture.pay("an export", &[90, 80, 70], NOW + DAY + 100),
        Ok(2)
    );
}

#[test]
fn a_name_of_another_request_is_refused() {
    let fixture = Fixture::new();
    let answer = NewReplay::compress("an export".into(), [8; 32], "tag".into(), b"an answer");
    let answer = answer.expect("compressed");
    let stored = fixture.state.with(|connection| {
        let mut kept = KeptBatch::new(connection, LIMITS, NOW);
        Ok(answer.insert(connection, &mut kept, 1, NOW)?)
    });
    assert!(stored.expect("a state"));
    let refused = fixture.pay("an export", &[5], NOW);
    assert_eq!(refused, Err(ChargeError::NameTaken));
    let expired = NOW + LIFETIME_SECONDS;
    assert_eq!(fixture.pay("an export", &[5], expired), Ok(1));
}

#[test]
fn a_slice_that_has_no_room_is_not_stored() {
    let fixture = Fixture::new();
    let signals = [10_000, 300, 7];
    // Deltas of one byte to 127, of two to 16,383.
    let bytes = row_bytes(4, "an export");
    let limits = |bytes_per_key| KeptLimits {
        bytes_per_key,
        ..LIMITS
    };
    let refused = fixture.pay_within(limits(bytes - 1), "an export", &signals, NOW);
    assert!(
        matches!(refused, Err(ChargeError::KeptFull(_))),
        "{refused:?}"
    );
    assert_eq!(
        (fixture.rows(), fixture.unpaid("an export", &signals, NOW)),
        (0, 3)
    );
    assert_eq!(
        fixture.pay_within(limits(bytes), "an export", &signals, NOW),
        Ok(3)
    );
    assert_eq!(fixture.state.kept_bytes().expect("a state"), bytes);
    // Nothing more is stored for what is free.
    assert_eq!(
        fixture.pay_within(limits(bytes), "an export", &signals, NOW),
        Ok(0)
    );
    fixture.remove(10, NOW + LIFETIME_SECONDS);
    assert_eq!(fixture.state.kept_bytes().expect("a state"), 0);
}

#[test]
fn a_slice_reads_few_rows_of_a_long_export() {
    let fixture = Fixture::new();
    for number in 0..300_u64 {
        let slice: Vec<u64> = (0..10)
            .map(|signal| 1000 * number + 90 * signal)
            .map(|id| id + 1)
            .collect();
        assert_eq!(fixture.pay("an export", &slice, NOW), Ok(10));
    }
    let read = fixture.state.with(|connection| {
        let digest = named("an export").digest();
        assert_eq!(magnitudes(connection, &digest)?, [10]);
        let sql = "SELECT count(*) FROM export_slices WHERE export = ?1 AND magnitude = 10 \
                   AND newest BETWEEN ?2 AND ?3";
        // As for a slice from 150,000 to 150,999: what overlaps it, and what is less than 2^10 newer.
        let (oldest, reach) = (stored(150_000), stored(150_999 + extent_max(10)));
        Ok(
            connection.query_row(sql, params![digest, oldest, reach], |row| {
                row.get::<_, u64>(0)
            })?,
        )
    });
    assert!(read.expect("a count") <= 2);
}

#[test]
fn ids_are_stored_in_order_and_come_back() {
    for id in [
        1,
        2,
        u64::from(u32::MAX),
        i64::MAX.unsigned_abs(),
        1 << 63,
        9_999_999_999_999_999_999,
    ] {
        assert_eq!(loaded(stored(id)), id);
        assert!(stored(id - 1) < stored(id));
    }
    assert_eq!(
        (extent_max(0), extent_max(1), extent_max(64)),
        (0, 1, u64::MAX)
    );
    let whole = Slice::of(&[1, 9_999_999_999_999_999_999]).expect("a row");
    assert_eq!(whole.magnitude(), 64);
    assert_eq!(whole.ids().expect("ids"), [1, 9_999_999_999_999_999_999]);
    assert_eq!(Slice::of(&[5]).expect("a row").magnitude(), 0);
    let damaged = Slice {
        newest: 6,
        ..Slice::of(&[5, 7]).expect("a row")
    };
    assert_eq!(damaged.ids(), None);
    let damaged = Slice {
        deltas: vec![0x80],
        ..Slice::of(&[5, 7]).expect("a row")
    };
    assert_eq!(damaged.ids(), None);
}

/// Ids of different density, so that rows of all magnitudes overlap.
fn id() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..60_u64,
        1..5000_u64,
        (1..5000_u64).prop_map(|number| number << 40),
        9_999_999_999_999_999_900..=9_999_999_999_999_999_999_u64,
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Pay { name: usize, ids: Vec<u64> },
    Wait(i64),
    Remove(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let slice = prop::collection::hash_set(id(), 1..30);
    prop_oneof![
        6 => (0..2_usize, slice).prop_map(|(name, ids)| Step::Pay {
            name,
            ids: ids.into_iter().collect(),
        }),
        1 => (0..30_000_i64).prop_map(Step::Wait),
        1 => (0..5_usize).prop_map(Step::Remove),
    ]
}

proptest! {
    // Each step is a commit with an fsync.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The ids that are free are those that were charged within 24 hours, in whatever slices.
    #[test]
    fn free_are_exactly_the_ids_that_were_charged(steps in prop::collection::vec(step(), 1..60)) {
        const NAMES: [&str; 2] = ["an export", "another"];
        let fixture = Fixture::new();
        let mut now = NOW;
        let mut model: [HashMap<u64, i64>; 2] = Default::default();
        for step in steps {
            match step {
                Step::Wait(seconds) => now += seconds,
                Step::Remove(count) => fixture.remove(count, now),
                Step::Pay { name, ids } => {
                    let paid = &mut model[name];
                    let is_free = |id: &u64| {
                        paid.get(id).is_some_and(|at| now < at + LIFETIME_SECONDS)
                    };
                    let due: Vec<u64> = ids.iter().copied().filter(|id| !is_free(id)).collect();
                    let units = due.len() as u64;
                    prop_assert_eq!(fixture.unpaid(NAMES[name], &ids, now), units);
                    prop_assert_eq!(fixture.pay(NAMES[name], &ids, now), Ok(units));
                    paid.extend(due.into_iter().map(|id| (id, now)));
                }
            }
        }
        let all: BTreeMap<u64, i64> = model.iter().flatten().map(|(id, at)| (*id, *at)).collect();
        let all: Vec<u64> = all.into_keys().collect();
        for (name, paid) in NAMES.iter().zip(&model) {
            let due = all.iter().filter(|id| {
                paid.get(id).is_none_or(|at| now >= at + LIFETIME_SECONDS)
            });
            prop_assert_eq!(fixture.unpaid(name, &all, now), due.count() as u64);
        }
        // Nothing is left once everything has expired.
        fixture.remove(1000, now + LIFETIME_SECONDS);
        prop_assert_eq!(fixture.rows(), 0);
        prop_assert_eq!(fixture.state.kept_bytes().expect("a state"), 0);
    }
}
