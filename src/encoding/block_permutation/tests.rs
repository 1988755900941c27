//! White-box tests of `encoding/block_permutation.rs`.

use proptest::prelude::*;

use super::*;
use crate::encoding::zone_map::block_zones;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_block_finds_the_rows_in_a_range(
        rows in 1_u32..150_000,
        spread in prop_oneof![Just(0_u32), 1_u32..300, 60_000_u32..80_000, any::<u32>()],
        bounds in (any::<u32>(), any::<u32>()),
        seed in any::<u32>(),
        ascend in any::<bool>(),
    ) {
        let code = |row: u32| row.wrapping_mul(seed | 1).rotate_left(13) % spread.max(1);
        let mut codes: Vec<u32> = (0..rows).map(code).collect();
        if ascend {
            codes.sort_unstable();
        }
        let ranges = block_zones(&codes);
        let mut sections = PermutationSections::of(&codes, &ranges);
        let column = Column::Four(&codes);
        let orders = sections.view(rows);
        orders.validate(rows, &column, &ranges).unwrap();
        let (a, b) = (bounds.0 % spread.saturating_add(9).max(1), bounds.1 % spread.saturating_add(9).max(1));
        for wanted in [a.min(b)..=a.max(b), a..=a, a.saturating_add(1)..=a, 0..=u32::MAX] {
            for (block, in_block) in (0..).zip(codes.chunks(BLOCK_ROWS as usize)) {
                let found = orders.offsets_in(block, &wanted, ranges[block as usize], &column);
                let mut found = found.to_vec();
                found.sort_unstable();
                let offsets = in_block.iter().enumerate().filter(|(_, code)| wanted.contains(code));
                prop_assert_eq!(found, offsets.map(|(offset, _)| offset as u16).collect::<Vec<_>>());
            }
        }
        if let Some(start) = sections.starts.last_mut() {
            *start ^= 1;
            prop_assert!(sections.view(rows).validate(rows, &column, &ranges).is_err());
            *sections.starts.last_mut().unwrap() ^= 1;
        }
        let ascends = codes.chunks(BLOCK_ROWS as usize).all(<[u32]>::is_sorted);
        prop_assert_eq!(sections.offsets.is_empty(), ascends);
        if !ascends {
            sections.offsets.swap(0, 1);
            prop_assert!(sections.view(rows).validate(rows, &column, &ranges).is_err());
        }
    }
}

impl PermutationSections {
    fn view(&self, rows: u32) -> BlockPermutations<'_> {
        BlockPermutations {
            rows,
            offsets: &self.offsets,
            ends: &self.ends,
            starts: &self.starts,
        }
    }
}
