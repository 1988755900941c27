//! Security headers of every answer: nothing is loaded from other origins, and only scripts and styles
//! with the answer's nonce run. Pages count as unsent until they are sent.

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    self, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::dashboard::Admin;
use super::failed::Failed;
use crate::keys;

/// Random bytes of a nonce.
const NONCE_BYTES: usize = 16;

/// The referrer policy is `same-origin` because with `no-referrer` browsers hide the origin of forms, which
/// is needed to detect forged ones.
const FIXED: [(HeaderName, &str); 5] = [
    (REFERRER_POLICY, "same-origin"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// The nonce of the scripts and styles of one answer.
#[derive(Clone, Debug)]
pub(super) struct Nonce(pub(super) String);

/// Adds a nonce to a request, and security headers to its answer.
pub(super) async fn seal(State(admin): State<Admin>, mut request: Request, next: Next) -> Response {
    let nonce = match keys::random_text::<NONCE_BYTES>() {
        Ok(nonce) => nonce,
        Err(error) => return Failed::from(error).into_response(),
    };
    request.extensions_mut().insert(Nonce(nonce.clone()));
    let mut response = counted(&admin, next.run(request).await).await;
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy(&nonce)) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages are private and must not be cached; assets set their own caching.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The answer, counted as unsent until it is sent. Downloads have no length; they are sent in parts that are
/// bounded.
async fn counted(admin: &Admin, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    if body.size_hint().exact().is_none() {
        return Response::from_parts(parts, body);
    }
    match to_bytes(body, usize::MAX).await {
        Ok(bytes) => {
            let bytes = admin.0.service.0.unsent.hold(bytes);
            Response::from_parts(parts, Body::from(bytes))
        }
        Err(error) => Failed::of(&error).into_response(),
    }
}

fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}
