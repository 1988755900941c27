//! Cross-origin requests: which web pages may read answers, following the Fetch standard.
//!
//! Nothing is allowed by default. Keys are sent in `Authorization`, not in cookies, so answers never
//! allow credentials.

use std::fmt;
use std::str::FromStr;

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use axum::http::request::Parts;
use axum::http::{Method, Uri};

use super::answer::Answer;

/// The methods and headers that a page may send to an endpoint.
pub(super) struct Sendable {
    methods: HeaderValue,
    /// Headers in addition to those that every request may have.
    headers: HeaderValue,
}

/// For the endpoints of the API.
pub(super) const API: Sendable = Sendable {
    methods: HeaderValue::from_static("GET, HEAD"),
    headers: HeaderValue::from_static("Authorization, Idempotency-Key, If-None-Match"),
};
/// For `/mcp`.
pub(super) const MCP: Sendable = Sendable {
    methods: HeaderValue::from_static("POST"),
    headers: HeaderValue::from_static(
        "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
    ),
};
/// Response headers that a page may read.
const ANSWER_HEADERS: HeaderValue = HeaderValue::from_static(
    "Deprecation, ETag, Idempotency-Replayed, Link, RateLimit, RateLimit-Policy, Retry-After, Sunset, X-Hints, \
     X-Request-Id, X-Usage-Charged, X-Usage-Remaining",
);
/// Seconds for which a browser may cache a preflight; no browser exceeds two hours.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");

/// An allowed origin such as `https://app.example`, or `*` for every origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin(HeaderValue);

/// The error for a text that is not an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOrigin(());

/// The allowed origins.
#[derive(Debug, Default)]
pub(super) struct AllowedOrigins(Vec<AllowedOrigin>);

impl AllowedOrigins {
    pub(super) fn new(origins: Vec<AllowedOrigin>) -> AllowedOrigins {
        AllowedOrigins(origins)
    }

    /// The answer to a preflight of an allowed origin; `None` for every other request.
    pub(super) fn preflight(&self, parts: &Parts, sendable: &Sendable) -> Option<Answer> {
        let asks = parts.method == Method::OPTIONS
            && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        (asks && self.allow(&parts.headers)).then(|| {
            Answer::no_content()
                .with(ACCESS_CONTROL_ALLOW_METHODS, &sendable.methods)
                .with(ACCESS_CONTROL_ALLOW_HEADERS, &sendable.headers)
                .with(ACCESS_CONTROL_MAX_AGE, MAX_AGE)
        })
    }

    /// Adds the headers that let the requesting page read the answer.
    pub(super) fn mark(&self, request: &HeaderMap, answer: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        // Appended, because answers with an entity tag also vary by key.
        answer.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = self.allowed(request) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, ANSWER_HEADERS);
        }
    }

    /// Whether a request comes from a page of an allowed origin.
    pub(super) fn allow(&self, request: &HeaderMap) -> bool {
        self.allowed(request).is_some()
    }

    /// The `Access-Control-Allow-Origin` for a request; `None` if its origin is not allowed.
    fn allowed(&self, request: &HeaderMap) -> Option<&HeaderValue> {
        let origin = request.get(ORIGIN)?;
        let allowed = self.0.iter().map(|AllowedOrigin(allowed)| allowed);
        allowed
            .into_iter()
            .find(|&allowed| allowed == origin || allowed == "*")
    }
}

impl FromStr for AllowedOrigin {
    type Err = InvalidOrigin;

    /// Reads `*`, or scheme, host and port as browsers write them: in lower case, without a path.
    fn from_str(text: &str) -> Result<AllowedOrigin, InvalidOrigin> {
        let is_origin = || {
            let uri: Uri = text.parse().ok()?;
            let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
            let written = format!("{scheme}://{authority}");
            let has_user = authority.as_str().contains('@');
            // Browsers omit the default port.
            let has_default_port = match (scheme, authority.port_u16()) {
                ("http", port) => port == Some(80),
                ("https", port) => port == Some(443),
                _ => false,
            };
            let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
            (written == text && is_lower && !has_user && !has_default_port).then_some(())
        };
        let value = HeaderValue::from_str(text).map_err(|_| InvalidOrigin(()))?;
        if text == "*" || is_origin().is_some() {
            Ok(AllowedOrigin(value))
        } else {
            Err(InvalidOrigin(()))
        }
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_str().unwrap_or_default())
    }
}

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "an origin is * or a scheme, a host and, unless it is the default, a port, in lower case \
             and without a path, such as https://app.example; leave the setting out to allow none",
        )
    }
}

impl std::error::Error for InvalidOrigin {}

#[cfg(test)]
mod tests;
