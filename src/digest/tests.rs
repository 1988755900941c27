//! White-box tests of `digest.rs`.

use super::*;

#[test]
fn a_digest_reads_back_and_nothing_else_does() {
    let digest = Digest::of(b"abc");
    let text = digest.to_string();
    assert!(text.starts_with("ba7816bf8f01cfea"));
    assert_eq!(Digest::parse(&text), Some(digest));
    let wrong = [
        "",
        &text[1..],
        &text.to_uppercase(),
        &text.replace('b', "g"),
    ];
    for wrong in wrong {
        assert_eq!(Digest::parse(wrong), None, "{wrong}");
    }
    // Characters of several bytes must not be cut in the middle.
    assert_eq!(Digest::parse(&"é".repeat(32)), None);
}
