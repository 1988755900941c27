//! The OpenAPI document, generated from the table of endpoints and the one that validates requests.
//!
//! HEAD is described once, in the introduction, so that generated clients have one function per
//! endpoint. The HTML pages (`/docs`) are omitted.

mod operation;
mod responses;
mod schemas;

use serde_json::{Map, Value, json};

use super::endpoint::ENDPOINTS;
use super::reference::NOTES;

const DESCRIPTION: &str = "Search signals, which are dated activities of companies, and read single \
    signals and companies.\n\nSend an API key in every request below `/api/v1`: `Authorization: \
    Bearer sdx_…`. `HEAD` works wherever `GET` does and is free. Every error is an \
    `application/problem+json` body (RFC 9457) whose `code` is meant for programs.\n\nLists are one \
    comma-separated value (`style: form`, `explode: false`). An item that contains a comma is \
    written in double quotes, with quotes inside it doubled.\n\n";

/// The OpenAPI 3.1 document of the service at the root of its host.
pub fn document() -> Value {
    document_at("")
}

/// The document of a service mounted at a path, which is empty or starts with `/` and does not end with `/`.
pub(super) fn document_at(base: &str) -> Value {
    let server = if base.is_empty() { "/" } else { base };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "signaldex",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!("{DESCRIPTION}{}", notes()),
            "contact": {"name": "The operator of this service"},
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"}
        },
        "servers": [{"url": server}],
        "security": [{"apiKey": []}],
        "tags": [
            {"name": "Signals", "description": "Search and read signals. Needs the scope `signals:read`."},
            {"name": "Companies", "description": "Read companies. Needs the scope `companies:read`."},
            {"name": "Service", "description": "The state of the service. Needs no key and is free."}
        ],
        "paths": paths(base),
        "components": {
            "securitySchemes": {"apiKey": {
                "type": "http", "scheme": "bearer", "bearerFormat": "sdx_ and 43 base64url characters",
                "description": "An API key, which the operator of the service creates."
            }},
            "headers": responses::headers(),
            "responses": responses::problems(base),
            "schemas": schemas::all()
        }
    })
}

/// What applies to all answers, a section each.
fn notes() -> String {
    let sections = NOTES.map(|(title, _, text)| format!("## {title}\n\n{text}"));
    sections.join("\n\n")
}

/// Every endpoint but the pages for people.
fn paths(base: &str) -> Map<String, Value> {
    let documented = ENDPOINTS.iter().filter(|known| !known.operation.is_empty());
    documented
        .map(|known| {
            (
                known.path.to_owned(),
                json!({"get": operation::document(known, base)}),
            )
        })
        .collect()
}
