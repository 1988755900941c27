//! White-box tests of `placement.rs`.

use super::*;

const NODES: [(&str, &str); 5] = [
    ("one", ""),
    ("two", ""),
    ("three", ""),
    ("four", ""),
    ("five", ""),
];

#[test]
fn the_shards_of_companies_never_change() {
    let shards = ["acme", "globex", "initech", ""].map(|slug| shard_of(slug, 7));
    assert_eq!(shards, SHARDS_OF_SEVEN);
}

const SHARDS_OF_SEVEN: [u32; 4] = [0, 1, 4, 4];

#[test]
fn a_shard_has_as_many_different_holders_as_replicas() {
    for shard in 0..100 {
        let mut held = holders(shard, 100, &NODES, 2);
        assert_eq!(held.len(), 2);
        held.dedup();
        assert_eq!(held.len(), 2);
    }
    assert_eq!(holders(0, 1, &NODES, 9).len(), NODES.len());
}

#[test]
fn a_node_that_goes_moves_only_its_own_shards() {
    let names = |held: Vec<usize>, nodes: &[(&'static str, &str)]| -> Vec<&'static str> {
        held.into_iter().map(|index| nodes[index].0).collect()
    };
    for shard in 0..100 {
        let before = names(holders(shard, 100, &NODES, 2), &NODES);
        let after = names(holders(shard, 100, &NODES[..4], 2), &NODES[..4]);
        if !before.contains(&"five") {
            assert_eq!(before, after);
        }
    }
}

#[test]
fn shards_and_places_are_spread_evenly() {
    let mut companies = [0; 8];
    for company in 0..8_000 {
        companies[shard_of(&format!("company-{company}"), 8) as usize] += 1;
    }
    assert!(companies.iter().all(|count| (850..1150).contains(count)));
    let mut held = [0; 5];
    for shard in 0..1_000 {
        held[holders(shard, 1_000, &NODES, 1)[0]] += 1;
    }
    assert!(held.iter().all(|count| (140..260).contains(count)));
}

#[test]
fn replicas_stand_in_different_zones_where_there_are_enough() {
    let zones = ["a", "a", "a", "b", "b"];
    let nodes: Vec<(&str, &str)> = NODES
        .iter()
        .zip(zones)
        .map(|(&(name, _), zone)| (name, zone))
        .collect();
    for shard in 0..100 {
        let held = |replicas| holders(shard, 100, &nodes, replicas);
        let mut of_two: Vec<&str> = held(2).into_iter().map(|node| nodes[node].1).collect();
        of_two.sort_unstable();
        assert_eq!(of_two, ["a", "b"]);
        // The first choice is that without zones, and a third replica changes nothing about the first two.
        assert_eq!(held(1), holders(shard, 100, &NODES, 1));
        assert_eq!(held(3)[..2], held(2));
        let mut all = held(5);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3, 4]);
    }
}
