//! White-box tests of `encoding/dictionary.rs`.

use super::*;

#[test]
fn a_run_is_all_of_one_string() {
    let strings = Strings::new(&[1, 2, 3, 5, 6], b"abbbcc");
    let runs = [0..1, 1..3, 2..3, 3..4, 4..5];
    assert_eq!([0, 1, 2, 3, 4].map(|first| strings.run(first)), runs);
}

#[test]
fn validation_finds_what_is_broken() {
    assert!(Strings::new(&[2, 1], b"ab").validate_ends().is_err());
    assert!(Strings::new(&[3], b"ab").validate_ends().is_err());
    assert!(Strings::new(&[1], b"\xff").validate_text().is_err());
    assert!(
        Strings::new(&[1, 2], "é".as_bytes())
            .validate_text()
            .is_err()
    );
    assert!(Strings::new(&[1, 2], b"ba").validate_order().is_err());
}
