//! White-box tests of `replay.rs`.

use super::*;

#[test]
fn a_name_has_8_to_128_visible_characters() {
    for (text, is_valid) in [
        ("1234567".to_owned(), false),
        ("12345678".to_owned(), true),
        ("x".repeat(128), true),
        ("x".repeat(129), false),
        ("with space".to_owned(), false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, text.parse().expect("a header"));
        assert_eq!(name_of(&headers).is_ok(), is_valid, "{text}");
    }
}
