//! White-box tests of `kernels/probe.rs`.

use proptest::prelude::*;

use super::*;
use crate::kernels::block::BLOCK_WORDS;

proptest! {
    #[test]
    fn what_is_kept_is_set_or_is_not(
        near in prop::collection::btree_set(0_u16..4_000, 0..400),
        far in prop::collection::btree_set(any::<u16>(), 0..800),
        shift in 0_u16..61_000,
        step in 1_usize..9,
        wanted in any::<bool>(),
    ) {
        let mut list: Vec<u16> = near.iter().map(|offset| offset + shift).chain(far).collect();
        list.sort_unstable();
        list.dedup();
        let mut set = [0; BLOCK_WORDS];
        for &offset in list.iter().step_by(step) {
            bits::set(&mut set, offset);
            bits::set(&mut set, offset ^ 1);
        }
        let are_set = list.iter().filter(|&&offset| bits::test(&set, offset));
        prop_assert_eq!(count(&list, &set) as usize, are_set.count());
        let mut kept = list.clone();
        retain(&mut kept, &set, wanted);
        list.retain(|&offset| bits::test(&set, offset) == wanted);
        prop_assert_eq!(kept, list);
    }
}
