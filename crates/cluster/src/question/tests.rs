//! White-box tests of `question.rs`.

use super::*;

#[test]
fn as_many_rows_are_expected_as_some_shards_probably_have() {
    for (rows, shards, all, expected) in [
        (51, 1, 1, 51),
        (51, 3, 3, 51),
        (51, 1, 3, 26),
        (51, 2, 3, 43),
        (51, 1, 64, 4),
        (1, 1, 3, 1),
        (2, 1, 64, 1),
        (5_001, 1, 3, 1_751),
    ] {
        assert_eq!(
            expected_rows(rows, shards, all),
            expected,
            "{rows} {shards} of {all}"
        );
    }
}
