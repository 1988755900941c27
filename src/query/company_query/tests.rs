//! White-box tests of `query/company_query.rs` and its builder.

use super::*;
use crate::query::{ErrorCode, Query};

fn errors(text: &str) -> Vec<(String, ErrorCode)> {
    let invalid = CompanyQuery::from_query_string(text).expect_err("an invalid query");
    let pair = |error: &crate::query::ParameterError| (error.parameter.to_string(), error.code);
    invalid.errors().iter().map(pair).collect()
}

fn is_valid(text: &str) -> bool {
    CompanyQuery::from_query_string(text).is_ok()
}

#[test]
fn each_bound_holds_at_its_end_and_not_past_it() {
    let long = |name: &str, n: usize| format!("{name}={}", "a".repeat(n));
    for name in [
        "city",
        "company",
        "companySlug",
        "companies",
        "country",
        "industry",
    ] {
        assert!(is_valid(&long(name, 180)), "{name}");
        assert_eq!(
            errors(&long(name, 181)),
            [(name.to_owned(), ErrorCode::TooLong)]
        );
    }
    for (allowed, refused) in [
        ("foundedFrom=9999", "foundedFrom=10000"),
        ("foundedTo=0", "foundedTo=-1"),
        ("foundedTo=5", "foundedTo=05"),
        (
            "employeesMin=999999999999999",
            "employeesMin=1000000000000000",
        ),
        ("employeesMax=0", "employeesMax=1.5"),
        ("limit=50", "limit=51"),
        ("limit=1", "limit=0"),
        ("page=100", "page=101"),
        ("order=-matches", "order=matches"),
        (
            "countOnly=true&facets=sizes,countries",
            "countOnly=true&facets=categories",
        ),
        ("size=501+", "size=501"),
    ] {
        assert!(is_valid(allowed), "{allowed}");
        let found = errors(refused);
        assert_eq!(found.len(), 1, "{refused}: {found:?}");
        assert_eq!(found[0].1, ErrorCode::InvalidValue, "{refused}");
    }
    assert!(is_valid(
        "foundedFrom=1999&foundedTo=1999&employeesMin=7&employeesMax=7"
    ));
    let found = errors("foundedFrom=2000&foundedTo=1999&employeesMin=8&employeesMax=7");
    let conflict = |name: &str| (name.to_owned(), ErrorCode::ConflictingParameters);
    assert_eq!(found, [conflict("foundedFrom"), conflict("employeesMin")]);
}

#[test]
fn parameters_that_exclude_each_other_are_told() {
    let conflict = |name: &str| vec![(name.to_owned(), ErrorCode::ConflictingParameters)];
    assert_eq!(errors("facets=sizes"), conflict("facets"));
    assert_eq!(errors("countOnly=true&page=2"), conflict("page"));
    let cursor = cursor_of("country=Germany");
    assert!(is_valid(&format!(
        "country=germany&cursor={cursor}&limit=3"
    )));
    let mismatch = [("cursor".to_owned(), ErrorCode::CursorMismatch)];
    for other in [
        "country=France&",
        "",
        "country=Germany&order=-latest&",
        "country=Germany&has=()&",
    ] {
        assert_eq!(
            errors(&format!("{other}cursor={cursor}")),
            mismatch,
            "{other}"
        );
    }
    assert_eq!(
        errors(&format!("country=Germany&cursor={cursor}&page=2")),
        conflict("page")
    );
    assert_eq!(
        errors(&format!("country=Germany&cursor={cursor}&countOnly=true")),
        conflict("cursor")
    );
    let long = "A".repeat(2049);
    assert_eq!(errors(&format!("cursor={long}"))[0].1, ErrorCode::TooLong);
    assert_eq!(
        errors(&format!("cursor={}", &long[1..]))[0].1,
        ErrorCode::InvalidCursor
    );
    let of_signals = Query::from_query_string("").expect("a valid query");
    let of_signals = of_signals.cursor_after(crate::SignalId::MIN, Date::MIN);
    assert_eq!(
        errors(&format!("cursor={of_signals}"))[0].1,
        ErrorCode::InvalidCursor
    );
}

fn cursor_of(text: &str) -> CompanyCursor {
    let query = CompanyQuery::from_query_string(text).expect("a valid query");
    let key = CompanyKey {
        value: None,
        slug: "acme".into(),
    };
    query.cursor_after_key(key, time::macros::date!(2026 - 06 - 30))
}

#[test]
fn a_filter_of_signals_is_told_where_it_belongs() {
    let invalid = CompanyQuery::from_query_string("categories=funding&q=a&ids=1&contry=x");
    let invalid = invalid.expect_err("unknown parameters");
    let messages: Vec<&str> = invalid
        .errors()
        .iter()
        .map(|error| &*error.message)
        .collect();
    assert!(
        messages[0].contains("has=(categories=funding,hiring)"),
        "{messages:?}"
    );
    assert!(messages[1].contains("has=(q="), "{messages:?}");
    assert!(
        messages[2].starts_with("\"ids\" is not a parameter here"),
        "{messages:?}"
    );
    assert!(
        messages[3].contains("did you mean country?"),
        "{messages:?}"
    );
    assert!(
        invalid
            .errors()
            .iter()
            .all(|error| error.code == ErrorCode::UnknownParameter)
    );
    assert!(messages.iter().all(|message| message.chars().count() < 600));
}

#[test]
fn every_fault_of_every_parameter_is_told() {
    let found = errors("city=&limit=0&has=(days=8),(x=1)&hasNot=(&order=x&order=slug&foundedTo=x");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    // What searches have, too, comes first.
    assert_eq!(
        names,
        [
            "limit",
            "order",
            "city",
            "foundedTo",
            "has",
            "has",
            "hasNot",
            "order"
        ]
    );
}

#[test]
fn a_query_is_read_as_it_was_written() {
    for text in [
        "",
        "company=r%26d labs&companies=acme,\"b, c\"&city=São Paulo&limit=7&page=3",
        "has=(country=\"Korea (South)\";min=0;max=2),(q=a -\"b c\")&hasNot=(categories=\"a;b\",c)&order=-matches",
        "countOnly=true&facets=industries&employeesMin=1&employeesMax=2&foundedFrom=0",
    ] {
        let query = CompanyQuery::from_query_string(text).expect("a valid query");
        assert_eq!(query.to_string().parse(), Ok(query.clone()), "{query}");
        assert_eq!(query.clone().into_builder().build(), Ok(query));
    }
    let cursor = cursor_of("");
    let query = CompanyQuery::builder()
        .after(&cursor)
        .build()
        .expect("a cursor without filters");
    assert_eq!(query.to_string().parse(), Ok(query));
}
