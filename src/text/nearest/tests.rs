//! White-box tests of `text/nearest.rs`.

use super::*;

#[test]
fn distances_count_each_kind_of_slip_once() {
    let between = |one: &str, other: &str| distance(&letters(one), &letters(other));
    assert_eq!(between("country", "country"), 0);
    assert_eq!(between("contry", "country"), 1);
    assert_eq!(between("countrry", "country"), 1);
    assert_eq!(between("countri", "country"), 1);
    assert_eq!(between("conutry", "country"), 1);
    assert_eq!(between("", "abc"), 3);
    assert_eq!(between("abc", ""), 3);
}

#[test]
fn only_what_is_near_is_suggested() {
    let known = ["q", "all", "any", "country", "companySlug", "funding.stage"];
    let nearest = |name| nearest_name(name, known);
    assert_eq!(nearest("Country"), Some("country"));
    assert_eq!(nearest("company slug"), Some("companySlug"));
    assert_eq!(nearest("stge"), Some("funding.stage"));
    assert_eq!(nearest("funding.stge"), Some("funding.stage"));
    assert_eq!(nearest("x"), None);
    assert_eq!(nearest(""), None);
    assert_eq!(nearest("zebra"), None);
    assert_eq!(nearest(&"c".repeat(1_000_000)), None);
}
