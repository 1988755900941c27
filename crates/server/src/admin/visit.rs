//! A request with a valid session, which every guarded page takes.

use std::sync::Arc;

use axum::http::Method;
use axum::http::header::HeaderMap;
use axum::http::request::Parts;

use super::form::FormData;
use super::session::{NewSecret, Session};

/// A request with a valid session.
pub(super) struct Visit {
    pub(super) session: Arc<Session>,
    pub(super) nonce: String,
    /// The query string, as it was sent.
    pub(super) query: String,
    /// The fields of the submitted form; empty for GET requests.
    pub(super) form: FormData,
    pub(super) parts: Parts,
}

/// Headers that mark a request as a prefetch.
const PREFETCH_HEADERS: [&str; 3] = ["sec-purpose", "purpose", "x-moz"];

impl Visit {
    /// Takes the new secret to be shown once. It stays in the session until a GET request that is not a
    /// prefetch shows it.
    pub(super) fn take_secret(&self) -> Option<NewSecret> {
        let is_shown = self.parts.method == Method::GET && !is_prefetch(&self.parts.headers);
        is_shown.then(|| self.session.take_secret())?
    }
}

fn is_prefetch(headers: &HeaderMap) -> bool {
    let purposes = PREFETCH_HEADERS
        .iter()
        .filter_map(|name| headers.get(*name));
    let mut purposes = purposes.filter_map(|purpose| purpose.to_str().ok());
    purposes.any(|purpose| purpose.contains("prefetch"))
}
