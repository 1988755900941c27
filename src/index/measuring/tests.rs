//! The two forms of sets of companies and of slots agree.

use std::collections::BTreeSet;

use super::{AmountSlots, CellAmounts, CompanySets, SET_BITS_MAX, STARTS_MAX};
use crate::fixtures::Random;

#[test]
fn pairs_count_as_bits_do() {
    let mut random = Random::new(1);
    let companies = 1_000;
    for cells in [2, 5, (SET_BITS_MAX / 1_000) as usize + 2_000] {
        let mut sets = CompanySets::new(cells, companies);
        let is_large = cells > 5;
        assert_eq!(matches!(sets, CompanySets::Pairs { .. }), is_large);
        let mut expected = vec![BTreeSet::new(); cells - 1];
        for _ in 0..150_000 {
            // Most repeat, so that pairs are sorted on the way; the last cell is not kept.
            let (cell, company) = (random.below(cells.min(50)), random.below(companies));
            sets.insert(cell as u32, company);
            if let Some(set) = expected.get_mut(cell) {
                set.insert(company);
            }
        }
        let expected: Vec<u64> = expected.iter().map(|set| set.len() as u64).collect();
        assert_eq!(sets.counts(), expected);
    }
}

#[test]
fn listed_slots_have_the_amounts_of_starts() {
    let mut random = Random::new(2);
    let slots: Vec<u32> = (0..500).map(|_| random.below(20)).collect();
    let bits: Vec<u64> = (0..500).collect();
    let [mut few, mut many] =
        [20, STARTS_MAX + 1].map(|cells| CellAmounts::sorted(vec![None], cells, &slots, &bits));
    assert!(
        matches!(few.slots, AmountSlots::Starts(_)) && matches!(many.slots, AmountSlots::Listed(_))
    );
    let sorted = |_, bits: &mut [u64]| {
        bits.sort_unstable();
        bits.to_vec()
    };
    for cell in 0..20 {
        assert_eq!(few.of_cell(cell, sorted), many.of_cell(cell, sorted));
    }
    assert_eq!(few.of_all(sorted), many.of_all(sorted));
    assert!(many.of_cell(20, sorted).is_empty());
}
