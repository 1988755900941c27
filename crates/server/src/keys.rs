//! API keys: their text form, what is stored of them, and what they permit.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use time::UtcDateTime;

use super::metering::{Counter, Quotas};
use signaldex::query::KeyFilter;

/// The prefix of every key, so that scanners find leaked keys.
const PREFIX: &str = "sdx_";
/// Random bytes of a key: 256 bits cannot be guessed, so a fast hash suffices to store it.
const SECRET_BYTES: usize = 32;
/// Base64url characters of those bytes.
const SECRET_CHARACTERS: usize = 43;
/// Characters of a secret that its hint shows on each side: 48 of 256 bits, so the remaining 208 are still
/// impossible to guess.
const HINT_CHARACTERS: usize = 4;
/// Random bytes of a key's public id.
const ID_BYTES: usize = 9;

/// A new key in the clear. It is shown once; only its SHA-256 is stored.
pub struct ApiKey(String);

/// The SHA-256 of a key's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyHash(pub(crate) [u8; 32]);

/// A permission of a key.
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

/// The settings of a new key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// A display name of 1 to [`MAX_NAME_CHARACTERS`](Self::MAX_NAME_CHARACTERS) characters, without control
    /// and formatting characters, which could hide or reorder what is shown beside it.
    pub name: String,
    /// The permissions of the key.
    pub scopes: Scopes,
    /// The instant at which the key expires.
    pub expires_at: Option<UtcDateTime>,
    /// Sustained requests per second; at least 1.
    pub rate: u32,
    /// Burst size in requests; at least 1.
    pub burst: u32,
    /// Units per calendar month.
    pub quotas: Quotas,
    /// Which signals the key may see; `None` for all.
    pub filter: Option<Arc<KeyFilter>>,
}

/// A stored key: everything except its secret.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyRecord {
    /// The row of the key.
    pub(crate) number: i64,
    /// The public id, by which a key is revoked.
    pub id: String,
    /// The ends of the secret, such as `sdx_07Yl…dvBw`, to tell keys apart; `None` for keys created by an
    /// earlier release.
    pub hint: Option<String>,
    /// The settings of the key.
    pub settings: NewKey,
    /// When the key was created.
    pub created_at: UtcDateTime,
    /// When the key was revoked.
    pub revoked_at: Option<UtcDateTime>,
    /// The secret that the present one has replaced, while both are valid or afterwards.
    pub former: Option<FormerSecret>,
    /// The minute of the last request with the key, refused ones included. It is recorded some seconds later.
    pub used_at: Option<UtcDateTime>,
}

/// The secret of a key before its last rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormerSecret {
    pub(crate) hash: KeyHash,
    /// The ends of the secret.
    pub hint: String,
    /// The instant from which it is refused.
    pub until: UtcDateTime,
}

impl ApiKey {
    /// Generates a key of 32 random bytes from the operating system.
    pub(crate) fn generate() -> Result<ApiKey, getrandom::Error> {
        Ok(ApiKey(format!(
            "{PREFIX}{}",
            random_text::<SECRET_BYTES>()?
        )))
    }

    /// The text of the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }

    /// The ends of the key, which may be stored and shown.
    pub(crate) fn hint(&self) -> String {
        let first = &self.0[..PREFIX.len() + HINT_CHARACTERS];
        let last = &self.0[self.0.len() - HINT_CHARACTERS..];
        format!("{first}…{last}")
    }
}

impl fmt::Debug for ApiKey {
    /// Hides the key, so that it cannot reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(hidden)")
    }
}

impl KeyHash {
    /// The hash of a key sent by a client, or `None` if the text does not have the form of a key.
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

    /// The name of the scope.
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

    /// Whether the set contains the scope.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Parses a comma-separated list. `None` if it is empty or contains anything else.
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
    /// Default rate of a key, in requests per second.
    pub const DEFAULT_RATE: u32 = 50;
    /// Default burst size of a key, in requests.
    pub const DEFAULT_BURST: u32 = 100;
    /// Maximum length of a name, in characters.
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
            filter: None,
        }
    }
}

/// Whether a key is accepted, and if not, why. Ascending as lists of keys show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyStatus {
    Active,
    Expired,
    Revoked,
}

impl KeyStatus {
    pub(crate) const ALL: [KeyStatus; 3] =
        [KeyStatus::Active, KeyStatus::Expired, KeyStatus::Revoked];

    pub(crate) fn of(key: &KeyRecord, now: UtcDateTime) -> KeyStatus {
        if key.revoked_at.is_some() {
            KeyStatus::Revoked
        } else if key.is_valid_at(now) {
            KeyStatus::Active
        } else {
            KeyStatus::Expired
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            KeyStatus::Active => "active",
            KeyStatus::Expired => "expired",
            KeyStatus::Revoked => "revoked",
        }
    }
}

/// Why a text cannot be the name of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameError {
    Empty,
    TooLong,
    Invisible(char),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => f.write_str("is empty")?,
            NameError::TooLong => f.write_str("is too long")?,
            NameError::Invisible(letter) => {
                write!(
                    f,
                    "has the invisible character U+{:04X}",
                    u32::from(*letter)
                )?;
            }
        }
        let most = NewKey::MAX_NAME_CHARACTERS;
        write!(f, "; use 1 to {most} characters that can be seen")
    }
}

/// Checks the name of a key.
pub(crate) fn check_name(name: &str) -> Result<(), NameError> {
    if name.trim().is_empty() {
        return Err(NameError::Empty);
    }
    if name.chars().count() > NewKey::MAX_NAME_CHARACTERS {
        return Err(NameError::TooLong);
    }
    let invisible = name.chars().find(|&letter| is_invisible(letter));
    invisible.map_or(Ok(()), |letter| Err(NameError::Invisible(letter)))
}

/// Whether a character is a control or formatting character (Unicode's Cc and Cf), or ends a line or paragraph.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{AD}' | '\u{600}'..='\u{605}' | '\u{61C}' | '\u{6DD}' | '\u{70F}'
            | '\u{890}'..='\u{891}' | '\u{8E2}' | '\u{180E}' | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}'
            | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0001}'
            | '\u{E0020}'..='\u{E007F}')
}

impl KeyRecord {
    /// Whether the key is valid at an instant.
    pub fn is_valid_at(&self, now: UtcDateTime) -> bool {
        self.revoked_at.is_none() && self.settings.expires_at.is_none_or(|end| now < end)
    }

    /// The hints of the secrets that are accepted at an instant, the present one first.
    ///
    /// ```
    /// use signaldex_server::{NewKey, State};
    /// use time::UtcDateTime;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let (record, _) = State::open(path)?.create_key(&NewKey::named("shop"))?;
    /// assert_eq!(record.hints(UtcDateTime::now()).len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn hints(&self, now: UtcDateTime) -> Vec<&str> {
        let former = self.former.as_ref().filter(|former| now < former.until);
        let former = former.map(|former| former.hint.as_str());
        self.hint.as_deref().into_iter().chain(former).collect()
    }

    /// The monthly quota of a counter.
    pub(crate) fn quota(&self, counter: Counter) -> Option<u64> {
        self.settings.quotas.of(counter)
    }
}

#[cfg(test)]
mod tests;
