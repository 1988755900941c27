//! White-box tests of `text_encoding.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_text_is_plain_where_serde_adds_only_quotes(text in any::<String>(), length in 0..40usize) {
        for text in [text.clone(), format!("{}{text}", "x".repeat(length))] {
            let written = serde_json::to_string(&text).expect("a text can be written");
            prop_assert_eq!(is_plain(text.as_bytes()), written == format!("\"{text}\""));
        }
    }
}

#[test]
fn each_character_below_128_is_plain_or_not_as_serde_has_it() {
    for byte in 0..128u8 {
        let text = format!("{}{}", "x".repeat(33), char::from(byte));
        let written = serde_json::to_string(&text).expect("a text can be written");
        assert_eq!(
            is_plain(text.as_bytes()),
            written == format!("\"{text}\""),
            "{byte}"
        );
    }
}
