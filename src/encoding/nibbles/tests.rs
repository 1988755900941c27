//! White-box tests of `encoding/nibbles.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn codes_are_read_as_written(
        codes in prop::collection::vec(0_u32..=15, 0..40),
        values in 15_usize..=16,
    ) {
        let rows = codes.len() as u32;
        let bytes = encode(&codes, values);
        let column = FacetColumn::new(&bytes, rows, values).unwrap();
        prop_assert!(column.validate(values).is_ok());
        let read: Vec<u32> = (0..rows).map(|row| column.get(Row(row))).collect();
        prop_assert_eq!(&read, &codes);
        prop_assert_eq!(matches!(column, FacetColumn::Nibbles(_)), values == 15);
    }

    #[test]
    fn codes_without_a_value_are_refused(
        codes in prop::collection::vec(0_u32..=15, 0..10),
        values in 1_usize..=15,
    ) {
        let bytes = encode(&codes, values);
        let column = FacetColumn::new(&bytes, codes.len() as u32, values).unwrap();
        let are_values = codes.iter().all(|&code| code as usize <= values);
        prop_assert_eq!(column.validate(values).is_ok(), are_values);
    }
}

#[test]
fn a_column_without_values_takes_no_bytes() {
    assert!(encode(&[0; 100], 0).is_empty());
    let column = FacetColumn::new(&[], 100, 0).unwrap();
    assert!(column.validate(0).is_ok());
    assert_eq!(column.get(Row(99)), 0);
    assert!(FacetColumn::new(&[0; 50], 100, 0).is_err());
}

#[test]
fn a_column_is_as_long_as_its_rows() {
    assert!(FacetColumn::new(&[0; 2], 3, 15).is_ok());
    assert!(FacetColumn::new(&[0; 2], 5, 15).is_err());
    assert!(FacetColumn::new(&[0; 2], 2, 15).is_err());
    assert!(FacetColumn::new(&[0; 2], 2, 16).is_ok());
    assert!(FacetColumn::new(&[0; 2], 3, 16).is_err());
}
