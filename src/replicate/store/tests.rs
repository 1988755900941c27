//! White-box tests of `replicate/store.rs`.

use super::*;
use crate::ErrorKind;
use crate::replicate::ReplicaErrorKind;

#[test]
fn names_that_are_not_of_generations_are_passed_over() {
    assert_eq!(generation_of("00000000000000000042"), Some(42));
    for name in [
        "42",
        "+0000000000000000042",
        "99999999999999999999",
        "0000000000000000004x",
    ] {
        assert_eq!(generation_of(name), None, "{name}");
    }
}

#[test]
fn what_is_not_a_store_is_refused_with_what_is_allowed() {
    for address in ["ftp://host/path", "https://host/path", "file://host/path"] {
        let error = Store::open(address).expect_err("refused");
        let invalid = ReplicaErrorKind::Index(ErrorKind::Invalid);
        assert_eq!(error.kind(), invalid, "{address}: {error}");
        assert!(error.to_string().contains("s3://bucket/path"), "{error}");
    }
    for address in [
        "file:///srv/store",
        "/srv/store",
        "relative/store",
        "memory:///",
    ] {
        assert!(Store::open(address).is_ok(), "{address}");
    }
}
