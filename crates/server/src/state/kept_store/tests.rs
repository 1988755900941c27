//! White-box tests of `state/kept_store.rs`.

use proptest::prelude::*;

use super::*;
use crate::keys::NewKey;
use crate::state::NewReplay;

const NOW: i64 = 1_800_000_000;
const LIMITS: KeptLimits = KeptLimits {
    bytes_per_key: u64::MAX,
    bytes: u64::MAX,
};

/// Two keys, with the numbers 1 and 2.
fn state() -> (tempfile::TempDir, State) {
    let directory = tempfile::tempdir().expect("a directory");
    let state = State::open(directory.path().join("state.db")).expect("a state");
    for name in ["one", "two"] {
        state.create_key(&NewKey::named(name)).expect("a key");
    }
    (directory, state)
}

fn in_batch<T>(
    state: &State,
    limits: KeptLimits,
    now: i64,
    run: impl FnOnce(&Connection, &mut KeptBatch<'_>) -> rusqlite::Result<T>,
) -> T {
    let result = state.with(|connection| {
        let mut kept = KeptBatch::new(connection, limits, now);
        let result = run(connection, &mut kept)?;
        kept.write()?;
        Ok(result)
    });
    result.expect("a state")
}

/// Keeps an answer of incompressible bytes. Returns its counted bytes.
fn keep(state: &State, key: i64, number: usize, size: usize, at: i64) -> u64 {
    let body: Vec<u8> = (0..size)
        .map(|byte| (byte * byte.rotate_left(7) % 251) as u8)
        .collect();
    let name = format!("name-{number:04}");
    let answer = NewReplay::compress(name, [7; 32], "tag".to_owned(), &body).expect("compressed");
    in_batch(state, LIMITS, at, |connection, kept| {
        assert!(answer.insert(connection, kept, key, at)?);
        Ok(answer.bytes())
    })
}

fn remove(state: &State, removal: Removal, now: i64) -> bool {
    in_batch(state, LIMITS, now, |connection, kept| {
        remove_expired(connection, kept, now, removal)
    })
}

fn count(state: &State) -> usize {
    let count = state.with(|connection| {
        let sql = "SELECT count(*) FROM replays";
        Ok(connection.query_row(sql, [], |row| row.get(0))?)
    });
    count.expect("a count")
}

/// The totals of both keys and of all, as counted, and as the rows say.
fn totals(state: &State) -> ([i64; 3], [i64; 3]) {
    let totals = state.with(|connection| {
        let counted = [1, 2, ALL_KEYS].map(|key| total(connection, key));
        let sql = "SELECT coalesce(sum(bytes), 0) FROM replays WHERE ?1 IN (key, 0)";
        let stored = [1, 2, ALL_KEYS].map(|key| connection.query_row(sql, [key], |row| row.get(0)));
        let ok = |total: rusqlite::Result<i64>| total.expect("a total");
        Ok((counted.map(ok), stored.map(ok)))
    });
    totals.expect("a state")
}

const EVERYTHING: Removal = Removal {
    count_max: 1000,
    bytes_max: u64::MAX,
};

#[test]
fn a_removal_is_bounded_in_answers_and_bytes() {
    let (_directory, state) = state();
    for number in 0..20 {
        keep(
            &state,
            1,
            number,
            100_000,
            NOW - LIFETIME_SECONDS - 20 + number as i64,
        );
    }
    let removed = |count_max, bytes_max| {
        let before = count(&state);
        let removal = Removal {
            count_max,
            bytes_max,
        };
        let are_more = remove(&state, removal, NOW);
        (before - count(&state), are_more)
    };
    assert_eq!(removed(3, u64::MAX), (3, true));
    assert_eq!(removed(20, 1), (1, true), "always one");
    assert_eq!(removed(20, u64::MAX), (16, false));
}

#[test]
fn what_has_not_expired_is_not_removed() {
    let (_directory, state) = state();
    keep(&state, 1, 0, 10, NOW - LIFETIME_SECONDS);
    keep(&state, 1, 1, 10, NOW - LIFETIME_SECONDS + 1);
    assert!(!remove(&state, EVERYTHING, NOW));
    assert_eq!(count(&state), 1);
    assert!(!remove(&state, EVERYTHING, NOW));
    assert_eq!(count(&state), 1);
}

#[test]
fn room_ends_at_each_bound_and_says_when_there_is_more() {
    let (_directory, state) = state();
    let hour = NOW - NOW % HOUR_SECONDS;
    let bytes = keep(&state, 1, 0, 1000, hour + 60) + keep(&state, 1, 1, 1000, hour + 7200);
    let check =
        |limits, key, added, now| in_batch(&state, limits, now, |_, kept| kept.check(key, added));
    let full = |is_of_all, retry_after_seconds| {
        Err(KeptFull {
            is_of_all,
            retry_after_seconds,
        })
    };
    let of_key = KeptLimits {
        bytes_per_key: bytes + 10,
        ..LIMITS
    };
    let now = hour + 7300;
    let retry_after = (LIFETIME_SECONDS + HOUR_SECONDS - 7300).unsigned_abs();
    assert_eq!(check(of_key, 1, 10, now), Ok(()));
    assert_eq!(check(of_key, 1, 11, now), full(false, retry_after));
    assert_eq!(check(of_key, 2, 11, now), Ok(()));
    let of_all = KeptLimits {
        bytes: bytes + 10,
        ..LIMITS
    };
    assert_eq!(check(of_all, 2, 10, now), Ok(()));
    assert_eq!(check(of_all, 2, 11, now), full(true, retry_after));
    // After that time the first answer has expired, and its room is free.
    let then = now + retry_after.cast_signed();
    assert!(!remove(&state, EVERYTHING, then));
    assert_eq!(check(of_all, 2, 11, then), Ok(()));
    assert_eq!(check(of_key, 1, 11, then), Ok(()));
}

/// What the guide for operators says about the disk.
#[test]
fn a_file_takes_at_most_twice_the_bytes_that_are_counted() {
    // The second fills a page of SQLite by half and a little more.
    for size in [300, 1950, 5000] {
        let (_directory, state) = state();
        let mut random = 45_u64;
        let mut body = vec![0; size];
        in_batch(&state, LIMITS, NOW, |connection, kept| {
            let transaction = connection.unchecked_transaction()?;
            for number in 0..2000 {
                body.fill_with(|| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (random >> 56) as u8
                });
                let name = format!("order-{number:09}");
                let answer = NewReplay::compress(name, [7; 32], "tag".to_owned(), &body);
                let answer = answer.expect("compressed");
                assert!(answer.insert(connection, kept, 1, NOW)?);
            }
            transaction.commit()
        });
        let bytes: u64 = in_batch(&state, LIMITS, NOW, |connection, _| {
            let pages: u64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
            Ok(pages * 4096)
        });
        let counted = state.kept_bytes().expect("a state");
        let ratio = bytes as f64 / counted as f64;
        assert!((0.8..2.0).contains(&ratio), "{size}: {ratio}");
    }
}

