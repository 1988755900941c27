//! The client of webhooks: one POST over a connection of its own, bounded in time and in bytes.
//!
//! It has no proxy, no cookies and no redirects, because it has none to switch off.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::http::header::{HeaderMap, RETRY_AFTER};
use axum::http::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::time::timeout;

use super::connect::{GuardedConnector, NotConnected, SystemResolver};
use super::{WebhookRules, WebhookUrl};
use crate::state::StateError;

/// How long an attempt may take.
const ATTEMPT_TIME: Duration = Duration::from_secs(15);
/// How long the first bytes after its head may take.
const BODY_TIME: Duration = Duration::from_secs(1);
/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 256;
/// Bytes of the head of an answer.
const HEAD_BYTES: usize = 32 << 10;
/// Characters of a reason that are kept.
const REASON_CHARACTERS: usize = 200;

/// Sends events.
#[derive(Clone)]
pub(super) struct WebhookClient {
    client: Client<HttpsConnector<GuardedConnector>, Body>,
    rules: Arc<WebhookRules>,
}

/// What came of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AttemptAnswer {
    pub(super) status: Option<u16>,
    /// Why there is no status.
    pub(super) reason: Option<String>,
    pub(super) retry_after: Option<Duration>,
    pub(super) time: Duration,
    /// The first bytes of the answer.
    pub(super) body: Vec<u8>,
}

impl WebhookClient {
    /// A client under rules, with the roots of the operating system.
    ///
    /// # Errors
    /// The protocols of TLS are not available.
    pub(super) fn new(rules: WebhookRules) -> Result<WebhookClient, StateError> {
        let rules = Arc::new(rules);
        let resolver = Arc::new(SystemResolver);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls()?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(GuardedConnector::new(Arc::clone(&rules), resolver));
        // No connection is used twice: each attempt judges the addresses of the name anew.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .http1_max_buf_size(HEAD_BYTES)
            .build(connector);
        Ok(WebhookClient { client, rules })
    }

    /// Sends a body, and returns the answer or why there is none.
    pub(super) async fn send(
        &self,
        url: &WebhookUrl,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> AttemptAnswer {
        let started = Instant::now();
        let answer = self.answer(url, headers, body).await;
        AttemptAnswer {
            time: started.elapsed(),
            ..answer.unwrap_or_else(AttemptAnswer::of_reason)
        }
    }

    /// The answer to a body.
    ///
    /// # Errors
    /// The reason why there is none.
    async fn answer(
        &self,
        url: &WebhookUrl,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<AttemptAnswer, String> {
        // A URL that was saved under other rules may be refused by these.
        let url =
            WebhookUrl::parse(url.as_str(), &self.rules).map_err(|error| error.to_string())?;
        let uri = url.as_str().parse::<Uri>();
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri.map_err(|_| "the URL cannot be asked".to_owned())?;
        *request.headers_mut() = headers;
        let response = timeout(ATTEMPT_TIME, self.client.request(request)).await;
        let response =
            response.map_err(|_| format!("no answer in {} s", ATTEMPT_TIME.as_secs()))?;
        let (parts, rest) = response.map_err(|error| reason(&error))?.into_parts();
        let mut body = Vec::new();
        // The status has decided, however the rest ends.
        let _ = timeout(BODY_TIME, read_first(Body::new(rest), &mut body)).await;
        Ok(AttemptAnswer {
            status: Some(parts.status.as_u16()),
            retry_after: retry_after(&parts.headers, OffsetDateTime::now_utc()),
            body,
            ..AttemptAnswer::default()
        })
    }
}

impl AttemptAnswer {
    fn of_reason(reason: String) -> AttemptAnswer {
        AttemptAnswer {
            reason: Some(reason.chars().take(REASON_CHARACTERS).collect()),
            ..AttemptAnswer::default()
        }
    }
}

/// TLS with the provider that the workspace uses, and the roots of the operating system. Without any, every `https:` URL
/// fails at its attempt.
fn tls() -> Result<ClientConfig, StateError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| StateError::invalid(format!("no TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Reads the first bytes of an answer.
async fn read_first(mut body: Body, bytes: &mut Vec<u8>) {
    while bytes.len() < ANSWER_BYTES {
        let frame = poll_fn(|context| HttpBody::poll_frame(Pin::new(&mut body), context));
        let Some(Ok(frame)) = frame.await else {
            break;
        };
        if let Ok(data) = frame.into_data() {
            let room = ANSWER_BYTES - bytes.len();
            bytes.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
}

/// How long an answer asks to wait, in seconds or until a date.
fn retry_after(headers: &HeaderMap, now: OffsetDateTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = OffsetDateTime::parse(text, &Rfc2822).ok()?;
    Duration::try_from(until - now).ok()
}

/// Why a request has no answer, in one sentence.
fn reason(error: &Error) -> String {
    let mut source = error.source();
    let mut innermost = error.to_string();
    while let Some(error) = source {
        if let Some(refused) = error.downcast_ref::<NotConnected>() {
            return refused.to_string();
        }
        innermost = error.to_string();
        source = error.source();
    }
    innermost
}

#[cfg(test)]
mod tests;
