//! White-box tests of `kernels/search.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Offsets need not lie evenly in their block.
    #[test]
    fn an_offset_is_found_wherever_it_is(
        near in prop::collection::btree_set(0_u16..2_000, 0..500),
        far in prop::collection::btree_set(any::<u16>(), 0..500),
        probes in prop::collection::vec(prop_oneof![0_u16..2_000, any::<u16>()], 50),
    ) {
        let offsets: Vec<u16> = near.union(&far).copied().collect();
        for offset in probes.into_iter().chain(offsets.iter().copied()) {
            let is_there = near.contains(&offset) || far.contains(&offset);
            prop_assert_eq!(contains(&offsets, offset), is_there);
        }
    }
}
