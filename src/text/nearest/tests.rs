//! White-box tests of `text/nearest.rs`.

use proptest::prelude::*;

use super::*;

/// The distance of texts, at most 64.
fn between(one: &str, other: &str) -> usize {
    let [one, other] = [one, other].map(|text| letters(text).collect::<Vec<_>>());
    let distance = EditRows::default().distance(&one, &other, LETTERS_MAX);
    distance.expect("at most the longer of two texts")
}

/// The nearest of all names by a distance that has no bound, one after the other.
fn slow_nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let length = letters(name).count();
    let forms = known.iter().flat_map(|&known| {
        let last = known.rsplit('.').next().unwrap_or(known);
        [known, last].map(|form| (between(name, form), known))
    });
    let (distance, nearest) = forms.min_by_key(|&(distance, _)| distance)?;
    (distance <= (length / 3).clamp(1, 3) && distance < length).then_some(nearest)
}

proptest! {
    #[test]
    fn bounds_change_no_answer(
        name in "[abc]{0,9}",
        known in prop::collection::vec("[abcC_.ä]{0,9}", 0..6),
    ) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let found = nearest_name(&name, known.iter().copied());
        prop_assert_eq!(found, slow_nearest(&name, &known));
    }

    #[test]
    fn a_bound_only_leaves_out(one in "[ab]{0,6}", other in "[ab]{0,6}", max in 0_usize..4) {
        let exact = between(&one, &other);
        let [one, other] = [one, other].map(|text| text.chars().collect::<Vec<_>>());
        let found = EditRows::default().distance(&one, &other, max);
        prop_assert_eq!(found, Some(exact).filter(|exact| *exact <= max));
    }
}

#[test]
fn letters_are_those_of_unicode() {
    for letter in ('\0'..=char::MAX).filter(|letter| !matches!(letter, '_' | '-' | ' ')) {
        assert!(
            letters(&letter.to_string()).eq(letter.to_lowercase()),
            "{letter:?}"
        );
    }
}

#[test]
fn distances_count_each_kind_of_slip_once() {
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