#[test]
fn changes_of_a_batch_count_before_they_are_written() {
    let (_directory, state) = state();
    let limits = KeptLimits {
        bytes_per_key: 100,
        bytes: 150,
    };
    in_batch(&state, limits, NOW, |_, kept| {
        kept.add(1, NOW, 60);
        assert_eq!(kept.check(1, 40)?, Ok(()));
        assert!(kept.check(1, 41)?.is_err());
        kept.add(2, NOW, 90);
        assert!(kept.check(1, 1)?.is_err_and(|full| full.is_of_all));
        kept.subtract(2, NOW, 1);
        assert_eq!(kept.check(1, 1)?, Ok(()));
        Ok(())
    });
    assert_eq!(state.kept_bytes().expect("a state"), 149);
}

/// A step of a history: an answer of a key and a name with a number of bytes, after some seconds.
type Step = (i64, usize, usize, i64);

proptest! {
    // Each step is a commit with an fsync.
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is kept, overwritten after it has expired, and removed: the totals are those of the rows, and
    /// nothing is left of a total whose rows are gone.
    #[test]
    fn totals_are_those_of_the_rows(
        steps in prop::collection::vec((1..3_i64, 0..12_usize, 0..2000_usize, 0..20_000_i64), 1..40),
        removed in 1..5_usize,
    ) {
        let (_directory, state) = state();
        let mut now = NOW;
        for (key, number, size, seconds) in steps as Vec<Step> {
            now += seconds;
            let name = format!("name-{number:04}");
            let answer = NewReplay::compress(name, [7; 32], String::new(), &vec![9; size]);
            let answer = answer.expect("compressed");
            in_batch(&state, LIMITS, now, |connection, kept| {
                if size % 3 == 0 {
                    let removal = Removal { count_max: removed, bytes_max: 1000 };
                    remove_expired(connection, kept, now, removal)?;
                }
                answer.insert(connection, kept, key, now)
            });
            let (counted, stored) = totals(&state);
            prop_assert_eq!(counted, stored);
        }
        remove(&state, EVERYTHING, now + LIFETIME_SECONDS);
        prop_assert_eq!(totals(&state), ([0; 3], [0; 3]));
        let rows = state.with(|connection| {
            let sql = "SELECT count(*) FROM kept_bytes";
            Ok(connection.query_row(sql, [], |row| row.get::<_, u64>(0))?)
        });
        prop_assert_eq!(rows.expect("a count"), 0);
    }
}
