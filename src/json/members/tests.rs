//! The slow reader of JSON is the law of the fast one.

use proptest::prelude::*;

use super::*;
use crate::json::input::{parse_company_noting, parse_signal_noting};
use crate::json::unknown::UnknownNames;
use crate::json::{parse_company, parse_signal};

/// Values that are right for some field, and values that are for none.
fn value() -> impl Strategy<Value = String> {
    let written = [
        "null",
        "true",
        "7",
        "0",
        "-3",
        "1.5",
        "1e3",
        "1.0",
        "\"\"",
        "\"acme\"",
        "\" acme \"",
        "\"'=1\"",
        "\"7\"",
        "\"07\"",
        "\"1.200\"",
        "\"1,200\"",
        "\"1200.0\"",
        "\"12.50\"",
        "\"eur\"",
        "\"USD\"",
        "\"€5\"",
        "\"2026-06-12\"",
        "\"2026-06-12T00:00:00Z\"",
        "\"2026-06-12 10:00\"",
        "\"2026-06-12T10:00:00+02:00\"",
        "\"\\u00e9\"",
        "[]",
        "{}",
        "{\"stage\":\"Seed\"}",
        "{\"amount\":5,\"currency\":\"usd\"}",
        "{\"seniority\":\"senior\"}",
    ];
    prop::sample::select(written.to_vec()).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    let names = RecordKind::Company
        .fields()
        .chain(RecordKind::Signal.fields());
    let spelt = names.flat_map(|name| {
        let snake = name.replace('.', "_").to_uppercase();
        [name.to_owned(), name.to_owned(), snake]
    });
    let others = [
        "funding",
        "hiring",
        "Funding",
        "companyName",
        "contry",
        "Signal ID",
        "signalCount",
    ];
    let all: Vec<String> = spelt.chain(others.map(str::to_owned)).collect();
    prop::sample::select(all)
}

fn line() -> impl Strategy<Value = String> {
    let required = r#""slug":"s","name":"n""#;
    let of_signal = r#""id":7,"slug":"s","title":"t","companySlug":"c""#;
    let begin = prop::sample::select(vec!["", required, of_signal]);
    (begin, prop::collection::vec((name(), value()), 0..6)).prop_map(|(begin, members)| {
        let members = members
            .into_iter()
            .map(|(name, value)| format!("{name:?}:{value}"));
        let members: Vec<String> = Some(begin.to_owned())
            .filter(|begin| !begin.is_empty())
            .into_iter()
            .chain(members)
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_the_fast_reader_accepts_is_what_the_slow_one_reads(line in line()) {
        let line = line.as_bytes();
        let declined = || RecordError::of_line("declined");
        if let Ok(fast) = parse_signal_noting(line, &mut UnknownNames::of(RecordKind::Signal)) {
            prop_assert_eq!(Ok(fast), read_signal(line, declined()));
        }
        if let Ok(fast) = parse_company_noting(line, &mut UnknownNames::of(RecordKind::Company)) {
            prop_assert_eq!(Ok(fast), read_company(line, declined()));
        }
    }
}

#[test]
fn members_are_named_as_headers_are() {
    let line = r#"{"Company Slug": "acme", "signal_id": "7", "SLUG": "s", "Title": "t", "hiring_type": "new-role",
                   "funding amount": "€5", "Funding": {"Stage": "Seed"}, "unknown": 1}"#;
    let signal = parse_signal(line.as_bytes()).expect("a signal");
    assert_eq!(
        (signal.id.get(), &*signal.company_slug, &*signal.title),
        (7, "acme", "t")
    );
    let funding = signal.funding.expect("a round");
    assert_eq!(
        (funding.stage.as_deref(), funding.amount),
        (Some("Seed"), Some(5.0))
    );
    assert_eq!(
        funding
            .currency
            .map(|currency| currency.to_string())
            .as_deref(),
        Some("EUR")
    );
    assert_eq!(
        signal
            .hiring
            .and_then(|hiring| hiring.hiring_type)
            .as_deref(),
        Some("new-role")
    );
}

#[test]
fn a_field_of_two_names_is_given_twice() {
    let error = parse_company(br#"{"slug": "a", "name": "A", "Company Name": "B"}"#)
        .expect_err("two names");
    assert_eq!(
        error.to_string(),
        "name: is given twice; a field is given once"
    );
}

#[test]
fn an_object_without_members_stays_one() {
    let line = br#"{"ID": 7, "slug": "s", "title": "t", "companySlug": "c", "funding": {}, "hiring": null}"#;
    let signal = parse_signal(line).expect("a signal");
    assert!(signal.funding.is_some() && signal.hiring.is_none());
}
