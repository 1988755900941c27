//! Pages without a key: health, readiness, the API reference.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use axum::http::request::Parts;
use tokio::time::Instant;

use super::answer::Answer;
use super::problem::Problem;
use super::service::ServiceCore;
use super::{openapi, reference, request};

/// How long `/readyz` waits for the state to be read.
const READY_TIME: Duration = Duration::from_secs(1);

/// The OpenAPI document for each path under which the service is mounted. A host has few of them.
static OPENAPI: LazyLock<Mutex<HashMap<String, Bytes>>> = LazyLock::new(Mutex::default);

/// Answers 200: the process is alive.
pub(super) fn health(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    Ok(Answer::json("{\"status\":\"ok\"}").with(CACHE_CONTROL, "no-store"))
}

/// Answers 200 if the process can answer searches: it has a snapshot, and the state can be read and
/// written. A balancer learns within a second that the state cannot be read.
pub(super) async fn ready(service: &Arc<ServiceCore>, parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    let until = Instant::now() + READY_TIME;
    let error = service.read(until, |service| Ok(error(service))).await;
    let error = error.unwrap_or_else(|problem| Some(problem.detail));
    let following = service.following.load();
    if let Some(mut error) = error {
        // What a node still has may be what the others have let go of.
        if let Some(reason) = following.as_ref().and_then(|following| following.error()) {
            error.push_str(&format!(
                " The newest generation cannot be loaded: {reason}."
            ));
        }
        return Err(Problem::overloaded(&error));
    }
    let generation = service.corpus.for_operator().view().generation;
    let following = following
        .as_ref()
        .map(|following| format!(",\"following\":{}", following.json()))
        .unwrap_or_default();
    let damaged = if service.corpus.for_operator().is_damaged() {
        ",\"damaged\":true"
    } else {
        ""
    };
    let body = format!("{{\"status\":\"ready\",\"generation\":{generation}{damaged}{following}}}");
    Ok(Answer::json(body).with(CACHE_CONTROL, "no-store"))
}

/// Why the process cannot answer searches now. Reads the state.
pub(super) fn error(service: &ServiceCore) -> Option<String> {
    if service.is_draining.load(Ordering::Relaxed) {
        return Some("The service is about to stop.".to_owned());
    }
    if let Err(error) = service.state.check_files() {
        return Some(format!("The state file was {}.", error.cause()));
    }
    if let Some(error) = service.writer.error() {
        return Some(error.to_owned());
    }
    if let Err(error) = service.state.key_changes() {
        tracing::error!(error = format_args!("{error:#}"), "not ready");
        return Some("The state cannot be read.".to_owned());
    }
    // Other replicas answer while the file is fetched again. Elsewhere, 503 would refuse what can be answered.
    if service.following.load().is_some() && service.corpus.for_operator().is_damaged() {
        return Some("A file of the copy is damaged, and is fetched again.".to_owned());
    }
    service.corpus.for_operator().error()
}

pub(super) fn openapi(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    let base = request::base(parts);
    let mut documents = OPENAPI.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = documents.get(base) {
        return Ok(Answer::json(document.clone()));
    }
    let document = serde_json::to_vec_pretty(&openapi::document_at(base))
        .map_err(|error| Problem::internal(&error))?;
    let document = Bytes::from(document);
    documents.insert(base.to_owned(), document.clone());
    Ok(Answer::json(document))
}

/// Redirects browsers from the bare address to the API reference.
pub(super) fn root(parts: &Parts) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    Ok(Answer::see_other(&format!("{}/docs", request::base(parts))))
}

/// A page of the API reference.
pub(super) fn docs(service: &ServiceCore, parts: &Parts, html: &str) -> Result<Answer, Problem> {
    request::refuse_parameters(parts.uri.query())?;
    let url = match service.public_url.get() {
        Some(url) => Cow::from(url),
        None => Cow::from(request::url(parts)),
    };
    let sign_in = service.sign_in.get().map(String::as_str);
    let html = reference::addressed(html, &url, sign_in);
    let answer = Answer::new("text/html; charset=utf-8", html);
    Ok(answer.with(CONTENT_SECURITY_POLICY, reference::CONTENT_POLICY.as_str()))
}
