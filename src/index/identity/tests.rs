//! White-box tests of `index/identity.rs`.

use super::*;

#[test]
fn no_two_identities_are_equal() {
    let (one, other) = (IndexId::random().unwrap(), IndexId::random().unwrap());
    assert_ne!(one, other);
    assert_eq!(IndexId::NONE.to_string(), "0".repeat(32));
}
