//! The real corpus beside the checkout, as tools for agents show it.

use std::path::Path;

use serde_json::{Value, json};
use signaldex::IndexBuilder;
use signaldex::json::{OnInvalid, load};
use signaldex_server::{Today, serve_mcp};
use time::Date;
use time::macros::date;

/// What counts as today: a day around which the corpus is dense.
const AS_OF: Date = date!(2013 - 06 - 30);

/// Bytes of a signal as tools for agents show it: 400 tokens at 3.2 bytes each.
const AGENT_BYTES_MAX: usize = 1_280;

#[test]
#[ignore = "needs the real corpus in ../shared/corpus"]
fn every_signal_is_short_for_an_agent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let [companies, signals] =
        ["companies.jsonl.zst", "signals.jsonl.zst"].map(|name| folder.join(name));
    let mut builder = IndexBuilder::in_memory();
    load(&companies, &signals, &mut builder, OnInvalid::Stop).expect("the corpus is there");
    let index = builder.finish().expect("what was built is valid");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let (mut cursor, mut signals, mut bytes) = (Value::Null, 0, 0);
    loop {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"_meta": meta, "name": "search", "arguments": {"cursor": cursor}}
        });
        let mut answer = Vec::new();
        let line = format!("{call}\n");
        serve_mcp(
            index.clone(),
            Today::Fixed(AS_OF),
            line.as_bytes(),
            &mut answer,
        )
        .expect("memory does not fail");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let page = &answer["result"]["structuredContent"];
        for signal in page["signals"].as_array().expect("signals") {
            let length = signal.to_string().len();
            assert!(length <= AGENT_BYTES_MAX, "{length}: {signal}");
            (signals, bytes) = (signals + 1, bytes + length);
        }
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(signals, 120_517);
    println!("{} bytes a signal in the mean", bytes / signals);
}
