//! White-box tests of `exec/union.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_union_of_lists_is_the_union_of_sets(
        list_of_row in prop::collection::vec(prop::option::of(0_usize..8), 0..60),
        list_count in 0_usize..9,
        start in prop_oneof![Just(0), 0_u32..60],
        length in 0_u32..70,
    ) {
        let of_list = |list| (0..).zip(&list_of_row).filter(move |(_, of)| **of == Some(list));
        let lists: Vec<Vec<u32>> =
            (0..list_count).map(|list| of_list(list).map(|(row, _)| row).collect()).collect();
        let rows = start..start + length;
        let union = |order| ListUnion::new(lists.iter().map(Vec::as_slice).collect(), &rows, order);
        let mut expected: Vec<u32> = lists.concat();
        expected.retain(|row| rows.contains(row));
        expected.sort_unstable();
        prop_assert_eq!(&union(IdOrder::OldestFirst).collect::<Vec<_>>(), &expected);
        expected.reverse();
        prop_assert_eq!(union(IdOrder::NewestFirst).collect::<Vec<_>>(), expected);
    }
}
