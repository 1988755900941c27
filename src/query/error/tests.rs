//! White-box tests of `error.rs`.

use super::ErrorCode;

/// A code that `ALL` lacks does not compile here.
#[test]
fn every_code_is_listed_once() {
    use ErrorCode as E;
    for (position, code) in E::ALL.into_iter().enumerate() {
        let expected = match code {
            E::UnknownParameter => 0,
            E::RepeatedParameter => 1,
            E::EmptyValue => 2,
            E::InvalidValue => 3,
            E::TooLong => 4,
            E::TooManyItems => 5,
            E::ConflictingParameters => 6,
            E::UnsearchableText => 7,
            E::MalformedQuery => 8,
            E::InvalidCursor => 9,
            E::CursorMismatch => 10,
            E::InvalidPosition => 11,
            E::TooManyGroups => 12,
        };
        assert_eq!(position, expected, "{code}");
    }
}
