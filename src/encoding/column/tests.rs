//! White-box tests of `encoding/column.rs`.

use proptest::prelude::*;

use super::*;
use crate::kernels::bits;
use crate::kernels::block::{BLOCK_ROWS, BLOCK_WORDS};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_block_keeps_the_rows_in_ranges(
        rows in 1_u32..150_000,
        values in prop::sample::select(vec![200_usize, 3_000, 70_000]),
        mut bounds in prop::collection::vec(0_u32..70_001, 2..=6),
        seed in any::<u32>(),
    ) {
        let code = |row: u32| row.wrapping_mul(seed | 1) % (values as u32 + 1);
        let codes: Vec<u32> = (0..rows).map(code).collect();
        let encoded = encode(&codes, values);
        let mut aligned = vec![0_u32; rows as usize];
        let bytes = &mut bytemuck::cast_slice_mut(&mut aligned)[..encoded.len()];
        bytes.copy_from_slice(&encoded);
        let column = Column::new(bytes, rows).unwrap();
        bounds.sort_unstable();
        let ranges: Vec<RangeInclusive<u32>> = bounds
            .chunks_exact(2)
            .map(|pair| pair[0]..=pair[1])
            .collect();
        let block = (rows - 1) / BLOCK_ROWS;
        let in_block = rows - block * BLOCK_ROWS;
        let mut kept = [0; BLOCK_WORDS];
        (0..in_block).filter(|row| row % 3 != 0).for_each(|row| bits::set(&mut kept, row as u16));
        let mut listed: Vec<u16> = (0..in_block).filter(|row| row % 3 != 0).map(|row| row as u16).collect();
        column.retain_in_ranges(block, &ranges, &mut listed);
        column.keep_in_ranges(Row::of(block, 0), &ranges, &mut kept);
        prop_assert_eq!(&listed, &bits::ones(0, &kept).collect::<Vec<_>>());
        for offset in 0..in_block {
            let code = codes[(block * BLOCK_ROWS + offset) as usize];
            let expected = offset % 3 != 0 && ranges.iter().any(|range| range.contains(&code));
            prop_assert_eq!(bits::test(&kept, offset as u16), expected, "{}", offset);
        }
    }
}

#[test]
fn a_column_too_narrow_for_its_values_is_refused() {
    let narrow = Column::new(&[7; 4], 4).expect("a byte for each row");
    narrow
        .validate(255)
        .expect("as many values as a byte can tell apart");
    let error = narrow.validate(256).expect_err("a code has no place");
    assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
    let empty = Column::new(&[], 0).expect("no rows");
    empty.validate(256).expect("no code");
}
