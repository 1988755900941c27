//! White-box tests of `metering.rs`.

use super::*;

#[test]
fn months_read_as_they_are_written() {
    for text in ["2026-11", "0001-01", "9999-12"] {
        assert_eq!(
            Month::parse(text).map(|month| month.to_string()).as_deref(),
            Some(text)
        );
    }
    for text in [
        "2026-00",
        "2026-13",
        "2026-1",
        "26-11",
        "2026-11-01",
        "+026-11",
        "",
    ] {
        assert_eq!(Month::parse(text), None, "{text}");
    }
}

#[test]
fn months_are_serialised_as_they_are_written() {
    let month = Month::of_number(202_611);
    let text = serde_json::to_string(&month).expect("JSON");
    assert_eq!(text, "\"2026-11\"");
    assert_eq!(serde_json::from_str::<Month>(&text).ok(), Some(month));
    assert!(serde_json::from_str::<Month>("\"2026-13\"").is_err());
}
