//! Messages to the tools for agents: whatever they are, each request gets one bounded answer of the
//! protocol, over standard input and at `POST /mcp`.
//!
//! The first byte of an input says what the rest is: `l` lines of standard input, `p` the body of a
//! `POST`, and anything else the arguments of a tool, which are sent both ways.
#![no_main]

use std::sync::Mutex;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, request};
use fuzz_support::allocation::{Counting, bounded_by};
use fuzz_support::examination::TODAY;
use fuzz_support::scratch::Scratch;
use fuzz_support::tiny_index;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use signaldex::Index;
use signaldex_server::{Limits, Principal, Service, State, Today, serve_mcp};
use tokio::runtime::{self, Runtime};
use tower_service::Service as _;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tools, and one that does not exist.
const TOOLS: [&str; 7] = [
    "search", "count", "options", "signal", "company", "changes", "nothing",
];

/// The revision in which each request says its own.
const CURRENT: &str = "2026-07-28";

/// What a message may hold: JSON of brackets takes many times its length.
const MESSAGE_BYTES: usize = 32 << 20;

/// The most bytes of an answer: all 24 signals, as text and as JSON, or the list of tools.
const ANSWER_BYTES_MAX: usize = 128 << 10;

/// The most bytes of an answer that is an error.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// The tools over one index, both ways.
struct Tools {
    index: Index,
    service: Service,
    runtime: Runtime,
}

static TOOLS_OF_INDEX: Mutex<Option<Tools>> = Mutex::new(None);

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    let mut tools = TOOLS_OF_INDEX.lock().expect("inputs come one by one");
    let tools = tools.get_or_insert_with(Tools::new);
    bounded_by(MESSAGE_BYTES, || match kind {
        b'l' => tools.check_lines(rest),
        b'p' => drop(tools.post(rest)),
        _ => tools.check_call(kind, rest),
    });
});

impl Tools {
    fn new() -> Tools {
        let scratch = Scratch::new("mcp");
        let index = tiny_index();
        let today = Today::Fixed(TODAY);
        let state = State::open(scratch.path("state.db")).expect("a folder that can be written to");
        let service = Service::new(index.clone(), state, today, Limits::default());
        let runtime = runtime::Builder::new_current_thread().enable_time().build();
        Tools {
            index,
            service: service.expect("a state that was just created"),
            runtime: runtime.expect("a thread"),
        }
    }

    /// One answer for each request at most, in their order.
    fn check_lines(&self, lines: &[u8]) {
        let answers = self.answers_to(lines);
        let lines = lines.split(|&byte| byte == b'\n');
        let mut asked = lines.filter(|line| !line.trim_ascii().is_empty());
        for answer in answers {
            let id = answer.get("id");
            let is_answered = |line: &[u8]| id.is_none() || id_of(line).as_ref() == id;
            assert!(asked.any(is_answered), "{answer}");
        }
    }

    /// What is answered to lines of standard input.
    fn answers_to(&self, lines: &[u8]) -> Vec<Value> {
        let mut output = Vec::new();
        let today = Today::Fixed(TODAY);
        serve_mcp(self.index.clone(), today, lines, &mut output).expect("memory does not fail");
        assert!(output.is_empty() || output.ends_with(b"\n"));
        let lines = output.split(|&byte| byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines.map(answer_of).collect()
    }

    /// What is answered to a body, if anything.
    fn post(&mut self, body: &[u8]) -> Option<Value> {
        let mut request = head_of(body).body(Body::from(body.to_vec())).ok()?;
        let principal = Principal::new("agent").rate(u32::MAX, u32::MAX);
        request.extensions_mut().insert(principal);
        let mut router = self.service.router();
        let (status, body) = self.runtime.block_on(async {
            let Ok(response) = router.call(request).await;
            let status = response.status();
            let body = to_bytes(response.into_body(), usize::MAX).await;
            (status, body.expect("memory does not fail"))
        });
        assert!(!status.is_server_error(), "{status}");
        assert_eq!(body.is_empty(), status == StatusCode::ACCEPTED);
        (!body.is_empty()).then(|| answer_of(&body))
    }

    /// The answers to a call are the same both ways, but for what is charged.
    fn check_call(&mut self, kind: u8, arguments: &[u8]) {
        let Ok(arguments) = serde_json::from_slice::<Value>(arguments) else {
            return;
        };
        let tool = TOOLS[usize::from(kind) % TOOLS.len()];
        let message = call(tool, &arguments).to_string();
        let posted = self.post(message.as_bytes()).expect("an answer");
        let [written] = &self.answers_to(message.as_bytes())[..] else {
            panic!("not one answer to {message}");
        };
        assert_eq!(shape_of(&posted), shape_of(written));
    }
}

fn call(tool: &str, arguments: &Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The headers that a message needs, as far as it can be read.
fn head_of(body: &[u8]) -> request::Builder {
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let params = &message["params"];
    let said = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let headers = [
        (
            "mcp-protocol-version",
            text(said).or(Some("2025-11-25".to_owned())),
        ),
        ("mcp-method", text(&message["method"])),
        ("mcp-name", text(&params["name"])),
    ];
    let head = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json");
    let present = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    present.fold(head, |head, (name, value)| head.header(name, value))
}

/// The id of a request, if it has one.
fn id_of(line: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(line).ok()?;
    message.get("id").cloned()
}

/// A message of the protocol with a result or an error.
fn answer_of(bytes: &[u8]) -> Value {
    assert!(bytes.len() <= ANSWER_BYTES_MAX, "{} bytes", bytes.len());
    let answer: Value = serde_json::from_slice(bytes).expect("JSON");
    let members = answer.as_object().expect("an object");
    let is_known = |name: &String| ["jsonrpc", "id", "result", "error"].contains(&name.as_str());
    assert!(members.keys().all(is_known), "{answer}");
    assert_eq!(answer["jsonrpc"], "2.0");
    let is_result = answer["result"].is_object();
    let is_error = answer["error"]["code"].is_i64() && answer["error"]["message"].is_string();
    assert!(is_result != is_error, "{answer}");
    let is_failed_call = answer["result"]["isError"] == true;
    assert!(
        !(is_error || is_failed_call) || bytes.len() <= ERROR_BYTES_MAX,
        "{} bytes of an error",
        bytes.len()
    );
    answer
}

/// An answer without what only a metered one says.
fn shape_of(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if let Some(error) = answer.get_mut("error").and_then(Value::as_object_mut) {
        error.remove("data");
    }
    if let Some(result) = answer.get_mut("result").and_then(Value::as_object_mut) {
        let content = result.remove("content");
        let text = content
            .as_ref()
            .and_then(|content| content[0]["text"].as_str());
        assert!(text.is_some_and(|text| !text.is_empty()));
        let structured = result["structuredContent"].as_object_mut();
        structured.map(|structured: &mut Map<String, Value>| structured.remove("usage"));
    }
    answer
}
