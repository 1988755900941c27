//! White-box tests of `exec/first_keys.rs`.

use super::*;
use crate::fixtures::Random;
use crate::query::SortField;

#[test]
fn the_first_keys_are_those_of_a_sorted_list() {
    let mut random = Random::new(7);
    for round in 0..2_000 {
        let order = ValueOrder {
            field: SortField::Date,
            descending: random.chance(50),
        };
        let wanted = random.below(40);
        let codes = 1 + random.below(9);
        let mut all: Vec<(u32, u32)> = (0..random.below(2_000) as u32)
            .map(|row| (1 + random.below(codes) as u32, row))
            .collect();
        let mut first = FirstKeys::new(wanted, order);
        for &(code, row) in &all {
            let is_taken = first.takes(code);
            let before = first.keys.clone();
            first.push(code, Row(row));
            assert!(is_taken || first.keys == before, "round {round}");
        }
        all.sort_by_key(|&(code, row)| {
            let rank = if order.descending { !code } else { code };
            (rank, !row)
        });
        all.truncate(wanted);
        let found: Vec<(u32, u32)> = first.sorted().collect();
        assert_eq!(found, all, "round {round}");
    }
}
