//! Words for errors, marks in titles.

use super::marked;
use super::words::WordedFault;
use signaldex::query::PARAMETERS;
use signaldex::{Filter, Query};

fn marks(title: &str, query: &str) -> String {
    let filter = Filter::from_query_string(query).expect("a filter");
    let pieces = marked::pieces(title, &filter);
    let text = |piece: &marked::TitlePiece| {
        if piece.is_match {
            format!("[{}]", piece.text)
        } else {
            piece.text.clone()
        }
    };
    pieces.iter().map(text).collect()
}

#[test]
fn words_that_were_searched_for_are_marked_as_they_are_written() {
    for (title, query, expected) in [
        (
            "Acme raises Series A",
            "q=%22series+a%22",
            "Acme raises [Series] [A]",
        ),
        (
            "Café opens, café grows",
            "q=cafe",
            "[Café] opens, [café] grows",
        ),
        (
            "A C++ team and a C team",
            "q=C%2B%2B",
            "A [C++] team and a C team",
        ),
        ("Robots <b>", "q=b+-x&any=robots", "[Robots] <[b]>"),
        ("Nothing here", "q=else", "Nothing here"),
        ("", "q=a", ""),
    ] {
        assert_eq!(marks(title, query), expected, "{title}");
    }
}

fn errors(query: &str) -> Vec<WordedFault> {
    let invalid = Query::from_query_string(query).expect_err("errors");
    invalid.errors().iter().map(WordedFault::of).collect()
}

#[test]
fn errors_are_worded_for_people() {
    let long = "x".repeat(1001);
    for (query, label, text) in [
        (
            "q=-",
            Some("Words in the title"),
            "Enter at least one letter or digit.",
        ),
        (
            "dateFrom=2026-02-30",
            Some("Date from"),
            "Enter a day of the calendar as YYYY-MM-DD.",
        ),
        (
            "days=8",
            Some("Within the last"),
            "Choose one of 7, 30, 90.",
        ),
        (
            "fundingMin=-1",
            Some("Funding at least"),
            "Enter a number of at least 0, such as 1500000.",
        ),
        (
            "fundingMin=5&fundingMax=1",
            Some("Funding at least"),
            "The lowest amount is above the highest.",
        ),
        (
            "dateFrom=2026-02-02&dateTo=2026-02-01",
            Some("Date from"),
            "The first day is after the last.",
        ),
        (
            "ids=x",
            Some("Ids"),
            "Enter ids, whole numbers of 1 to 19 digits, separated by commas.",
        ),
        (
            "limit=51",
            Some("Signals per page"),
            "Enter a whole number from 1 to 50.",
        ),
        (
            "order=-amount",
            Some("Order"),
            "Choose a funding currency too: amounts are compared within one.",
        ),
        (
            "cursor=x",
            None,
            "This page belongs to another search; search again.",
        ),
        (
            "contry=x",
            None,
            "There is no filter “contry”. Did you mean country?",
        ),
        (
            &format!("all={long}"),
            Some("Title: all of these"),
            "Use at most 1000 characters.",
        ),
        (
            "size=5,6",
            Some("Employees"),
            "Choose one of 1-49, 50-100, 101-500, 501+.",
        ),
    ] {
        let found = errors(query);
        assert_eq!(found.len(), 1, "{query}");
        assert_eq!(
            (found[0].label, found[0].text.as_str()),
            (label, text),
            "{query}"
        );
    }
}

#[test]
fn every_field_of_the_form_has_a_label() {
    let template = include_str!("../templates/search.html");
    for known in PARAMETERS {
        let error = WordedFault::of(&signaldex::query::ParameterError::new(
            known.name,
            signaldex::query::ErrorCode::TooLong,
            "",
        ));
        let is_in_form = !["cursor", "page", "countOnly"].contains(&known.name);
        assert_eq!(error.label.is_some(), is_in_form, "{}", known.name);
    }
    for name in ["limit", "order"] {
        assert!(
            template.contains(&format!("fields.error(\"{name}\")")),
            "{name}"
        );
    }
}
