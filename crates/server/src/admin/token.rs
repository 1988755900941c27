//! Tokens of people, which grant access to the dashboard.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::keys;

/// The prefix of every token, so that scanners find leaked tokens.
const PREFIX: &str = "sdxadmin_";
/// Random bytes of a token: 256 bits cannot be guessed, so a fast hash suffices for storage, and wrong
/// attempts need no delay.
const SECRET_BYTES: usize = 32;
/// Characters of a secret that its hint shows on each side, as for a key.
const HINT_CHARACTERS: usize = 4;

/// A new token of a person in the clear. It is shown once; only its SHA-256 is stored.
pub struct AdminToken(String);

/// The SHA-256 of a token's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenHash(pub(crate) [u8; 32]);

impl AdminToken {
    pub(crate) fn generate() -> Result<AdminToken, getrandom::Error> {
        let secret = keys::random_text::<SECRET_BYTES>()?;
        Ok(AdminToken(format!("{PREFIX}{secret}")))
    }

    /// The text of the token.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ends of the token, which may be stored and shown.
    pub(crate) fn hint(&self) -> String {
        let first = &self.0[..PREFIX.len() + HINT_CHARACTERS];
        let last = &self.0[self.0.len() - HINT_CHARACTERS..];
        format!("{first}…{last}")
    }

    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for AdminToken {
    /// Hides the token, so that it cannot reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(hidden)")
    }
}

impl TokenHash {
    /// The hash of a token as typed. Comparing hashes reveals nothing about the token.
    pub(crate) fn of(text: &str) -> TokenHash {
        TokenHash(Sha256::digest(text.as_bytes()).into())
    }
}
