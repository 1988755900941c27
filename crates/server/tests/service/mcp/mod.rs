//! The tools for agents at `POST /mcp` and over standard input: the protocol, its errors, and what calls
//! are charged.

mod charges;
mod hostile;
mod protocol;
mod real_corpus;
mod revisions;
mod session;
mod tools;

use serde_json::{Value, json};
use signaldex::{Index, sample};
use signaldex_server::{Today, serve_mcp};

use crate::client::Response;
use crate::fixture::Fixture;

/// The revision of the protocol in which each request says its own.
pub(crate) const CURRENT: &str = "2026-07-28";

/// A request of that revision.
pub(crate) fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A call of a tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    message("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The headers that repeat what a message says.
pub(crate) fn headers_of(message: &Value) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", CURRENT.to_owned()),
    ];
    if let Some(method) = message["method"].as_str() {
        headers.push(("mcp-method", method.to_owned()));
    }
    if let Some(name) = message["params"]["name"].as_str() {
        headers.push(("mcp-name", name.to_owned()));
    }
    headers
}

impl Fixture {
    /// Sends a message with the headers that it needs.
    pub(crate) fn send_message(&self, message: &Value) -> Response {
        let headers = headers_of(message);
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        self.post("/mcp", &headers, message.to_string().as_bytes())
    }

    /// Calls a tool and returns its result.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.send_message(&call(tool, arguments));
        assert_eq!(
            answer.status,
            200,
            "{}",
            String::from_utf8_lossy(&answer.body)
        );
        answer.json()["result"].clone()
    }
}

/// What a successful call answered, which text and structured content say alike.
pub(crate) fn content(result: &Value) -> Value {
    assert_eq!(result["isError"], false, "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    let content: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(content, result["structuredContent"]);
    content
}

/// The text of a call that failed.
fn error_text(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

/// What the tools over standard input answer to lines.
fn stdio(index: Index, lines: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    serve_mcp(index, Today::Fixed(sample::AS_OF), lines, &mut output)
        .expect("memory does not fail");
    let lines = output
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect()
}

/// The same for one message over the sample corpus.
fn stdio_answer(message: &Value) -> Value {
    let index = sample::index().expect("the sample corpus");
    let mut answers = stdio(index, format!("{message}\n").as_bytes());
    assert_eq!(answers.len(), 1, "{message}");
    answers.remove(0)
}
