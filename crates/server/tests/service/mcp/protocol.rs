//! Errors of the transport, of JSON-RPC and of the protocol, each with its status and code.

use serde_json::{Value, json};
use signaldex::sample;
use signaldex_server::{Limits, NewKey};

use super::{CURRENT, call, headers_of, message, stdio, stdio_answer};
use crate::client::{self, Response, parse};
use crate::fixture::{Fixture, Settings};

/// Bytes of a message, at most.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// Posts a message with these headers beside or in place of those that it needs; an empty value leaves
/// a header out.
pub(super) fn post_with(fixture: &Fixture, message: &Value, changed: &[(&str, &str)]) -> Response {
    let own = headers_of(message);
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let is_kept = |(name, _): &(&str, &str)| changed.iter().all(|(other, _)| other != name);
    let added = changed
        .iter()
        .copied()
        .filter(|(_, value)| !value.is_empty());
    let headers: Vec<(&str, &str)> = own.filter(is_kept).chain(added).collect();
    fixture.post("/mcp", &headers, message.to_string().as_bytes())
}

/// The status, the code of the error and the id of an answer.
pub(super) fn error_of(answer: &Response) -> (u16, i64, Value) {
    let body = answer.json();
    assert_eq!(body["jsonrpc"], "2.0", "{body}");
    assert!(body["error"]["message"].is_string(), "{body}");
    let code = body["error"]["code"].as_i64().expect("a code");
    (answer.status, code, body["id"].clone())
}

#[test]
fn what_is_no_message_is_refused_by_its_head() {
    let fixture = Fixture::start();
    let ping = message("server/discover", json!({}));
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let answer = fixture.send(method, "/mcp", &[]);
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("POST")),
            "{method}"
        );
        assert_eq!(error_of(&answer), (405, 405, Value::Null), "{method}");
    }
    let cases = [
        (("content-type", ""), 415),
        (("content-type", "text/plain"), 415),
        (("content-type", "Application/JSON; charset=utf-8"), 200),
        (("accept", ""), 200),
        (("accept", "text/event-stream"), 406),
        (("accept", "*/*"), 200),
        (("origin", "http://127.0.0.1:8080"), 403),
        (("origin", "null"), 403),
        (("transfer-encoding", "chunked"), 400),
    ];
    for (header, status) in cases {
        let answer = post_with(&fixture, &ping, &[header]);
        assert_eq!(answer.status, status, "{header:?}");
        if status != 200 {
            assert_eq!(
                error_of(&answer),
                (status, status.into(), Value::Null),
                "{header:?}"
            );
        }
    }
    assert_eq!(
        fixture
            .post(
                "/mcp?limit=1",
                &[("content-type", "application/json")],
                b"{}"
            )
            .status,
        400
    );
}

#[test]
fn a_key_is_needed_for_everything() {
    let fixture = Fixture::start();
    let body = message("tools/list", json!({})).to_string();
    for key in [None, Some("Bearer sdx_unknown"), Some("Basic abc")] {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(key.map(|key| ("authorization", key)));
        let answer = client::post(fixture.address, "/mcp", &headers, body.as_bytes());
        assert_eq!(error_of(&answer), (401, 401, Value::Null), "{key:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert_eq!(answer.json()["error"]["data"]["code"], "unauthorized");
    }
}

#[test]
fn pages_of_an_allowed_origin_may_ask() {
    let origin = ("origin", "https://app.example");
    let fixture = Fixture::with(Settings {
        origins: vec![origin.1.parse().expect("an origin")],
        ..Settings::default()
    });
    let answer = post_with(&fixture, &message("tools/list", json!({})), &[origin]);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(origin.1));
    let preflight = [origin, ("access-control-request-method", "POST")];
    let answer = client::request(fixture.address, "OPTIONS", "/mcp", &preflight);
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-methods"), Some("POST"));
    let headers = answer
        .header("access-control-allow-headers")
        .expect("headers");
    assert!(
        headers.contains("Mcp-Name") && headers.contains("Content-Type"),
        "{headers}"
    );
    let other = post_with(
        &fixture,
        &message("tools/list", json!({})),
        &[("origin", "https://b.example")],
    );
    assert_eq!(other.status, 403);
}

