//! White-box tests of `encoding/rows_by_code.rs`.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const CODES: [u8; 6] = [2, 0, 1, 2, 0, 2];
const STORED: [u32; 7] = [0, 1, 4, 2, 0, 3, 5];

fn checked(numbers: &[u32]) -> Result<()> {
    let rows = RowsByCode::new(numbers, 2)?;
    rows.validate_bounds(6)?;
    rows.validate(6, &Column::One(&CODES))
}

#[test]
fn each_value_has_its_rows() {
    let rows = RowsByCode::new(&STORED, 2).unwrap();
    assert_eq!(rows.rows_of(1), [2]);
    assert_eq!(rows.rows_of(2), [0, 3, 5]);
    assert_eq!((rows.count(&(1..=2)), rows.count(&(2..=2))), (4, 3));
    checked(&STORED).unwrap();
}

#[test]
fn rows_of_other_columns_are_refused() {
    for wrong in [
        &[0, 1][..],
        &[0, 1, 5, 2, 0, 3, 5],
        &[1, 1, 4, 2, 0, 3, 5],
        &[0, 5, 4, 2, 0, 3, 5],
        &[0, 1, 4, 2, 0, 3, 6],
        &[0, 1, 4, 2, 3, 0, 5],
        &[0, 1, 4, 1, 0, 3, 5],
        &[0, 1, 3, 2, 0, 3],
    ] {
        checked(wrong).unwrap_err();
    }
}

proptest! {
    #[test]
    fn numbers_within_bounds_are_read_without_a_panic(
        numbers in vec(0_u32..8, 0..12),
        values in 0_usize..5,
    ) {
        if let Ok(rows) = RowsByCode::new(&numbers, values)
            && rows.validate_bounds(6).is_ok()
        {
            let all: Vec<u32> = (1..=values as u32)
                .flat_map(|code| rows.rows_of(code).to_vec())
                .collect();
            prop_assert_eq!(&all, &numbers[values + 1..]);
            prop_assert!(all.iter().all(|&row| row < 6));
            if let Some(last) = (values as u32).checked_sub(1) {
                prop_assert_eq!(rows.count(&(1..=last + 1)), all.len() as u64);
            }
        }
    }
}
