//! Messages that no client should send: whatever they are, the answer is one of the protocol.

use proptest::prelude::*;
use serde_json::{Value, json};
use signaldex::sample;

use super::{CURRENT, call, stdio};
use crate::fixture::Fixture;

/// Messages that are nearly right.
fn messages() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9 ,\"%&=+-]{0,12}".prop_map(Value::from),
        Just(json!("series a")),
    ];
    let value = leaf.prop_recursive(2, 8, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let object = prop::collection::btree_map("[a-z]{1,4}", inner, 0..3);
        prop_oneof![
            list,
            object.prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    });
    let names = prop::sample::select(vec![
        "q",
        "ids",
        "limit",
        "cursor",
        "companies",
        "country",
        "dateRanges",
        "fundingMin",
        "facets",
        "since",
        "id",
        "slug",
        "idempotencyKey",
        "page",
        "countOnly",
        "contry",
    ]);
    let tools = prop::sample::select(vec![
        "search", "count", "options", "signal", "company", "changes", "x",
    ]);
    let arguments = prop::collection::btree_map(names, value.clone(), 0..4);
    let calls = (tools, arguments).prop_map(|(tool, arguments)| {
        let arguments = arguments
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        call(tool, Value::Object(arguments.collect()))
    });
    let paths = prop::sample::select(vec![
        "/id",
        "/method",
        "/params",
        "/params/name",
        "/params/_meta",
        "/jsonrpc",
    ]);
    (calls, prop::option::weighted(0.3, (paths, value))).prop_map(|(mut message, changed)| {
        if let Some((path, value)) = changed
            && let Some(member) = message.pointer_mut(path)
        {
            *member = value;
        }
        message
    })
}

/// An answer that the protocol knows.
fn assert_answer(answer: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(&answer["jsonrpc"], "2.0");
    let is_result = answer["result"].is_object();
    let is_error = answer["error"]["code"].is_i64() && answer["error"]["message"].is_string();
    prop_assert!(is_result != is_error, "{}", answer);
    Ok(())
}

#[test]
fn whatever_is_sent_the_answer_is_one_of_the_protocol() {
    let fixture = Fixture::start();
    let index = sample::index().expect("the sample corpus");
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(256));
    runner
        .run(&messages(), |message| {
            let answer = fixture.send_message(&message);
            prop_assert!(
                matches!(answer.status, 200 | 202 | 400 | 404),
                "{}",
                answer.status
            );
            if answer.status != 202 {
                assert_answer(&answer.json())?;
            }
            for answer in stdio(index.clone(), format!("{message}\n").as_bytes()) {
                assert_answer(&answer)?;
            }
            Ok(())
        })
        .expect("every answer is one of the protocol");
    let bytes = prop::collection::vec(any::<u8>(), 0..300);
    let json = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", CURRENT),
    ];
    runner
        .run(&bytes, |bytes| {
            let answer = fixture.post("/mcp", &json, &bytes);
            prop_assert_eq!(answer.status, 400);
            assert_answer(&answer.json())?;
            for answer in stdio(index.clone(), &bytes) {
                assert_answer(&answer)?;
            }
            Ok(())
        })
        .expect("every answer is one of the protocol");
}
