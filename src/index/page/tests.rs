//! White-box tests of `index/page.rs`.

use super::*;
use crate::fixtures::Random;

fn hits(ids: &[u64]) -> Vec<Hit> {
    let hit = |&id: &u64| Hit {
        id: SignalId::new(id).expect("an id"),
        address: RowAddress {
            segment: 0,
            row: Row(0),
        },
    };
    ids.iter().map(hit).collect()
}

#[test]
fn merging_two_sorted_runs_sorts() {
    let mut random = Random::new(3);
    for _ in 0..2_000 {
        let mut ids: Vec<u64> = (1..=random.below(120)).collect();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for &id in &ids {
            if random.chance(60) {
                first.push(id);
            } else {
                second.push(id);
            }
        }
        for order in [IdOrder::OldestFirst, IdOrder::NewestFirst] {
            let mut merged = hits(&[first.as_slice(), &second].concat());
            merge(&mut merged, first.len(), order);
            assert_eq!(merged, hits(&ids), "{first:?} and {second:?}, {order:?}");
            for run in [&mut first, &mut second, &mut ids] {
                run.reverse();
            }
        }
    }
}
