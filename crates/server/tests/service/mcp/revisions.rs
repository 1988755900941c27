//! Revisions of the protocol: the present one, in which each request says its own, and the handshake of
//! earlier ones.

use serde_json::{Value, json};
use signaldex::sample;

use super::protocol::{error_of, post_with};
use super::{CURRENT, message, stdio, stdio_answer};
use crate::fixture::Fixture;

#[test]
fn a_revision_that_is_not_served_is_told_those_that_are() {
    let fixture = Fixture::start();
    let mut later = message("tools/list", json!({}));
    later["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let answer = post_with(&fixture, &later, &[("mcp-protocol-version", "2027-01-01")]);
    assert_eq!(error_of(&answer), (400, -32_022, json!(1)));
    let data = &answer.json()["error"]["data"];
    assert_eq!(data["requested"], "2027-01-01");
    assert_eq!(data["supported"][0], CURRENT);
    assert_eq!(stdio_answer(&later)["error"]["data"], *data);

    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (version, code) in [("", -32_020), ("2024-11-05", -32_022), (CURRENT, -32_602)] {
        let answer = post_with(&fixture, &bare, &[("mcp-protocol-version", version)]);
        assert_eq!(error_of(&answer), (400, code, json!(1)), "{version}");
    }
    let mut lacking = message("tools/list", json!({}));
    let meta = lacking["params"]["_meta"]
        .as_object_mut()
        .expect("an object");
    meta.remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(
        error_of(&fixture.send_message(&lacking)),
        (400, -32_602, json!(1))
    );
}

#[test]
fn clients_of_earlier_revisions_begin_with_a_handshake() {
    let fixture = Fixture::start();
    for (requested, expected) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        (CURRENT, "2025-11-25"),
    ] {
        let initialize = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": requested, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        });
        let answer = fixture.post(
            "/mcp",
            &[("content-type", "application/json")],
            initialize.to_string().as_bytes(),
        );
        let result = &answer.json()["result"];
        assert_eq!(
            (answer.status, &result["protocolVersion"]),
            (200, &json!(expected))
        );
        assert!(
            result["capabilities"]["tools"].is_object()
                && result["serverInfo"]["name"] == "signaldex"
        );
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    let earlier = [
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let send = |method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params});
        let answer = fixture.post("/mcp", &earlier, message.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{method}");
        answer.json()
    };
    assert_eq!(send("ping", json!({}))["result"], json!({}));
    assert_eq!(
        send("tools/list", json!({}))["result"]["tools"]
            .as_array()
            .map(Vec::len),
        Some(8)
    );
    let counted = send("tools/call", json!({"name": "count", "arguments": {}}));
    assert_eq!(counted["result"]["structuredContent"]["count"], 2_000);
    assert_eq!(counted["result"].get("resultType"), None);
    assert_eq!(
        send("tools/call", json!({"name": "none"}))["error"]["code"],
        -32_602
    );
    assert_eq!(send("server/discover", json!({}))["error"]["code"], -32_601);
}

#[test]
fn over_standard_input_a_handshake_comes_first_or_each_request_says_its_revision() {
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let initialize = r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let lines = [bare, initialize, initialized, "", bare].join("\n");
    let answers = stdio(
        sample::index().expect("the sample corpus"),
        lines.as_bytes(),
    );
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0]["error"]["code"], -32_602);
    assert_eq!(answers[1]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        answers[2]["result"]["tools"].as_array().map(Vec::len),
        Some(8)
    );
}

#[test]
fn discovery_says_what_is_served() {
    let fixture = Fixture::start();
    let message = message("server/discover", json!({}));
    let answer = fixture.send_message(&message);
    let result = answer.json()["result"].clone();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(
        result["supportedVersions"],
        json!([CURRENT, "2025-11-25", "2025-06-18"])
    );
    assert_eq!(result["cacheScope"], "public");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"],
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(stdio_answer(&message)["result"], result);
}
