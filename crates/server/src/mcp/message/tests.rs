//! White-box tests of `mcp/message.rs`.

use proptest::prelude::*;

use super::*;

fn refusal(text: &str) -> (i64, Option<Value>) {
    match parse(text.as_bytes()) {
        Err((id, error)) => (error.code, id),
        Ok(message) => panic!("{text}: {message:?}"),
    }
}

#[test]
fn each_error_has_its_code_and_the_id_that_could_be_read() {
    let cases = [
        ("", PARSE_ERROR, None),
        ("{", PARSE_ERROR, None),
        ("\u{feff}{}", PARSE_ERROR, None),
        ("[]", INVALID_REQUEST, None),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            INVALID_REQUEST,
            None,
        ),
        ("7", INVALID_REQUEST, None),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            INVALID_REQUEST,
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            INVALID_REQUEST,
            None,
        ),
        (
            r#"{"id":1,"method":"ping"}"#,
            INVALID_REQUEST,
            Some(json!(1)),
        ),
        (
            r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
            INVALID_REQUEST,
            Some(json!("a")),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            INVALID_REQUEST,
            Some(json!(1)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            INVALID_REQUEST,
            Some(json!(1)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":-1,"method":"ping","params":[]}"#,
            INVALID_PARAMS,
            Some(json!(-1)),
        ),
    ];
    for (text, code, id) in cases {
        assert_eq!(refusal(text), (code, id), "{text}");
    }
}

#[test]
fn deep_nesting_is_an_error_of_the_parser() {
    assert_eq!(refusal(&"[".repeat(60_000)), (PARSE_ERROR, None));
}

#[test]
fn what_has_no_id_is_a_notification() {
    let text = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert!(matches!(parse(text), Ok(ClientMessage::Notification)));
}

proptest! {
    #[test]
    fn errors_are_messages(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err((id, error)) = parse(&bytes) {
            let message: Value = serde_json::from_slice(&error.to_message(id.as_ref()))?;
            prop_assert_eq!(&message["jsonrpc"], "2.0");
            prop_assert!(message["error"]["code"].is_i64());
        }
    }
}
