//! Checks that apply to every request.

use std::borrow::Cow;

use axum::extract::NestedPath;
use axum::http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Version};
use percent_encoding::percent_decode_str;

use super::limits::URI_BYTES_MAX;
use super::problem::{Problem, ProblemCode};
use signaldex::query::limits::ERRORS_MAX;
use signaldex::query::{ErrorCode, ParameterError};

/// Maximum bytes of host and port; DNS names have at most 253.
const HOST_BYTES_MAX: usize = 261;

/// The default address of `signaldex serve`.
const DEFAULT_HOST: &str = "127.0.0.1:8080";

/// Refuses ambiguous framing, a missing host, and a URI that is too long.
pub(crate) fn check(parts: &Parts) -> Result<(), Problem> {
    check_framing(&parts.headers)?;
    check_host(parts)?;
    let target = parts.uri.path_and_query();
    if target.is_some_and(|target| target.as_str().len() > URI_BYTES_MAX) {
        let detail = format!(
            "The path and query are too long; at most {URI_BYTES_MAX} bytes are allowed. Shorten \
             the lists."
        );
        return Err(Problem::new(ProblemCode::UriTooLong, detail));
    }
    Ok(())
}

/// The path under which the service is mounted, without a final `/`; empty at the root.
pub(crate) fn base(parts: &Parts) -> &str {
    let nested = parts.extensions.get::<NestedPath>();
    nested.map_or("", |path| path.as_str().trim_end_matches('/'))
}

/// The URL that was asked, without a final `/`, to be shown as part of a command. A host that a shell might
/// run is not shown, but the default address in its place.
pub(crate) fn url(parts: &Parts) -> String {
    let is_plain = |host: &&str| {
        let mut bytes = host.bytes();
        !host.is_empty()
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
    };
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.filter(is_plain).unwrap_or(DEFAULT_HOST);
    let scheme = if is_https(&parts.headers) {
        "https"
    } else {
        "http"
    };
    format!("{scheme}://{host}{}", base(parts))
}

/// Whether a proxy says that it was asked over TLS.
pub(crate) fn is_https(headers: &HeaderMap) -> bool {
    headers
        .get("x-forwarded-proto")
        .is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// Whether a body follows. Bodies are never read, so the connection must then be closed.
pub(crate) fn has_body(headers: &HeaderMap) -> bool {
    let is_empty = |value: &axum::http::HeaderValue| value.as_bytes() == b"0";
    headers.contains_key(TRANSFER_ENCODING)
        || headers
            .get_all(CONTENT_LENGTH)
            .iter()
            .any(|value| !is_empty(value))
}

fn check_framing(headers: &HeaderMap) -> Result<(), Problem> {
    let lengths = headers.get_all(CONTENT_LENGTH).iter().count();
    if lengths > 1 || (lengths == 1 && headers.contains_key(TRANSFER_ENCODING)) {
        return Err(Problem::new(
            ProblemCode::InvalidRequest,
            "The length of the body is given twice.",
        ));
    }
    Ok(())
}

fn check_host(parts: &Parts) -> Result<(), Problem> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host.as_bytes()) => Ok(()),
        (None, None) if parts.version != Version::HTTP_11 => Ok(()),
        _ => Err(Problem::new(
            ProblemCode::InvalidRequest,
            "Exactly one valid Host header is required.",
        )),
    }
}

fn is_host(host: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_~%:[]!$&'()*+,;=".contains(byte);
    (1..=HOST_BYTES_MAX).contains(&host.len()) && host.iter().all(allowed)
}

/// Refuses every parameter, for endpoints that take none.
pub(crate) fn refuse_parameters(query: Option<&str>) -> Result<(), Problem> {
    let mut errors: Vec<ParameterError> = Vec::new();
    for pair in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .take(ERRORS_MAX)
    {
        let name = pair.split('=').next().unwrap_or_default().replace('+', " ");
        errors.push(ParameterError::new(
            percent_decode_str(&name).decode_utf8_lossy(),
            ErrorCode::UnknownParameter,
            "there is no such parameter; this endpoint takes none",
        ));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Problem::of_errors(errors))
    }
}

/// Percent-decodes a path segment.
pub(crate) fn decode_segment(segment: &str) -> Result<Cow<'_, str>, Problem> {
    let is_hex =
        |text: &str| text.len() >= 2 && text.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let is_escaped = segment
        .split('%')
        .skip(1)
        .all(|rest| rest.is_char_boundary(2.min(rest.len())) && is_hex(rest));
    let decoded = percent_decode_str(segment).decode_utf8();
    match decoded {
        Ok(decoded) if is_escaped => Ok(decoded),
        _ => Err(Problem::new(
            ProblemCode::InvalidRequest,
            "The path is not percent-encoded UTF-8.",
        )),
    }
}
