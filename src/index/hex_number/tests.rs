//! White-box tests of `index/hex_number.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_number_reads_back_from_text_and_bytes(bytes: [u8; 16]) {
        let number = HexNumber::from_bytes(bytes);
        prop_assert_eq!(number.to_bytes(), bytes);
        prop_assert_eq!(HexNumber::parse(&number.to_string()), Some(number));
    }
}

#[test]
fn other_texts_are_refused() {
    for wrong in [
        "",
        "+0000000000000000000000000000001",
        &"F".repeat(32),
        &"0".repeat(33),
    ] {
        assert_eq!(HexNumber::parse(wrong), None, "{wrong}");
    }
}
