//! White-box tests of `mcp/arguments.rs`.

use super::*;
use serde_json::json;

fn query_of(tool: Tool, arguments: Value) -> String {
    let arguments = arguments.as_object().expect("an object");
    target(tool, arguments).expect("valid arguments").query
}

fn messages(tool: Tool, arguments: Value) -> Vec<String> {
    let arguments = arguments.as_object().expect("an object");
    let problem = target(tool, arguments).expect_err("invalid arguments");
    let messages = problem.errors.into_iter().map(|error| error.message);
    messages.collect()
}

#[test]
fn values_become_the_query_string_that_means_the_same() {
    let cases = [
        (json!({}), ""),
        (
            json!({"q": "\"series a\" -crypto"}),
            "q=%22series%20a%22%20%2Dcrypto",
        ),
        (json!({"limit": 10, "country": null}), "limit=10"),
        (json!({"limit": 10.0}), "limit=10"),
        (json!({"fundingMin": 0.5}), "fundingMin=0%2E5"),
        (
            json!({"categories": ["funding", "hiring"]}),
            "categories=funding%2Chiring",
        ),
        (
            json!({"companies": ["Example, Inc."]}),
            "companies=%22Example%2C%20Inc%2E%22",
        ),
        (json!({"companies": "acme,beta"}), "companies=acme%2Cbeta"),
        (
            json!({"ids": [7_477_456_168_553_964_859_u64]}),
            "ids=7477456168553964859",
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(query_of(Tool::Search, arguments), expected);
    }
    assert_eq!(
        query_of(Tool::Count, json!({"size": "501+"})),
        "size=501%2B&countOnly=true"
    );
}

#[test]
fn all_errors_are_reported_together() {
    let arguments = json!({
        "contry": "Germany", "limit": 0, "country": ["Germany"], "idempotencyKey": "short", "days": 8
    });
    let messages = messages(Tool::Search, arguments);
    assert_eq!(messages.len(), 5, "{messages:#?}");
    for expected in [
        "did you mean country?",
        "country has to be one value",
        "idempotencyKey has to be 8 to 128",
        "limit",
        "days",
    ] {
        assert!(
            messages.iter().any(|message| message.contains(expected)),
            "{expected}: {messages:#?}"
        );
    }
}

#[test]
fn a_tool_refuses_what_only_another_takes() {
    for (tool, name) in [
        (Tool::Search, "countOnly"),
        (Tool::Count, "limit"),
        (Tool::Options, "ids"),
        (Tool::Changes, "cursor"),
        (Tool::Signal, "q"),
    ] {
        let arguments = json!({ name: "1", "id": "7" });
        let messages = messages(tool, arguments);
        let expected = format!("\"{name}\" is not an argument of {}", tool.name());
        assert!(
            messages
                .iter()
                .any(|message| message.starts_with(&expected)),
            "{messages:?}"
        );
    }
}

#[test]
fn what_a_record_needs_is_asked_for() {
    assert_eq!(
        messages(Tool::Signal, json!({})),
        ["id is missing; it is required"]
    );
    assert_eq!(
        messages(Tool::Company, json!({"slug": null})),
        ["slug is missing; it is required"]
    );
    assert_eq!(
        messages(Tool::Company, json!({"slug": ""})),
        ["slug is empty"]
    );
    assert!(
        messages(Tool::Signal, json!({"id": "07"}))[0].starts_with("id has to be a whole number")
    );
}

#[test]
fn idempotency_keys_are_bounded() {
    for (length, is_valid) in [(7, false), (8, true), (128, true), (129, false)] {
        let arguments = json!({ IDEMPOTENCY_KEY: "k".repeat(length) });
        let target = target(Tool::Search, arguments.as_object().expect("an object"));
        assert_eq!(target.is_ok(), is_valid, "{length}");
    }
}

#[test]
fn the_request_of_an_endpoint_is_bounded() {
    let frame = "/api/v1/signals?cursor=".len();
    for (length, is_valid) in [
        (URI_BYTES_MAX - frame, true),
        (URI_BYTES_MAX - frame + 1, false),
    ] {
        let arguments = json!({ "cursor": "c".repeat(length) });
        let target = target(Tool::Search, arguments.as_object().expect("an object"));
        let parts = target
            .expect("the endpoint judges cursors")
            .parts(Tool::Search);
        assert_eq!(parts.is_ok(), is_valid, "{length}");
    }
}
