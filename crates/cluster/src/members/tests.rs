//! White-box tests of `members.rs`.

use super::*;
use crate::generation::PublishedShard;
use crate::loaded_shards::LoadedGeneration;
use signaldex::{Digest, Position};

fn members(nodes: usize) -> Members {
    let names = (0..nodes).map(|node| format!("node-{node}")).collect();
    Members::new(0, names, LoadedShards::default())
}

fn held(generation: u64, shards: &[u32]) -> HeldShards {
    HeldShards::from([(generation, shards.to_vec())])
}

fn task(node: usize, shards: &[u32]) -> NodeTask {
    NodeTask {
        node,
        shards: shards.to_vec(),
    }
}

#[test]
fn few_nodes_are_asked_and_they_take_turns() {
    let members = members(4);
    members.answered(1, held(7, &[0, 1, 2]));
    members.answered(2, held(7, &[0, 1, 2]));
    members.answered(3, held(7, &[3]));
    let mut first = Vec::new();
    for _ in 0..10 {
        let tasks = members.assign(7, 4, &[0, 1, 2, 3], &[]).expect("tasks");
        assert_eq!(tasks.len(), 2, "{tasks:?}");
        assert_eq!(tasks[1], task(3, &[3]));
        first.push(tasks[0].node);
    }
    assert!(first.contains(&1) && first.contains(&2), "{first:?}");
    let missing = members.assign(7, 4, &[0, 3], &[3]);
    assert_eq!(
        missing,
        Err(Unreachable {
            shard: 3,
            shards: 4
        })
    );
    assert!(
        members.assign(8, 4, &[0], &[]).is_err(),
        "another generation"
    );
}

#[test]
fn a_slow_node_is_asked_last_until_it_answers_a_look() {
    let members = members(3);
    members.answered(1, held(7, &[0]));
    members.answered(2, held(7, &[0]));
    members.slowed(1);
    for _ in 0..10 {
        assert_eq!(members.assign(7, 1, &[0], &[]), Ok(vec![task(2, &[0])]));
    }
    // Nobody else is left.
    assert_eq!(members.assign(7, 1, &[0], &[2]), Ok(vec![task(1, &[0])]));
    members.answered(1, held(7, &[0]));
    let nodes: Vec<usize> = (0..10)
        .flat_map(|_| members.assign(7, 1, &[0], &[]).expect("tasks"))
        .map(|task| task.node)
        .collect();
    assert!(nodes.contains(&1), "{nodes:?}");
}

#[test]
fn a_node_is_dead_after_three_missed_looks_in_a_row_or_when_nothing_listens() {
    let members = members(2);
    let is_alive = || members.assign(7, 1, &[0], &[]).is_ok();
    members.answered(1, held(7, &[0]));
    for _ in 0..5 {
        members.missed(1);
        members.missed(1);
        assert!(is_alive(), "two are not enough");
        members.answered(1, held(7, &[0]));
    }
    for missed in 1..=MISSED_LOOKS_MAX {
        members.missed(1);
        assert_eq!(is_alive(), missed < MISSED_LOOKS_MAX);
    }
    members.answered(1, held(7, &[0]));
    assert!(is_alive());
    members.died(1, "nothing listens");
    assert!(!is_alive());
}

/// Installs a generation of which this node holds no shard; each shard has this many signals.
fn install(members: &Members, generation: u64, signals: &[u64]) {
    let shard = |&signals: &u64| PublishedShard {
        generation,
        signals,
        bytes: 1,
        revision: Digest::of(b""),
        position: Position::START.to_string(),
    };
    members.loaded.install(LoadedGeneration {
        manifest: ClusterGeneration {
            generation,
            cluster: Digest::of(b""),
            shards: signals.iter().map(shard).collect(),
        },
        shards: BTreeMap::new(),
    });
    members.choose();
}

#[test]
fn two_generations_are_kept_whatever_others_can_load() {
    let members = members(3);
    // The only holder of the shard loads nothing newer than the first generation.
    members.answered(1, held(1, &[0]));
    for generation in 1..=4 {
        install(&members, generation, &[1]);
    }
    assert_eq!(members.view().generation, 1);
    assert_eq!(members.to_keep(), BTreeSet::from([1, 4]));
    // The one before the served one is kept for a node that has nothing newer.
    members.answered(1, held(4, &[0]));
    members.answered(2, held(3, &[0]));
    assert_eq!(members.view().generation, 4);
    assert_eq!(members.to_keep(), BTreeSet::from([3, 4]));
    // One that is further behind changes nothing.
    members.answered(2, held(1, &[0]));
    assert_eq!(members.to_keep(), BTreeSet::from([3, 4]));
    members.answered(2, held(4, &[0]));
    assert_eq!(members.to_keep(), BTreeSet::from([4]));
}

#[test]
fn shards_without_signals_are_not_asked() {
    let members = members(1);
    install(&members, 1, &[3, 0, 2]);
    assert_eq!(members.shards_with_signals(1), [0, 2]);
    assert!(members.shards_with_signals(2).is_empty());
}
