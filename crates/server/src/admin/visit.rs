//! A request with a valid session, which every guarded page takes.

use std::sync::Arc;

use axum::http::Method;
use axum::http::header::HeaderMap;
use axum::http::request::Parts;

use super::form::FormData;
use super::session::{NewKeySecret, NewSecret, Session};
use super::token::AdminToken;
use crate::actor::{Actor, PeerAddress, origin};
use crate::people::{PersonRecord, Role};
use crate::webhooks::WebhookSecret;

/// A request with a valid session.
pub(super) struct Visit {
    pub(super) session: Arc<Session>,
    /// Who has signed in, as the state has the person now.
    pub(super) person: PersonRecord,
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
    /// Whether the person may change keys and people.
    pub(super) fn may_change(&self) -> bool {
        self.person.role == Role::Admin
    }

    /// The person as the audit names who makes a change.
    pub(super) fn actor(&self) -> Actor {
        let peer = self.parts.extensions.get::<PeerAddress>().copied();
        Actor::of_person(&self.person.name, origin(peer, &self.parts.headers))
    }

    /// Takes the secret of a key to be shown once. It stays in the session until a GET request that is not a
    /// prefetch shows it.
    pub(super) fn take_key(&self) -> Option<NewKeySecret> {
        match self.take(|secret| matches!(secret, NewSecret::Key(_)))? {
            NewSecret::Key(key) => Some(*key),
            _ => None,
        }
    }

    /// Takes the name and the token of a new person, likewise.
    pub(super) fn take_token(&self) -> Option<(String, AdminToken)> {
        match self.take(|secret| matches!(secret, NewSecret::Person { .. }))? {
            NewSecret::Person { name, token } => Some((name, token)),
            _ => None,
        }
    }

    /// Takes the new secret of a saved search's webhook, likewise.
    pub(super) fn take_webhook_secret(&self, id: &str) -> Option<WebhookSecret> {
        let is_of_search =
            |new: &NewSecret| matches!(new, NewSecret::Webhook { search, .. } if search == id);
        match self.take(is_of_search)? {
            NewSecret::Webhook { secret, .. } => Some(secret),
            _ => None,
        }
    }

    fn take(&self, is_of_page: impl FnOnce(&NewSecret) -> bool) -> Option<NewSecret> {
        let is_shown = self.parts.method == Method::GET && !is_prefetch(&self.parts.headers);
        is_shown.then(|| self.session.take_secret(is_of_page))?
    }
}

fn is_prefetch(headers: &HeaderMap) -> bool {
    let purposes = PREFETCH_HEADERS
        .iter()
        .filter_map(|name| headers.get(*name));
    let mut purposes = purposes.filter_map(|purpose| purpose.to_str().ok());
    purposes.any(|purpose| purpose.contains("prefetch"))
}
