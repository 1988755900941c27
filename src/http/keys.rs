//! API keys: how they read, what of them is kept, and what they allow.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use time::UtcDateTime;

use super::metering::{Counter, Quotas};

/// What every key starts with, so that leaked ones can be searched for.
const PREFIX: &str = "sdx_";
/// Random bytes of a key: 256 bits cannot be guessed, so a fast hash suffices to store it.
const SECRET_BYTES: usize = 32;
/// Base64url characters of those bytes.
const SECRET_CHARACTERS: usize = 43;
/// Characters of a secret that its hint shows on each side: 48 of 256 bits, which leaves the rest as
/// hard to guess.
const HINT_CHARACTERS: usize = 4;
/// Random bytes of a key's public id.
const ID_BYTES: usize = 9;

/// A new key in the clear. It is shown once; only its SHA-256 is stored.
pub struct ApiKey(String);

/// The SHA-256 of a key's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyHash(pub(crate) [u8; 32]);

/// What a key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Search, signal details and filter options.
    SignalsRead,
    /// Company details.
    CompaniesRead,
}

/// A set of [`Scope`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

/// What is asked for when a key is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// A name for people; at most 180 characters.
    pub name: String,
    /// What the key may be used for.
    pub scopes: Scopes,
    /// The instant from which the key is refused.
    pub expires_at: Option<UtcDateTime>,
    /// Sustained requests per second; at least 1.
    pub rate: u32,
    /// Requests at once; at least 1.
    pub burst: u32,
    /// Units a calendar month.
    pub quotas: Quotas,
}

/// A key as it is stored: everything but the key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyRecord {
    /// The row of the key.
    pub(crate) number: i64,
    /// The public id, by which a key is revoked.
    pub id: String,
    /// The ends of the secret, such as `sdx_07Yl…dvBw`, by which a person tells keys apart; `None` for
    /// keys that an earlier release created.
    pub hint: Option<String>,
    /// What was asked for.
    pub settings: NewKey,
    /// When the key was made.
    pub created_at: UtcDateTime,
    /// When it was revoked.
    pub revoked_at: Option<UtcDateTime>,
}

impl ApiKey {
    /// A key of 32 bytes from the operating system's generator.
    pub(crate) fn generate() -> Result<ApiKey, getrandom::Error> {
        Ok(ApiKey(format!(
            "{PREFIX}{}",
            random_text::<SECRET_BYTES>()?
        )))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }

    /// The ends of the key, to be stored and shown.
    pub(crate) fn hint(&self) -> String {
        let first = &self.0[..PREFIX.len() + HINT_CHARACTERS];
        let last = &self.0[self.0.len() - HINT_CHARACTERS..];
        format!("{first}…{last}")
    }
}

impl fmt::Debug for ApiKey {
    /// Hides the key, which must not reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

impl KeyHash {
    /// The hash of what a client sent, or `None` where that does not read as a key at all.
    pub(crate) fn of_presented(text: &str) -> Option<KeyHash> {
        let secret = text.strip_prefix(PREFIX)?;
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let well_formed = secret.len() == SECRET_CHARACTERS && secret.bytes().all(is_base64url);
        well_formed.then(|| KeyHash::of(text))
    }

    fn of(text: &str) -> KeyHash {
        KeyHash(Sha256::digest(text.as_bytes()).into())
    }
}

/// A new public id of a key.
pub(crate) fn random_id() -> Result<String, getrandom::Error> {
    Ok(format!("key_{}", random_text::<ID_BYTES>()?))
}

/// Random bytes as base64url.
pub(crate) fn random_text<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 2] = [Scope::SignalsRead, Scope::CompaniesRead];

    /// The scope as requests and records write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::SignalsRead => "signals:read",
            Scope::CompaniesRead => "companies:read",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Scopes {
    /// Every scope.
    pub fn all() -> Scopes {
        Scope::ALL.into_iter().collect()
    }

    /// Whether the scope is among these.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Reads a comma-separated list, or `None` where it is empty or names something else.
    pub fn parse(text: &str) -> Option<Scopes> {
        let scope = |name: &str| {
            Scope::ALL
                .into_iter()
                .find(|scope| scope.as_str() == name.trim())
        };
        text.split(',').map(scope).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Scopes {
        Scopes(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Scope::ALL
            .into_iter()
            .filter(|&scope| self.contains(scope))
            .map(Scope::as_str)
            .collect();
        f.write_str(&names.join(","))
    }
}

impl NewKey {
    /// Default requests per second of a key.
    pub const DEFAULT_RATE: u32 = 50;
    /// Requests at once of a key, unless it says otherwise.
    pub const DEFAULT_BURST: u32 = 100;
    /// Characters of a name.
    pub const MAX_NAME_CHARACTERS: usize = 180;

    /// A key with every scope, the default rate and no quota.
    pub fn named(name: impl Into<String>) -> NewKey {
        NewKey {
            name: name.into(),
            scopes: Scopes::all(),
            expires_at: None,
            rate: NewKey::DEFAULT_RATE,
            burst: NewKey::DEFAULT_BURST,
            quotas: Quotas::default(),
        }
    }
}

impl KeyRecord {
    /// Whether the key is to be accepted at an instant.
    pub fn is_valid_at(&self, now: UtcDateTime) -> bool {
        self.revoked_at.is_none() && self.settings.expires_at.is_none_or(|end| now < end)
    }

    /// The monthly quota of a counter.
    pub(crate) fn quota(&self, counter: Counter) -> Option<u64> {
        self.settings.quotas.of(counter)
    }
}

#[cfg(test)]
mod tests;
