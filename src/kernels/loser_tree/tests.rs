//! White-box tests of `kernels/loser_tree.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn keys_come_in_descending_order(inputs in prop::collection::vec(
        prop::collection::btree_set(1_u64..1_000, 0..20), 0..9))
    {
        // Two inputs share no key: the lower bits say which input a key is of.
        let mut rest: Vec<Vec<u64>> = inputs.iter().enumerate()
            .map(|(input, keys)| keys.iter().map(|key| key << 8 | input as u64).collect())
            .collect();
        let mut expected = rest.concat();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        let heads: Vec<u64> = rest.iter_mut().map(|keys| keys.pop().unwrap_or(NO_KEY)).collect();
        let mut tree = LoserTree::new(heads.into_iter());
        let mut found = Vec::new();
        while tree.root() != NO_KEY {
            found.push(tree.root());
            let input = (tree.root() & 0xFF) as usize;
            tree.replace_root(input, rest[input].pop().unwrap_or(NO_KEY));
        }
        prop_assert_eq!(found, expected);
    }
}
