//! White-box tests of `mcp/conditions.rs`: what is written is read as the filters of a search.

use serde_json::json;

use super::*;
use signaldex::Filter;
use signaldex::query::{CompanyQuery, Condition};

/// The conditions that a list of objects makes, through the text of the API.
fn read(value: &Value) -> Vec<Condition> {
    let ToolConditions { text, errors } = ToolConditions::of("has", value);
    assert_eq!(errors, [], "{value}");
    let text = text.expect("a text");
    let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let query = CompanyQuery::from_query_string(&format!("has={encoded}"));
    query.expect(&text).filter().has().to_vec()
}

/// The condition of a filter that is built, not written.
fn condition(filter: Filter) -> Condition {
    Condition::new(filter)
}

#[test]
fn values_mean_what_they_mean_in_a_search() {
    let filter = |text: &str| {
        let pairs: Vec<String> = text
            .split('&')
            .map(|pair| {
                let (name, value) = pair.split_once('=').expect("a pair");
                let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
                format!("{name}={value}")
            })
            .collect();
        Filter::from_query_string(&pairs.join("&")).expect(text)
    };
    for (object, text) in [
        (
            json!({"q": "\"series a\" -crypto"}),
            "q=\"series a\" -crypto",
        ),
        (json!({"q": "raises \"series a"}), "q=raises \"series a"),
        (json!({"q": "\"a;b (c)\" d"}), "q=\"a;b (c)\" d"),
        (json!({"q": "C++ robots"}), "q=C++ robots"),
        (
            json!({"exact": "series a", "days": 90}),
            "exact=series a&days=90",
        ),
        (
            json!({"categories": ["a;b", "c,d", "e\"f", " g ", "(h)"]}),
            "categories=a;b,\"c,d\",e\"f,\" g \",(h)",
        ),
        (
            json!({"categories": "funding,hiring"}),
            "categories=funding,hiring",
        ),
        (
            json!({"companies": ["Smith, Jones", "acme"]}),
            "companies=\"Smith, Jones\",acme",
        ),
        (json!({"country": "Korea (South)"}), "country=Korea (South)"),
        (json!({"country": "a\"b"}), "country=a\"b"),
        (
            json!({"fundingStage": "Series A", "fundingMin": 1.0e6}),
            "fundingStage=Series A&fundingMin=1000000",
        ),
        (
            json!({"hiringType": ["new-role"], "size": "501+"}),
            "hiringType=new-role&size=501+",
        ),
        (
            json!({"dateFrom": "2026-01-01", "dateTo": null}),
            "dateFrom=2026-01-01",
        ),
    ] {
        assert_eq!(
            read(&json!([object])),
            [condition(filter(text))],
            "{object}"
        );
    }
    let two = read(&json!([{}, {"min": 2, "max": 5.0}]));
    assert_eq!(
        two,
        [
            Condition::default(),
            Condition::default().with_min(2).with_max(5)
        ]
    );
    assert_eq!(
        read(&json!("(min=2),()")),
        [Condition::default().with_min(2), Condition::default()]
    );
}

#[test]
fn what_cannot_be_written_is_named_with_its_condition() {
    for (value, messages) in [
        (json!(7), vec!["has has to be a list of objects"]),
        (json!([1]), vec!["has, condition 1: has to be an object"]),
        (
            json!([{}, {"q": ["a"]}]),
            vec!["has, condition 2: q has to be one value"],
        ),
        (
            json!([{"categories": [{}]}]),
            vec!["has, condition 1: categories has to be a list of strings"],
        ),
        (
            json!([{"q": "a;b"}]),
            vec!["has, condition 1: q has a semicolon"],
        ),
        (
            json!([{"exact": "a (b)"}]),
            vec!["has, condition 1: exact has a semicolon"],
        ),
        (
            json!([{"a=b": 1}]),
            vec!["has, condition 1: \"a=b\" is not a filter"],
        ),
        (
            json!([{"q": {}}, {"days": []}]),
            vec!["has, condition 1: q has", "has, condition 2: days has"],
        ),
    ] {
        let found = ToolConditions::of("has", &value).errors;
        assert_eq!(found.len(), messages.len(), "{value}");
        for (error, start) in found.iter().zip(messages) {
            assert!(error.message.starts_with(start), "{}", error.message);
        }
    }
}
