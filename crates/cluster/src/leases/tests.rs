//! White-box tests of `leases.rs`.

use proptest::prelude::*;

use super::*;

const HELD: [u64; 6] = [1, 2, 3, 4, 5, 6];

fn granted(actions: &[LeaseAction]) -> Option<u64> {
    actions.iter().find_map(|action| match action {
        LeaseAction::Grant(number) => Some(*number),
        _ => None,
    })
}

#[test]
fn a_third_generation_is_refused_until_another_is_read_no_more() {
    let (mut table, now) = (LeaseTable::default(), Instant::now());
    let first = granted(&table.handle(LeaseEvent::Begin(1), now)).expect("a lease");
    let second = granted(&table.handle(LeaseEvent::Begin(1), now)).expect("a lease");
    table.handle(LeaseEvent::Heard([2].into()), now);
    assert_eq!(
        table.handle(LeaseEvent::Begin(3), now),
        [LeaseAction::Refuse]
    );
    assert!(granted(&table.handle(LeaseEvent::Begin(2), now)).is_some());
    assert_eq!(table.handle(LeaseEvent::End(first), now), []);
    assert_eq!(
        table.handle(LeaseEvent::Begin(3), now),
        [LeaseAction::Refuse]
    );
    assert_eq!(
        table.handle(LeaseEvent::End(second), now),
        [LeaseAction::Announce]
    );
    assert!(granted(&table.handle(LeaseEvent::Begin(3), now)).is_some());
}

#[test]
fn a_lease_ends_after_an_hour_and_only_once() {
    let (mut table, now) = (LeaseTable::default(), Instant::now());
    let first = granted(&table.handle(LeaseEvent::Begin(1), now)).expect("a lease");
    let later = now + LEASE_TIME - Duration::from_secs(1);
    assert_eq!(table.handle(LeaseEvent::Tick, later), []);
    assert!(granted(&table.handle(LeaseEvent::Begin(1), later)).is_some());
    let end = now + LEASE_TIME;
    // The second one still has its time, also when the first export ends later than its lease.
    assert_eq!(table.handle(LeaseEvent::Tick, end), []);
    assert_eq!(table.handle(LeaseEvent::End(first), end), []);
    assert_eq!(table.announced(), BTreeSet::from([1]));
    assert_eq!(
        table.handle(LeaseEvent::Tick, later + LEASE_TIME),
        [LeaseAction::Announce]
    );
    assert!(table.kept(HELD.into_iter()).is_empty());
}

fn events() -> impl Strategy<Value = (LeaseEvent, u64)> {
    let others = prop::collection::btree_set(1..=6_u64, 0..3);
    let event = prop_oneof![
        (1..=6_u64).prop_map(LeaseEvent::Begin),
        (0..20_u64).prop_map(LeaseEvent::End),
        others.prop_map(LeaseEvent::Heard),
        Just(LeaseEvent::Tick),
    ];
    (event, 0..2_000_u64)
}

proptest! {
    /// A simple model: exports with their ends, of which as many generations are kept as may be.
    #[test]
    fn leases_are_those_of_exports_under_way(events in prop::collection::vec(events(), 0..60)) {
        let (mut table, begun) = (LeaseTable::default(), Instant::now());
        let mut exports: Vec<(u64, u64, u64)> = Vec::new();
        let (mut others, mut seconds) = (BTreeSet::new(), 0);
        for (event, pause) in events {
            seconds += pause;
            let actions = table.handle(event.clone(), begun + Duration::from_secs(seconds));
            exports.retain(|(_, _, end)| seconds < *end);
            let leased = |exports: &[(u64, u64, u64)], others: &BTreeSet<u64>| {
                let own = exports.iter().map(|(_, generation, _)| *generation);
                own.chain(others.iter().copied()).collect::<BTreeSet<u64>>()
            };
            match event {
                LeaseEvent::Begin(generation) => {
                    let mut then = leased(&exports, &others);
                    let is_known = !then.insert(generation);
                    let number = granted(&actions);
                    prop_assert_eq!(number.is_some(), is_known || then.len() <= LEASED_MAX);
                    exports.extend(number.map(|number| (number, generation, seconds + 3_600)));
                }
                LeaseEvent::End(ended) => exports.retain(|(number, _, _)| *number != ended),
                LeaseEvent::Heard(heard) => others = heard,
                LeaseEvent::Tick => {}
            }
            let expected = leased(&exports, &others);
            prop_assert_eq!(table.leased(), expected.clone());
            let kept = table.kept(HELD.into_iter());
            prop_assert_eq!(kept.len(), expected.len().min(LEASED_MAX));
            prop_assert!(kept.is_subset(&expected));
        }
    }
}
