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

#[test]
fn a_name_is_claimed_once_a_key() {
    let names = KeysInUse::default();
    let claim = names.claim(1, "12345678");
    assert!(claim.is_some());
    assert!(names.claim(1, "12345678").is_none());
    assert!(names.claim(2, "12345678").is_some());
    drop(claim);
    assert!(names.claim(1, "12345678").is_some());
}
