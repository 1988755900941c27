//! White-box tests of `admin/search/query_text.rs`.

use proptest::prelude::*;

use super::*;

fn of(text: &str) -> QueryText {
    QueryText::of(&FormData::parse(text.as_bytes()))
}

#[test]
fn empty_fields_are_left_out_and_boxes_joined() {
    let text = of("q=series+a&all=&categories=funding&categories=hiring&country=Germany");
    assert_eq!(
        text.to_string(),
        "q=series+a&categories=funding,hiring&country=Germany"
    );
    assert_eq!(of("q=a&q=b").to_string(), "q=a&q=b", "an error stays one");
}

#[test]
fn parameters_are_replaced_and_removed() {
    let text = of("q=a&cursor=old&limit=5");
    assert_eq!(
        text.with("cursor", "new").to_string(),
        "q=a&limit=5&cursor=new"
    );
    assert_eq!(text.without("cursor").link(), "/search?q=a&limit=5");
}

#[test]
fn several_spaces_are_no_plus_signs() {
    for (value, written) in [("a  b", "q=a+%20b"), ("a   +b", "q=a+%20+%2Bb")] {
        let text = QueryText(vec![("q".to_owned(), value.to_owned())]);
        assert_eq!(text.to_string(), written);
        assert_eq!(of(written), text);
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(values in prop::collection::vec("\\PC{1,12}", 1..5)) {
        let pairs: Vec<(String, String)> = ["q", "categories", "country", "é=&"]
            .into_iter()
            .zip(&values)
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let text = QueryText(pairs);
        let written = text.to_string();
        prop_assert_eq!(of(&written), text);
        let is_safe = |c: char| c.is_ascii_graphic() && !"'\"\\$`<>".contains(c)
            || c == '$';
        prop_assert!(written.chars().all(is_safe), "{}", written);
    }
}

#[test]
fn an_address_as_typed_means_what_the_api_reads() {
    for (typed, expected) in [
        ("q=C++", "C++"),
        ("q=senior+C%2B%2B", "senior C++"),
        ("q=a%2", "a%2"),
    ] {
        assert_eq!(
            FormData::parse(typed.as_bytes()).value("q"),
            expected,
            "{typed}"
        );
    }
}
