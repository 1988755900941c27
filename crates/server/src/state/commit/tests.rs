//! White-box tests of `state/commit.rs`.

use super::*;
use crate::keys::NewKey;
use crate::state::{State, schema};

const NOW: i64 = 1_800_000_000;
const DAY: i64 = 24 * 60 * 60;

struct Fixture {
    committer: ChargeCommitter,
    state: State,
    _directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        state.create_key(&NewKey::named("test")).expect("a key");
        let committer = ChargeCommitter {
            turn: Turn::at(&state.path),
            connection: schema::open(&state.path).expect("a connection"),
            files: Arc::clone(&state.files),
            recorded: Arc::default(),
            kept: KeptLimits {
                bytes_per_key: u64::MAX,
                bytes: u64::MAX,
            },
            arrivals: Arrivals::default(),
            before_commit: Hook::default(),
        };
        Fixture {
            committer,
            state,
            _directory: directory,
        }
    }

    /// Commits charges together and says what became of each.
    fn commit(&mut self, charges: Vec<Charge>, now: i64) -> Vec<Option<ChargeOutcome>> {
        let slots = charges.into_iter().map(ChargeSlot::new).collect();
        self.commit_slots(slots, now)
    }

    fn commit_slots(&mut self, slots: Vec<ChargeSlot>, now: i64) -> Vec<Option<ChargeOutcome>> {
        let (batch, told): (Vec<_>, Vec<_>) = slots
            .into_iter()
            .map(|slot| {
                let (reply, told) = oneshot::channel();
                (QueuedCharge { slot, reply }, told)
            })
            .unzip();
        self.committer.commit(batch, now, |_| ());
        told.into_iter()
            .map(|mut told| told.try_recv().ok().map(|(outcome, _)| outcome))
            .collect()
    }

    fn kept(&self) -> usize {
        let count = "SELECT count(*) FROM replays";
        let kept = self
            .committer
            .connection
            .query_row(count, [], |row| row.get(0));
        kept.expect("a count")
    }
}

fn charge(units: u64, quota: Option<u64>, name: Option<usize>) -> Charge {
    let kept = name.map(|name| {
        let (name, tag) = (format!("name-{name:04}"), "tag".to_owned());
        let answer = NewReplay::compress(name, [7; 32], tag, b"an answer");
        KeptContent::Answer(answer.expect("compressed"))
    });
    Charge {
        key: 1,
        month: Month::of_number(202_611),
        day: time::macros::date!(2026 - 11 - 23),
        counter: Counter::Signals,
        units,
        quota,
        kept,
        guard: None,
        arrival: None,
    }
}

#[test]
fn commits_remove_expired_answers_twice_as_fast_as_they_add_new_ones() {
    let mut fixture = Fixture::new();
    let old = (0..300).map(|name| charge(1, None, Some(name))).collect();
    fixture.commit(old, NOW - 2 * DAY);
    assert_eq!(fixture.kept(), 300);
    let new = (300..330).map(|name| charge(1, None, Some(name))).collect();
    fixture.commit(new, NOW);
    assert_eq!(fixture.kept(), 330 - (2 * 30 + 16));
    // What adds none removes none: most commits have no time to lose.
    fixture.commit(vec![charge(1, None, None)], NOW);
    assert_eq!(fixture.kept(), 330 - (2 * 30 + 16));
}

#[test]
fn a_quota_is_shared_within_a_commit_and_says_what_it_leaves() {
    let mut fixture = Fixture::new();
    let charges = [7, 7, 3, 1].map(|units| charge(units, Some(10), None));
    let outcomes = fixture.commit(charges.into(), NOW);
    assert_eq!(
        outcomes,
        [
            Some(Ok(Charged { units: 7, total: 7 })),
            Some(Err(ChargeError::QuotaExceeded { left: 3 })),
            Some(Ok(Charged {
                units: 3,
                total: 10
            })),
            Some(Err(ChargeError::QuotaExceeded { left: 0 })),
        ]
    );
    assert_eq!(
        fixture.state.usage(None).expect("usage")[0].counts,
        [10, 0, 0, 0]
    );
}

#[test]
fn what_has_no_room_is_not_charged() {
    let mut fixture = Fixture::new();
    let named = |name| charge(2, None, Some(name));
    let bytes = named(0).kept.map_or(0, |kept| kept.bytes_max());
    fixture.committer.kept.bytes_per_key = 2 * bytes;
    let outcomes = fixture.commit((0..3).map(named).collect(), NOW);
    assert_eq!(
        outcomes[..2],
        [2, 4].map(|total| Some(Ok(Charged { units: 2, total })))
    );
    assert!(matches!(outcomes[2], Some(Err(ChargeError::KeptFull(_)))));
    assert_eq!(fixture.kept(), 2);
    // Other requests go on, and what has expired makes room in the same commit.
    let outcomes = fixture.commit(vec![charge(1, None, None)], NOW);
    assert_eq!(outcomes, [Some(Ok(Charged { units: 1, total: 5 }))]);
    let outcomes = fixture.commit(vec![named(3)], NOW + DAY);
    assert_eq!(outcomes, [Some(Ok(Charged { units: 2, total: 7 }))]);
    assert_eq!(fixture.state.kept_bytes().expect("a state"), bytes);
}

#[test]
fn what_is_withdrawn_is_not_recorded() {
    let mut fixture = Fixture::new();
    let slots: Vec<ChargeSlot> = [5, 6]
        .map(|units| ChargeSlot::new(charge(units, None, None)))
        .into();
    assert!(slots[0].take().is_some());
    assert!(slots[0].take().is_none());
    let outcomes = fixture.commit_slots(slots, NOW);
    assert_eq!(outcomes, [None, Some(Ok(Charged { units: 6, total: 6 }))]);
    assert_eq!(
        fixture.state.usage(None).expect("usage")[0].counts,
        [6, 0, 0, 0]
    );
}
