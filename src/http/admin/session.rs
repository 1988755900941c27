//! Sessions: who has signed in, until when, and the token that their forms carry.
//!
//! They live in memory and end with the process, so nothing that was stolen from a disk opens the
//! dashboard. A session also ends once the admin token that began it is replaced.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::token::TokenHash;
use crate::http::keys::{self, ApiKey, KeyRecord};

/// Random bytes of a session's cookie and of its form token.
const SECRET_BYTES: usize = 32;
/// Sessions at once; beyond it the one that would end first is ended.
const SESSIONS_MAX: usize = 64;

/// What is known of a person who has signed in.
#[derive(Debug)]
pub(super) struct Session {
    /// What every form of the session has to carry.
    pub(super) form_token: String,
    expires_at: Instant,
    admin_token: TokenHash,
    secret: Mutex<Option<NewSecret>>,
}

/// A key in the clear, until it is shown.
#[derive(Debug)]
pub(super) struct NewSecret {
    pub(super) record: KeyRecord,
    pub(super) key: ApiKey,
    /// Whether the key had another secret before.
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
    pub(super) fn begin(&self, admin_token: TokenHash) -> Result<String, getrandom::Error> {
        let cookie = keys::random_text::<SECRET_BYTES>()?;
        let session = Session {
            form_token: keys::random_text::<SECRET_BYTES>()?,
            expires_at: Instant::now() + self.lifetime,
            admin_token,
            secret: Mutex::default(),
        };
        let mut sessions = self.lock();
        make_room(&mut sessions);
        sessions.insert(key_of(&cookie), Arc::new(session));
        Ok(cookie)
    }

    /// The session of a cookie, where it has not ended and its token is still the current one.
    pub(super) fn find(&self, cookie: &str, current: Option<TokenHash>) -> Option<Arc<Session>> {
        let key = key_of(cookie);
        let mut sessions = self.lock();
        let session = sessions.get(&key)?;
        if session.expires_at <= Instant::now() || Some(session.admin_token) != current {
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
    /// Whether a form carries the session's token. Hashes are compared, so that the time it takes
    /// says nothing of the token.
    pub(super) fn has_form_token(&self, token: &str) -> bool {
        TokenHash::of(token) == TokenHash::of(&self.form_token)
    }

    /// Keeps a new secret until it is shown.
    pub(super) fn keep_secret(&self, secret: NewSecret) {
        *self.lock() = Some(secret);
    }

    /// The new secret that is to be shown, once; asked for by [`Visit`](super::guard::Visit) alone.
    pub(super) fn take_secret(&self) -> Option<NewSecret> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<NewSecret>> {
        self.secret.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sessions are found by the hash of their cookie, so that the time of a look-up leads to none.
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
