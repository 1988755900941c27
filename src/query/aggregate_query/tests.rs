//! Bounds and faults of the parameters, and the text form.

use super::AggregateQuery;
use crate::query::{AggregateOrder, ParameterSet};

fn parse(text: &str) -> Result<AggregateQuery, crate::query::InvalidQuery> {
    AggregateQuery::from_query_string(text, ParameterSet::FILTERS)
}

/// The parameter and the code of each error.
fn faults(text: &str) -> Vec<(String, &'static str)> {
    let errors = parse(text).expect_err(text);
    let errors = errors.errors().iter();
    errors
        .map(|error| (error.parameter.clone(), error.code.as_str()))
        .collect()
}

#[test]
fn each_fault_has_its_parameter_and_code() {
    for (text, parameter, code) in [
        ("by=", "by", "empty_value"),
        ("by=month,", "by", "empty_value"),
        ("by=months", "by", "invalid_value"),
        ("by=month,month", "by", "invalid_value"),
        ("by=company,company", "by", "invalid_value"),
        ("by=month,year", "by", "conflicting_parameters"),
        ("by=company,sizes", "by", "conflicting_parameters"),
        ("by=sizes,company", "by", "conflicting_parameters"),
        ("by=month,sizes,countries", "by", "too_many_items"),
        ("measures=", "measures", "empty_value"),
        ("measures=mean", "measures", "invalid_value"),
        ("order=count", "order", "invalid_value"),
        ("order=-sum", "order", "conflicting_parameters"),
        ("limit=0", "limit", "invalid_value"),
        ("limit=1001", "limit", "invalid_value"),
        ("limit=01", "limit", "invalid_value"),
        ("by=month&by=year", "by", "repeated_parameter"),
        ("cursor=a", "cursor", "unknown_parameter"),
        ("page=2", "page", "unknown_parameter"),
        ("countOnly=true", "countOnly", "unknown_parameter"),
        ("groupsMax=5", "groupsMax", "unknown_parameter"),
        ("contry=Germany", "contry", "unknown_parameter"),
    ] {
        assert_eq!(faults(text), [(parameter.to_owned(), code)], "{text}");
    }
}

#[test]
fn all_faults_are_told() {
    let parameters = faults("days=8&by=x&measures=y&order=-sum&limit=0");
    let parameters: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(parameters, ["days", "by", "measures", "limit", "order"]);
}

#[test]
fn bounds_are_allowed() {
    assert_eq!(parse("limit=1000").expect("a query").limit(), Some(1000));
    assert_eq!(parse("limit=1").expect("a query").limit(), Some(1));
    let twice = parse("measures=sum,sum,count").expect("a query");
    assert_eq!(twice.measures().len(), 2);
}

#[test]
fn orders_have_defaults() {
    let order = |text| parse(text).expect("a query").order();
    assert_eq!(order("by=month,sizes"), AggregateOrder::Key);
    assert_eq!(order("by=sizes,month"), AggregateOrder::Count);
    assert_eq!(order("by=company"), AggregateOrder::Count);
    assert_eq!(order(""), AggregateOrder::Count);
}

#[test]
fn the_text_form_reads_back() {
    for text in [
        "",
        "q=C++ robots&by=company&order=key&limit=7",
        "by=sizes,week&measures=p75,companies&fundingCurrency=EUR&order=-sum",
        "by=day&order=-key",
    ] {
        let query = parse(text).expect("a query");
        assert_eq!(query.to_string().parse(), Ok(query.clone()), "{text}");
        let unlimited = AggregateQuery {
            limit: None,
            groups_max: 3,
            ..query
        };
        assert_eq!(unlimited.to_string().parse(), Ok(unlimited), "{text}");
    }
}
