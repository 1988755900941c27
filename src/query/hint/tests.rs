//! White-box tests of `query/hint.rs`.

use super::*;

fn typed(query: &str) -> Vec<String> {
    let query = Query::from_query_string(query).expect("a valid query");
    query.typed_hints(true)
}

fn starts(query: &str) -> Vec<String> {
    let first_words = |hint: &String| {
        hint.split_whitespace()
            .take(3)
            .collect::<Vec<_>>()
            .join(" ")
    };
    typed(query).iter().map(first_words).collect()
}

#[test]
fn operators_are_words_in_capitals_outside_of_quotes() {
    assert_eq!(
        starts("q=robots OR drones&any=a AND b NOT c"),
        ["OR in q", "AND in any", "NOT in any"]
    );
    assert_eq!(starts("q=robots or \"this OR that\" -crypto ORB"), [""; 0]);
    assert_eq!(
        starts("exact=this OR that&company=Barnes AND Noble"),
        [""; 0]
    );
    assert_eq!(starts("q=a OR b OR c"), ["OR in q"], "said once");
}

#[test]
fn a_star_that_stands_for_nothing_is_told() {
    assert_eq!(
        starts("q=*robot&exclude=C%2B%2B* x"),
        ["the * of", "the * of"]
    );
    assert_eq!(starts("q=M*Modal"), [""; 0]);
}

#[test]
fn a_plus_at_an_end_is_a_space() {
    let plus =
        |name: &str| format!("a + at an end in {name} is a space; for a plus sign write %2B");
    assert_eq!(typed("q=series+C+"), [plus("q")]);
    assert_eq!(typed("q=\"series C+\"+round"), [plus("q")]);
    assert_eq!(typed("q=%22series+C+%22"), [plus("q")]);
    assert_eq!(typed("companies=a,\"b+\""), [plus("companies")]);
    assert_eq!(typed("q=series+a+round&size=501+"), [""; 0]);
    assert_eq!(typed("q=C++"), [""; 0]);
    assert_eq!(typed("q=series+C%2B"), [""; 0]);
}

#[test]
fn a_list_where_one_value_is_taken_is_told() {
    let sentence =
        |parameter, value: &str| Hint::Value(parameter, value.to_owned(), None).to_string();
    assert_eq!(
        sentence(Parameter::Country, "germany,france"),
        "no signal has country \"germany,france\"; country takes one value, not a list"
    );
    assert_eq!(
        sentence(Parameter::Categories, "a,b"),
        "no signal has categories \"a,b\"",
        "an item with a comma of its own"
    );
}

#[test]
fn every_sentence_is_short() {
    let long = "é*".repeat(200);
    let hints = [
        Hint::Operator(Parameter::Exclude, Operator::Not),
        Hint::Star(Parameter::Companies, long.clone()),
        Hint::Plus(Parameter::Companies),
        Hint::Value(Parameter::FundingCurrency, long.clone(), Some(long.clone())),
        Hint::TitleWord(long.clone(), Some(long.clone())),
        Hint::TitlePrefix(long.clone()),
        Hint::NameWord(long),
    ];
    for hint in hints {
        assert!(hint.to_string().chars().count() <= 300, "{hint}");
    }
}

#[test]
fn what_was_typed_has_no_part_in_what_a_query_means() {
    let query = |text: &str| Query::from_query_string(text).expect("a valid query");
    assert_eq!(query("q=a OR b"), query("q=a or b"));
    let replaced = query("q=a OR b").into_builder().keywords("a or b").build();
    let replaced = replaced.expect("a valid query");
    assert_eq!(replaced.typed_hints(true), [""; 0]);
}
