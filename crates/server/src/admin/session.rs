//! Sessions of the dashboard, with their expiry and form token.
//!
//! Sessions exist only in memory and end with the process, so nothing stolen from a disk gives access. A
//! session also ends when the token that started it is revoked or replaced.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::token::{AdminToken, TokenHash};
use crate::keys::{self, ApiKey, KeyRecord};
use crate::webhooks::WebhookSecret;

/// Random bytes of a session's cookie and of its form token.
const SECRET_BYTES: usize = 32;
/// Maximum number of sessions; a further one ends the session that expires first.
const SESSIONS_MAX: usize = 64;

/// A session of a signed-in user.
#[derive(Debug)]
pub(super) struct Session {
    /// The token that every form of the session must carry.
    pub(super) form_token: String,
    /// The token that started it.
    pub(super) token: TokenHash,
    expires_at: Instant,
    secret: Mutex<Option<NewSecret>>,
}

/// A new secret, until it is shown.
#[derive(Debug)]
pub(super) enum NewSecret {
    Key(Box<NewKeySecret>),
    Person {
        name: String,
        token: AdminToken,
    },
    Webhook {
        search: String,
        secret: WebhookSecret,
    },
}

/// The secret of a new or rotated key.
#[derive(Debug)]
pub(super) struct NewKeySecret {
    pub(super) record: KeyRecord,
    pub(super) key: ApiKey,
    /// Whether it replaces an earlier secret.
    pub(super) is_rotated: bool,
}

/// The sessions, by the hash of their cookie.
#[derive(Debug)]
pub(super) struct Sessions {
    lifetime: Duration,
    by_cookie: Mutex<HashMap<[u8; 32], Arc<Session>>>,
}

impl Sessions {
    pub(super) fn new(lifetime: Duration) -> Sessions {
        Sessions {
            lifetime,
            by_cookie: Mutex::default(),
        }
    }

    /// How long a session lasts.
    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// Starts a session and returns the cookie's value.
    pub(super) fn begin(&self, token: TokenHash) -> Result<String, getrandom::Error> {
        let cookie = keys::random_text::<SECRET_BYTES>()?;
        let session = Session {
            form_token: keys::random_text::<SECRET_BYTES>()?,
            expires_at: Instant::now() + self.lifetime,
            token,
            secret: Mutex::default(),
        };
        let mut sessions = self.lock();
        make_room(&mut sessions);
        sessions.insert(key_of(&cookie), Arc::new(session));
        Ok(cookie)
    }

    /// The session of a cookie, unless it has expired. Whether its token is still that of a person is for the caller to
    /// find out.
    pub(super) fn find(&self, cookie: &str) -> Option<Arc<Session>> {
        let key = key_of(cookie);
        let mut sessions = self.lock();
        let session = sessions.get(&key)?;
        if session.expires_at <= Instant::now() {
            sessions.remove(&key);
            return None;
        }
        Some(Arc::clone(session))
    }

    /// Ends the session of a cookie.
    pub(super) fn end(&self, cookie: &str) {
        self.lock().remove(&key_of(cookie));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<Session>>> {
        self.by_cookie
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Whether a form carries the session's token. Compares hashes, so that the timing reveals nothing about
    /// the token.
    pub(super) fn has_form_token(&self, token: &str) -> bool {
        TokenHash::of(token) == TokenHash::of(&self.form_token)
    }

    /// Keeps a new secret until it is shown.
    pub(super) fn keep_secret(&self, secret: NewSecret) {
        *self.lock() = Some(secret);
    }

    /// Takes the new secret to be shown once, if it is one that the page shows. Only for
    /// [`Visit`](super::visit::Visit).
    pub(super) fn take_secret(
        &self,
        is_shown: impl FnOnce(&NewSecret) -> bool,
    ) -> Option<NewSecret> {
        self.lock().take_if(|secret| is_shown(secret))
    }

    fn lock(&self) -> MutexGuard<'_, Option<NewSecret>> {
        self.secret.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sessions are keyed by the hash of their cookie, so that the timing of look-ups reveals nothing.
fn key_of(cookie: &str) -> [u8; 32] {
    TokenHash::of(cookie).0
}

fn make_room(sessions: &mut HashMap<[u8; 32], Arc<Session>>) {
    let now = Instant::now();
    sessions.retain(|_, session| now < session.expires_at);
    if sessions.len() < SESSIONS_MAX {
        return;
    }
    let first = sessions
        .iter()
        .min_by_key(|(_, session)| session.expires_at);
    if let Some(key) = first.map(|(key, _)| *key) {
        sessions.remove(&key);
    }
}

#[cfg(test)]
mod tests;
