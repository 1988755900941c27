//! Signatures of Standard Webhooks: HMAC-SHA256 over id, timestamp and body.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::state::StateError;

/// Random bytes of a secret, as many as Standard Webhooks recommends at least.
const SECRET_BYTES: usize = 32;
/// What the text of a secret begins with.
const PREFIX: &str = "whsec_";

/// The secret that a webhook shares with its receiver.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

impl WebhookSecret {
    /// A new secret of 32 random bytes.
    ///
    /// ```
    /// use signaldex_server::webhooks::WebhookSecret;
    ///
    /// assert!(WebhookSecret::generate()?.text().starts_with("whsec_"));
    /// # Ok::<(), signaldex_server::StateError>(())
    /// ```
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub fn generate() -> Result<WebhookSecret, StateError> {
        let mut bytes = vec![0; SECRET_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(WebhookSecret(bytes))
    }

    /// The secret as the state stores it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret that the state has stored.
    pub(crate) fn of_stored(bytes: Vec<u8>) -> WebhookSecret {
        WebhookSecret(bytes)
    }

    /// Reads a secret as [`text`](Self::text) writes it.
    ///
    /// ```
    /// use signaldex_server::webhooks::WebhookSecret;
    ///
    /// let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjSw");
    /// assert_eq!(secret.map(|secret| secret.text()).as_deref(), Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjSw"));
    /// assert!(WebhookSecret::parse("secret").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<WebhookSecret> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (!bytes.is_empty()).then_some(WebhookSecret(bytes))
    }

    /// The secret as text, to be shown once.
    ///
    /// ```
    /// use signaldex_server::webhooks::WebhookSecret;
    ///
    /// let secret = WebhookSecret::parse("whsec_AQID").expect("a secret");
    /// assert_eq!(secret.text(), "whsec_AQID");
    /// ```
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The signature of an event.
    fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        // HMAC takes keys of any length.
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0)
            .expect("HMAC takes keys of any length");
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// The header `webhook-signature` of an event: a signature for each secret that is valid, separated by spaces. `timestamp` is
/// in seconds since 1970.
///
/// ```
/// use signaldex_server::webhooks::{WebhookSecret, signatures};
///
/// let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjSw").expect("a secret");
/// let body = br#"{"test": 2432232314}"#;
/// let header = signatures(&[secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
/// assert_eq!(header, "v1,q6KMVIJHk4Gs770FfR5f591Ftx7uVJSGl5wHV1ri978=");
/// ```
pub fn signatures(secrets: &[WebhookSecret], id: &str, timestamp: i64, body: &[u8]) -> String {
    let signed = secrets
        .iter()
        .map(|secret| secret.sign(id, timestamp, body));
    signed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
