//! White-box tests of `encoding/zone_map.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_span_holds_the_rows_in_a_range(
        rows in 1_u32..150_000,
        bounds in (0_u32..300, 0_u32..300),
        seed in any::<u32>(),
    ) {
        let codes: Vec<u8> = (0..rows).map(|row| (row.wrapping_mul(seed | 1) >> 13) as u8).collect();
        let wide: Vec<u32> = codes.iter().map(|&code| u32::from(code)).collect();
        let (blocks, fine_zones) = (block_zones(&wide), fine_zones(&wide));
        let column = Column::One(&codes);
        let ordered = OrderedColumn { column, blocks: &blocks, fine_zones: Some(&fine_zones), orders: None };
        let range = bounds.0.min(bounds.1)..=bounds.0.max(bounds.1);
        for (block, in_block) in (0..).zip(wide.chunks(BLOCK_ROWS as usize)) {
            let span = ordered.span(block, std::slice::from_ref(&range));
            let mut offsets = (0..).zip(in_block).filter(|(_, code)| range.contains(code));
            prop_assert!(offsets.all(|(offset, _)| span.contains(&offset)));
            // A fine zone may have codes on both sides of a range and none in it, but not of one
            // that begins with the smallest code.
            let below = 0..=*range.end();
            let span = ordered.span(block, std::slice::from_ref(&below));
            let is_below = |row: u32| in_block.get(row as usize).is_some_and(|code| below.contains(code));
            let mut ends = [span.start..span.start + FINE_ZONE_ROWS, span.end.saturating_sub(FINE_ZONE_ROWS)..span.end].into_iter();
            prop_assert!(span.is_empty() || ends.all(|mut rows| rows.any(is_below)));
        }
    }
}
