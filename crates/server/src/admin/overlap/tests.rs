//! What a form may send.

use super::*;

#[test]
fn only_what_can_be_chosen_is_an_overlap() {
    let read = |text: &str| read(&FormData::parse(text.as_bytes()));
    for choice in OverlapField::of(24).choices {
        let hours: i64 = choice.value.parse().expect("a number");
        assert_eq!(
            read(&format!("overlap={hours}")),
            Ok(Duration::hours(hours))
        );
        assert_eq!(choice.is_chosen, hours == 24);
    }
    for text in [
        "",
        "overlap=",
        "overlap=2",
        "overlap=-1",
        "overlap=24h",
        "overlap=%2B24",
    ] {
        let error = read(text).expect_err(text);
        assert!(
            error.starts_with("overlap is ") && error.contains("0, 1, 24, 168"),
            "{error}"
        );
    }
}
