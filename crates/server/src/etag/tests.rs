//! White-box tests of `etag.rs`.

use super::*;

#[test]
fn parts_do_not_run_into_each_other() {
    assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
    assert_eq!(of(&[b"ab", b"c"]), of(&[b"ab", b"c"]));
}

#[test]
fn a_held_tag_is_found_in_lists_weak_or_strong() {
    let tag = "W/\"abc\"";
    for (held, expected) in [
        ("W/\"abc\"", true),
        ("\"abc\"", true),
        ("\"x\", W/\"abc\"", true),
        ("*", true),
        ("\"abcd\"", false),
        ("abc", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, held.parse().expect("a header"));
        assert_eq!(is_current(&headers, tag), expected, "{held}");
    }
}