#[test]
fn messages_are_bounded() {
    let fixture = Fixture::start();
    let message = call("count", json!({"q": "robotics"}));
    let padded = |bytes: usize| {
        let text = message.to_string();
        format!("{text}{}", " ".repeat(bytes - text.len()))
    };
    let headers = headers_of(&message);
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    for (bytes, status) in [
        (MESSAGE_BYTES_MAX, 200),
        (MESSAGE_BYTES_MAX + 1, 413),
        (500_000, 413),
    ] {
        let answer = fixture.post("/mcp", &headers, padded(bytes).as_bytes());
        assert_eq!(answer.status, status, "{bytes}");
        if status == 413 {
            assert_eq!(error_of(&answer), (413, 413, Value::Null));
        }
    }
    // In chunks, nobody says the length before.
    let mut head = vec![("transfer-encoding", "chunked")];
    let authorization = format!("Bearer {}", fixture.key.as_str());
    head.push(("authorization", &authorization));
    head.extend(&headers);
    for (bytes, status) in [(MESSAGE_BYTES_MAX, 200), (MESSAGE_BYTES_MAX + 1, 413)] {
        let mut request = client::text_of(fixture.address, "POST", "/mcp", &head);
        request.extend(format!("{bytes:x}\r\n{}\r\n0\r\n\r\n", padded(bytes)).bytes());
        assert_eq!(
            parse(&client::raw(fixture.address, &request)).status,
            status,
            "{bytes}"
        );
    }
    let lines = format!(
        "{}\n{}\n{message}\n",
        padded(MESSAGE_BYTES_MAX),
        padded(MESSAGE_BYTES_MAX + 1)
    );
    let answers = stdio(
        sample::index().expect("the sample corpus"),
        lines.as_bytes(),
    );
    assert!(answers[0]["result"].is_object(), "{}", answers[0]);
    assert_eq!(answers[1]["error"]["code"], -32_600);
    assert!(answers[2]["result"].is_object(), "{}", answers[2]);
}

#[test]
fn each_error_of_a_message_has_its_code() {
    let fixture = Fixture::start();
    let json = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", CURRENT),
    ];
    for (body, code) in [
        ("{", -32_700),
        ("\"ping\"", -32_600),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#,
            -32_600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            -32_600,
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, -32_600),
    ] {
        let answer = fixture.post("/mcp", &json, body.as_bytes());
        assert_eq!(error_of(&answer), (400, code, Value::Null), "{body}");
    }
    let unknown_tool = call("drop_tables", json!({}));
    let mut no_arguments = call("search", json!({}));
    no_arguments["params"]["arguments"] = json!([]);
    for (message, status, code) in [
        (message("resources/list", json!({})), 404, -32_601),
        (message("initialize", json!({})), 404, -32_601),
        (message("tools/list", json!({"cursor": "2"})), 400, -32_602),
        (unknown_tool, 400, -32_602),
        (no_arguments, 400, -32_602),
        (message("tools/call", json!({})), 400, -32_602),
    ] {
        let answer = fixture.send_message(&message);
        assert_eq!(error_of(&answer), (status, code, json!(1)), "{message}");
        assert_eq!(
            stdio_answer(&message)["error"],
            answer.json()["error"],
            "{message}"
        );
    }
}

#[test]
fn headers_have_to_repeat_the_message() {
    let fixture = Fixture::start();
    let count = call("count", json!({}));
    for header in [
        ("mcp-protocol-version", ""),
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-method", ""),
        ("mcp-method", "tools/list"),
        ("mcp-method", "Tools/call"),
        ("mcp-name", ""),
        ("mcp-name", "search"),
        ("mcp-name", "=?base64?c2VhcmNo?="),
        ("mcp-name", "=?base64?!?="),
    ] {
        let answer = post_with(&fixture, &count, &[header]);
        assert_eq!(error_of(&answer), (400, -32_020, json!(1)), "{header:?}");
    }
    let encoded = post_with(&fixture, &count, &[("mcp-name", "=?base64?Y291bnQ=?=")]);
    assert_eq!(encoded.status, 200);
}

#[test]
fn notifications_are_accepted_without_a_body() {
    let fixture = Fixture::start();
    let notification =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let answer = fixture.send_message(&notification);
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (202, b"".as_slice())
    );
}

#[test]
fn a_rate_limit_refuses_messages_too() {
    let fixture = Fixture::with(Settings {
        key: NewKey {
            rate: 1,
            burst: 1,
            ..NewKey::named("slow")
        },
        ..Settings::default()
    });
    let list = message("tools/list", json!({}));
    assert_eq!(fixture.send_message(&list).status, 200);
    let answer = fixture.send_message(&list);
    assert_eq!(error_of(&answer), (429, 429, json!(1)));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.header("ratelimit").is_some());
}

#[test]
fn messages_over_the_bound_are_told_to_come_back() {
    let fixture = Fixture::with(Settings {
        limits: Limits {
            in_flight: 0,
            ..Limits::default()
        },
        ..Settings::default()
    });
    let answer = fixture.send_message(&call("search", json!({})));
    assert_eq!(error_of(&answer), (503, 503, json!(1)));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[test]
fn a_connection_goes_on_after_a_message() {
    let fixture = Fixture::start();
    let message = call(
        "count",
        json!({"q": "x".repeat(900), "any": "y ".repeat(400)}),
    );
    let body = message.to_string();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n",
        fixture.key.as_str(),
        body.len()
    );
    for (name, value) in headers_of(&message) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let answers = client::raw(
        fixture.address,
        format!("{head}\r\n{body}{head}\r\n{body}{last}").as_bytes(),
    );
    let answers = String::from_utf8(answers).expect("text");
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
}

#[test]
fn the_endpoint_can_be_left_off() {
    let fixture = Fixture::with(Settings {
        limits: Limits {
            mcp: false,
            ..Limits::default()
        },
        ..Settings::default()
    });
    let answer = fixture.send_message(&message("tools/list", json!({})));
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (404, &json!("not_found"))
    );
}
