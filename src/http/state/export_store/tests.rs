//! What an export has paid is not paid again, and expires.

use super::*;
use crate::http::keys::NewKey;
use crate::http::state::State;

const NOW: i64 = 1_800_000_000;
const HOUR: i64 = EXPIRY_STEP_SECONDS;

fn id(id: u64) -> SignalId {
    SignalId::new(id).expect("an id")
}

struct Fixture {
    state: State,
    _directory: tempfile::TempDir,
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
    fn pay(&self, after: Option<u64>, ids: &[u64], now: i64) -> Result<u64, ChargeError> {
        let charge = ExportCharge {
            name: "an export".to_owned(),
            parameters: [7; 32],
            after: after.map(id),
            ids: ids.iter().copied().map(id).collect(),
        };
        let paid = self.state.with(|connection| {
            let due = match charge.due(connection, 1, now)? {
                Ok(due) => due,
                Err(error) => return Ok(Err(error)),
            };
            charge.pay(connection, 1, now, &due)?;
            Ok(Ok(due.units))
        });
        paid.expect("a state")
    }

    fn ranges(&self, now: i64) -> Vec<RangeInclusive<u64>> {
        let stored = self.state.replay(1, "an export", now).expect("a state");
        let paid = stored.and_then(|stored| PaidRanges::of(&stored, now));
        let ranges = paid.expect("an export").ranges();
        let numbers = |range: RangeInclusive<SignalId>| range.start().get()..=range.end().get();
        ranges.into_iter().map(numbers).collect()
    }
}

#[test]
fn slices_that_follow_each_other_are_one_range() {
    let fixture = Fixture::new();
    assert_eq!(fixture.pay(None, &[90, 80, 70], NOW), Ok(3));
    assert_eq!(fixture.pay(Some(70), &[50, 40], NOW), Ok(2));
    assert_eq!(fixture.ranges(NOW), [40..=90]);
    // Resumed within it: 30 alone is new.
    assert_eq!(fixture.pay(Some(80), &[70, 50, 40, 30], NOW + 60), Ok(1));
    assert_eq!(fixture.ranges(NOW), [30..=90]);
}

#[test]
fn what_was_never_charged_is_not_paid() {
    let fixture = Fixture::new();
    // Begins after an id above all that there are, which must not make later signals free.
    assert_eq!(fixture.pay(Some(1_000_000), &[90, 80], NOW), Ok(2));
    assert_eq!(fixture.pay(None, &[95, 90, 80, 60], NOW), Ok(2));
    assert_eq!(fixture.pay(Some(30), &[20], NOW), Ok(1));
    assert_eq!(fixture.ranges(NOW), [60..=95, 20..=20]);
    assert_eq!(fixture.pay(Some(60), &[50, 20], NOW), Ok(1));
    assert_eq!(fixture.ranges(NOW), [20..=95]);
}

#[test]
fn each_range_expires_a_day_after_its_hour() {
    let fixture = Fixture::new();
    let start = NOW - NOW % HOUR;
    assert_eq!(fixture.pay(None, &[90, 80], start), Ok(2));
    assert_eq!(fixture.pay(Some(80), &[70], start + 20 * HOUR), Ok(1));
    let expiry = start + 25 * HOUR;
    assert_eq!(fixture.pay(None, &[90, 80, 70], expiry - 1), Ok(0));
    assert_eq!(fixture.pay(None, &[90, 80, 70], expiry), Ok(2));
}

#[test]
fn an_export_in_too_many_pieces_is_refused() {
    let fixture = Fixture::new();
    for piece in 0..RANGES_MAX as u64 {
        assert_eq!(fixture.pay(None, &[10 * piece + 5], NOW), Ok(1));
    }
    let further = fixture.pay(None, &[1_000_000], NOW);
    assert_eq!(further, Err(ChargeError::TooManyPieces));
    assert_eq!(fixture.pay(None, &[15], NOW), Ok(0));
}

#[test]
fn a_name_of_another_request_is_refused() {
    let fixture = Fixture::new();
    let answer = NewReplay::compress("an export".into(), [8; 32], "tag".into(), b"an answer");
    let answer = answer.expect("compressed");
    let kept = fixture
        .state
        .with(|connection| Ok(answer.insert(connection, 1, NOW)?));
    assert!(kept.expect("a state"));
    assert_eq!(fixture.pay(None, &[5], NOW), Err(ChargeError::NameTaken));
}
