//! White-box tests of `cluster/members.rs`.

use super::*;

fn members(nodes: usize) -> Members {
    let names = (0..nodes).map(|node| format!("node-{node}")).collect();
    Members::new(0, names, LoadedShards::default())
}

fn held(generation: u64, shards: &[u32]) -> Held {
    Held::from([(generation, shards.to_vec())])
}

fn task(node: usize, shards: &[u32]) -> Task {
    Task {
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
