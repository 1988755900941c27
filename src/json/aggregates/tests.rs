//! The bytes of answers, by hand.

use time::macros::date;

use super::AggregateAnswer;
use crate::query::{AggregateQuery, ParameterSet};
use crate::signal::{Company, Currency, Funding, Signal, SignalId};

fn signal(id: u64, currency: Option<&str>, amount: f64) -> Signal<'static> {
    let mut signal = Signal::new(SignalId::new(id).expect("an id"), "acme", "Acme raises");
    signal.funding = Some(Funding {
        amount: Some(amount),
        currency: currency.and_then(Currency::new),
        ..Funding::default()
    });
    signal
}

fn body(query: &str) -> String {
    let mut acme = Company::new("acme", "Acme \"GmbH\"");
    acme.country = Some("Germany".into());
    let mut dated = signal(1, Some("EUR"), 12_500_000.5);
    dated.date = Some(date!(2026 - 03 - 15));
    let signals = [dated, signal(2, None, 0.1), signal(3, None, 0.2)];
    let query = AggregateQuery::from_query_string(query, ParameterSet::FILTERS).expect("a query");
    let aggregates = query.of(
        signals.iter().map(|signal| (signal, &acme)),
        date!(2026 - 06 - 30),
    );
    let answer = AggregateAnswer {
        query: &query,
        aggregates: &aggregates,
    };
    String::from_utf8(answer.to_bytes()).expect("text")
}

#[test]
fn an_answer_has_the_members_of_the_specification() {
    let expected = r#"{"data":{"groups":[{"key":{"month":"2026-03","countries":"Germany"},"count":1,"companies":1,"amounts":[{"currency":"EUR","count":1,"sum":12500000.5,"median":12500000.5}]}],"truncated":true,"totals":{"groups":2,"count":3,"companies":1,"amounts":[{"currency":"EUR","count":1,"sum":12500000.5,"median":12500000.5},{"currency":null,"count":2,"sum":0.3,"median":0.15}]}}}"#;
    let text = "by=month,countries&measures=companies,sum,median&limit=1";
    assert_eq!(body(text), expected);
}

#[test]
fn what_is_missing_is_null_and_a_company_has_slug_and_name() {
    let years = body("by=year");
    assert!(
        years.contains(r#"[{"key":{"year":"2026"},"count":1},{"key":{"year":null},"count":2}]"#)
    );
    let companies = body("by=company&measures=p25");
    let key = r#"{"key":{"company":{"slug":"acme","name":"Acme \"GmbH\""}},"count":3,"#;
    assert!(companies.contains(key), "{companies}");
}
