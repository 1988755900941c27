//! The pages that need no key: health, readiness, the description of the interface.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::request::Parts;

use super::problem::{Code, Problem};
use super::router::Answer;
use super::service::Shared;
use super::{openapi, request};
use crate::query::PARAMETERS;

/// Nothing is loaded from anywhere, and nothing runs.
const CONTENT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

static OPENAPI: LazyLock<Vec<u8>> =
    LazyLock::new(|| serde_json::to_vec_pretty(&openapi::document()).unwrap_or_default());
static DOCS: LazyLock<String> = LazyLock::new(docs_page);

/// The process answers.
pub(super) fn health(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    Ok(Answer::json("{\"status\":\"ok\"}").with(CACHE_CONTROL, "no-store"))
}

/// The process can answer searches: there is a snapshot, and the state can be read.
pub(super) fn ready(service: &Shared, parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    if let Err(error) = service.state.key_changes() {
        tracing::error!(%error, "not ready");
        return Err(Problem::overloaded("The state cannot be read."));
    }
    let generation = service.index.snapshot().generation();
    let following = service.following.load();
    let following = following
        .as_ref()
        .map(|following| format!(",\"following\":{}", following.json()))
        .unwrap_or_default();
    let body = format!("{{\"status\":\"ready\",\"generation\":{generation}{following}}}");
    Ok(Answer::json(body).with(CACHE_CONTROL, "no-store"))
}

pub(super) fn openapi(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    Ok(Answer::json(OPENAPI.as_slice()))
}

pub(super) fn docs(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    let answer = Answer::new("text/html; charset=utf-8", DOCS.as_bytes());
    Ok(answer.with(CONTENT_SECURITY_POLICY, CONTENT_POLICY))
}

const DOCS_HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>signaldex</title>\
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%}td,th{border:1px solid #ccc;padding:.3rem .6rem;\
text-align:left;vertical-align:top}code,pre{background:#f4f4f4}pre{padding:.6rem;overflow:auto}</style>\
<h1>Signals and companies</h1><p>Send <code>Authorization: Bearer &lt;API_KEY&gt;</code> with every \
request below <code>/api/v1</code>. The whole description for programs is \
<a href=\"/openapi.json\">/openapi.json</a>.</p>\
<pre>curl -H 'Authorization: Bearer $KEY' 'http://localhost:8080/api/v1/signals?q=series+a&amp;limit=5'</pre>\
<h2>Endpoints</h2><table><tr><th>Path<th>Answer<th>Cost";

const ENDPOINTS: [(&str, &str, &str); 8] = [
    (
        "/api/v1/signals",
        "Signals that match all filters, newest first",
        "one unit an item",
    ),
    (
        "/api/v1/signals/{id}",
        "One signal with its company",
        "one activity",
    ),
    (
        "/api/v1/companies/{slug}",
        "One company; needs companies:read",
        "one company",
    ),
    (
        "/api/v1/filter-options",
        "Values to filter on, with counts",
        "nothing",
    ),
    ("/healthz", "Whether the process answers", "nothing"),
    ("/readyz", "Whether it can answer searches", "nothing"),
    ("/openapi.json", "This description for programs", "nothing"),
    ("/docs", "This page", "nothing"),
];

/// One page from the same tables that requests are checked by.
fn docs_page() -> String {
    let mut page = DOCS_HEAD.to_owned();
    for (path, answer, cost) in ENDPOINTS {
        page.push_str(&format!(
            "<tr><td><code>{path}</code><td>{answer}<td>{cost}"
        ));
    }
    page.push_str(
        "</table><h2>Search parameters</h2><table><tr><th>Name<th>Value<th>Meaning<th>Example",
    );
    for known in &PARAMETERS {
        page.push_str(&format!(
            "<tr><td><code>{}</code><td>{}<td>{}<td><code>{}</code>",
            known.name,
            escape(&openapi::bounds(known.kind)),
            escape(known.description),
            escape(known.example),
        ));
    }
    page.push_str("</table><h2>Errors</h2><table><tr><th>Status<th>Code<th>Meaning");
    for code in Code::ALL {
        let (name, status) = (code.as_str(), code.status().as_u16());
        page.push_str(&format!(
            "<tr id=\"{name}\"><td>{status}<td><code>{name}</code><td>{}",
            code.title()
        ));
    }
    page.push_str("</table></html>\n");
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
