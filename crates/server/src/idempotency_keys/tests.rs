//! White-box tests of `idempotency_keys.rs`.

use super::*;

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
