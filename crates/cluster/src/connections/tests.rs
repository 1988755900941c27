//! White-box tests of `connections.rs`.

use super::*;

/// One address takes no more than its share, and gives back what it leaves.
#[test]
fn connections_are_bounded_by_address() {
    let (slots, peer) = (Slots::default(), IpAddr::from([10, 0, 0, 1]));
    let taken: Vec<Slot> = (0..CONNECTIONS_OF_ADDRESS_MAX)
        .map_while(|_| slots.take(peer))
        .collect();
    assert_eq!(taken.len(), CONNECTIONS_OF_ADDRESS_MAX);
    assert!(slots.take(peer).is_none());
    let other = slots.take(IpAddr::from([10, 0, 0, 2]));
    assert!(other.is_some());
    drop(taken);
    assert!(slots.take(peer).is_some());
    drop(other);
    assert!(slots.lock().is_empty());
}

#[test]
fn all_addresses_together_are_bounded() {
    let slots = Slots::default();
    let peer = |index: usize| IpAddr::from([10, 0, (index / 256) as u8, index as u8]);
    let taken: Vec<Slot> = (0..2 * CONNECTIONS_MAX)
        .map_while(|index| slots.take(peer(index)))
        .collect();
    assert_eq!(taken.len(), CONNECTIONS_MAX);
}
