//! The pages that need no key: health, readiness, the description of the interface.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::request::Parts;

use super::answer::Answer;
use super::problem::{Code, Problem};
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

/// The process can answer searches: there is a snapshot, the state can be read, and charges can be
/// written.
pub(super) fn ready(service: &Shared, parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    if let Err(error) = service.state.check_files() {
        let detail = format!("The state file was {}.", error.cause());
        return Err(Problem::overloaded(&detail));
    }
    if let Some(fault) = service.writer.fault() {
        return Err(Problem::overloaded(fault));
    }
    if let Err(error) = service.state.key_changes() {
        tracing::error!(error = format_args!("{error:#}"), "not ready");
        return Err(Problem::overloaded("The state cannot be read."));
    }
    if let Some(fault) = service.corpus.fault() {
        return Err(Problem::overloaded(&fault));
    }
    let generation = service.corpus.view().generation;
    let following = service.following.load();
    let following = following
        .as_ref()
        .map(|following| format!(",\"following\":{}", following.json()))
        .unwrap_or_default();
    let body = format!("{{\"status\":\"ready\",\"generation\":{generation}{following}}}");
    Ok(Answer::json(body).with(CACHE_CONTROL, "no-store"))
}

/// The answer to everything that needs a key while the state file is not there.
pub(super) fn state_is_lost() -> Problem {
    Problem::overloaded("The state file is not in its place; nothing was charged.")
}

pub(super) fn openapi(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    Ok(Answer::json(OPENAPI.as_slice()))
}

/// Leads a browser that asks for the bare address to the API reference.
pub(super) fn root(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    Ok(Answer::see_other("/docs"))
}

pub(super) fn docs(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    let answer = Answer::new("text/html; charset=utf-8", DOCS.as_bytes());
    Ok(answer.with(CONTENT_SECURITY_POLICY, CONTENT_POLICY))
}

/// The style of the page and what it says first.
const DOCS_HEAD: &str = include_str!("docs_head.html");

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
    let example = "curl -H \"Authorization: Bearer $SIGNALDEX_KEY\" \\\n  \
         \"$SIGNALDEX_URL/api/v1/signals?q=series+a&limit=5\"";
    let endpoints = ENDPOINTS.map(|(path, answer, cost)| {
        format!("<tr><td><code>{path}</code><td>{answer}<td data-label=\"Cost\">{cost}\n")
    });
    let parameters = PARAMETERS.iter().map(|known| {
        let (name, bounds) = (known.name, escape(&openapi::bounds(known.kind)));
        let (meaning, example) = (with_code(known.description), escape(known.example));
        let label = if example.is_empty() {
            ""
        } else {
            " data-label=\"Example\""
        };
        format!(
            "<tr><td><code>{name}</code><td>{bounds}<td>{meaning}<td{label}><code>{example}</code>\n"
        )
    });
    // Two statuses share a code, and an id may stand once.
    let mut last = "";
    let errors = Code::ALL.iter().map(|code| {
        let (name, status, title) = (code.as_str(), code.status().as_u16(), code.title());
        let id = if std::mem::replace(&mut last, name) == name {
            String::new()
        } else {
            format!(" id=\"{name}\"")
        };
        format!("<tr{id}><td><code>{name}</code><td>{status}<td>{title}\n")
    });
    [
        DOCS_HEAD.to_owned(),
        format!("<pre>{}</pre>\n", escape(example)),
        table("Endpoints", &["Path", "Answer", "Cost"], endpoints),
        table(
            "Search parameters",
            &["Name", "Value", "Meaning", "Example"],
            parameters,
        ),
        table("Errors", &["Code", "Status", "Meaning"], errors),
        "</main>\n</body>\n</html>\n".to_owned(),
    ]
    .concat()
}

fn table(heading: &str, columns: &[&str], rows: impl IntoIterator<Item = String>) -> String {
    let head: String = columns
        .iter()
        .map(|column| format!("<th scope=\"col\">{column}"))
        .collect();
    let rows: String = rows.into_iter().collect();
    format!(
        "<h2>{heading}</h2>\n<table><thead><tr>{head}</thead>\n<tbody>\n{rows}</tbody></table>\n"
    )
}

/// Text whose parts between backticks are code.
fn with_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let marked = parts.map(|(place, part)| match place % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    });
    marked.collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
