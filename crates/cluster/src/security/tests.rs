//! White-box tests of `security.rs`.

use super::*;

#[test]
fn a_worker_in_the_clear_is_refused_on_other_than_loopback_unless_that_is_wanted() {
    let check = |address: &str, is_wanted| {
        let address = address.parse().expect("an address");
        Security::none().check(address, is_wanted)
    };
    for address in ["127.0.0.1:7400", "[::1]:7400"] {
        assert!(check(address, false).is_ok(), "{address}");
    }
    for address in [
        "0.0.0.0:7400",
        "10.0.0.1:7400",
        "[::]:7400",
        "192.0.2.1:7400",
    ] {
        let error = check(address, false).expect_err("refused");
        assert!(error.to_string().contains("--worker-cert"), "{error}");
        assert!(check(address, true).is_ok(), "{address}");
    }
}
