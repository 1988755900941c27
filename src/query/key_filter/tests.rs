//! White-box tests of `key_filter.rs`.

use super::*;

fn texts(filters: &[Filter]) -> Vec<String> {
    filters.iter().map(ToString::to_string).collect()
}

fn faults(filters: &[&str], exceptions: &[&str]) -> Vec<String> {
    let error =
        KeyFilter::parse(filters.iter().copied(), exceptions.iter().copied()).expect_err("a fault");
    error.faults().iter().map(ToString::to_string).collect()
}

#[test]
fn filters_have_one_text_whatever_their_order_and_spelling() {
    let one = KeyFilter::parse(["country=Japan", "q=robots+raise"], ["size=1-49"]);
    let other = KeyFilter::parse(
        ["q=Raise%20ROBOTS", " country=JAPAN ", "country=japan"],
        ["size=1-49", "size=1-49"],
    );
    let (one, other) = (one.expect("valid"), other.expect("valid"));
    assert_eq!(one, other);
    assert_eq!(one.fingerprint(), other.fingerprint());
    assert_eq!(
        one.to_string(),
        "filter all=raise+robots\nfilter country=japan\nexcept size=1-49"
    );
    assert_eq!(texts(one.exceptions()), ["size=1-49"]);
    assert_eq!(one, one.to_string().parse().expect("its own text"));
}

#[test]
fn every_fault_names_which_and_what_is_allowed() {
    let found = faults(&["country=Germany", "days=8&contry=x", ""], &["ids=5"]);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].starts_with("filter 2: days is "), "{found:?}");
    assert!(found[1].contains("did you mean country?"), "{found:?}");
    assert_eq!(found[2], format!("filter 3 {EMPTY}"));
    assert!(found[3].starts_with("exception 1: "), "{found:?}");
    for name in [
        "ids",
        "activityIds",
        "limit",
        "cursor",
        "page",
        "countOnly",
        "order",
    ] {
        let found = faults(&[&format!("{name}=1")], &[]);
        assert!(found[0].contains("is not a parameter here"), "{found:?}");
    }
}

#[test]
fn numbers_and_lengths_have_bounds() {
    let many = vec!["days=7"; KEY_FILTERS_MAX + 1];
    assert_eq!(
        faults(&[], &many),
        ["exceptions are 17; at most 16 are allowed"]
    );
    let most = || many[1..].iter().copied();
    assert!(KeyFilter::parse(most(), most()).is_ok());
    let long = format!("country={}", "x".repeat(KEY_FILTER_BYTES_MAX));
    assert_eq!(
        faults(&[&long], &[]),
        ["filter 1 has 8008 bytes; at most 8000 are allowed"]
    );
    assert!(faults(&[], &[])[0].starts_with("filters are missing"));
    assert_eq!(faults(&["&&"], &[]), [format!("filter 1 {EMPTY}")]);
}

#[test]
fn a_former_text_stays_what_it_was() {
    // As one name of two words, which a typed query cannot say.
    let stored = "filter company=%EF%BC%82r%20d%EF%BC%82\nexcept days=7";
    let former: KeyFilter = stored.parse().expect("a stored filter");
    let text = former.filters()[0].to_string();
    let edited = KeyFilter::edited(Some(&former), Some(&[&text, "days=30"]), None);
    let edited = edited.expect("valid").expect("some");
    assert!(edited.filters().contains(&former.filters()[0]));
    assert_eq!(edited.exceptions(), former.exceptions());
    assert_eq!(edited.filters().len(), 2);
}

#[test]
fn stored_texts_that_are_none_are_refused() {
    for text in ["", "country=japan", "filter days=8", "filter "] {
        assert!(text.parse::<KeyFilter>().is_err(), "{text}");
    }
}
