//! White-box tests of `index/identity.rs`.

use super::*;

#[test]
fn an_identity_reads_back_and_no_two_are_equal() {
    let (one, other) = (IndexId::random().unwrap(), IndexId::random().unwrap());
    assert_ne!(one, other);
    assert_eq!(IndexId::parse(&one.to_string()), Some(one));
    assert_eq!(IndexId::NONE.to_string(), "0".repeat(32));
    for wrong in [
        "",
        "+0000000000000000000000000000001",
        &"F".repeat(32),
        &"0".repeat(33),
    ] {
        assert_eq!(IndexId::parse(wrong), None, "{wrong}");
    }
}
