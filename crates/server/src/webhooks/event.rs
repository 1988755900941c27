//! Events as they are sent: their bodies, their ids, and the headers of Standard Webhooks.

use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest, Sha256};
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use super::{WebhookSecret, signatures};
use crate::keys::random_text;
use crate::saved_searches::SearchRecord;
use crate::state::{BatchIds, QuotaAlert, StateError};

/// Bytes of the hash in an id.
const ID_BYTES: usize = 16;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// An event to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebhookEvent {
    pub(super) id: String,
    pub(super) body: Vec<u8>,
}

impl WebhookEvent {
    /// The event of a batch, with those of its matches that are still to be sent, as JSON. Every attempt has the same id.
    pub(super) fn of_batch(
        search: &SearchRecord,
        ids: &BatchIds,
        matches: &[Vec<u8>],
        at: UtcDateTime,
    ) -> WebhookEvent {
        let head = head("search.matched", search, at);
        let removed: Vec<String> = ids.removed.iter().map(|id| format!("\"{id}\"")).collect();
        let end = format!("],\"removed\":[{}]}}}}", removed.join(","));
        let matches: Vec<&[u8]> = matches.iter().map(Vec::as_slice).collect();
        WebhookEvent {
            id: batch_id(&search.id, ids),
            body: [
                head.as_bytes(),
                b",\"matches\":[",
                &matches.join(&b","[..]),
                end.as_bytes(),
            ]
            .concat(),
        }
    }

    /// An event that tries a webhook. It has no matches and costs nothing.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub(super) fn of_test(
        search: &SearchRecord,
        at: UtcDateTime,
    ) -> Result<WebhookEvent, StateError> {
        let head = head("search.test", search, at);
        Ok(WebhookEvent {
            id: format!("msg_{}", random_text::<ID_BYTES>()?),
            body: format!("{head},\"matches\":[],\"removed\":[]}}}}").into_bytes(),
        })
    }

    /// The event of an alert of a quota. Every attempt has the same id and body.
    pub(super) fn of_alert(alert: &QuotaAlert, at: UtcDateTime) -> WebhookEvent {
        let data = json!({
            "keyId": alert.key_id,
            "name": alert.name,
            "counter": alert.counter.as_str(),
            "month": alert.month.to_string(),
            "percent": alert.percent,
            "used": alert.used,
            "quota": alert.quota,
        });
        let number = |number: u64| number.to_string();
        let identity = [
            alert.key_id.clone(),
            alert.counter.as_str().to_owned(),
            alert.month.to_string(),
            number(alert.percent),
            number(alert.quota),
        ];
        let start = start("quota.reached", at);
        WebhookEvent {
            id: event_id(identity.iter().map(String::as_str)),
            body: format!("{start}{data}}}").into_bytes(),
        }
    }

    /// The headers of an attempt at an instant, with a signature for each secret.
    pub(super) fn headers(&self, secrets: &[WebhookSecret], at: UtcDateTime) -> HeaderMap {
        let seconds = at.unix_timestamp();
        let signature = signatures(secrets, &self.id, seconds, &self.body);
        let agent = concat!("signaldex/", env!("CARGO_PKG_VERSION"));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        headers.insert(TIMESTAMP, HeaderValue::from(seconds));
        // Ids and signatures are base64.
        for (name, value) in [(ID, &self.id), (SIGNATURE, &signature)] {
            headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        }
        headers
    }
}

/// The `webhook-id` of a batch, from the ids of its matches and of the signals that have left the search.
pub(super) fn batch_id(search: &str, ids: &BatchIds) -> String {
    let ids = ids.matches.iter().chain(&ids.removed);
    event_id([search].into_iter().chain(ids.map(String::as_str)))
}

/// The `webhook-id` of an event that some texts identify.
fn event_id<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let bytes: [u8; 32] = hash.finalize().into();
    format!("msg_{}", URL_SAFE_NO_PAD.encode(&bytes[..ID_BYTES]))
}

/// The beginning of a body, up to the search.
fn head(kind: &str, search: &SearchRecord, at: UtcDateTime) -> String {
    let named = json!({"id": search.id, "name": search.settings.name});
    format!("{}{{\"search\":{named}", start(kind, at))
}

/// The beginning of a body, up to its data.
fn start(kind: &str, at: UtcDateTime) -> String {
    // Instants of this millennium have that form.
    let at = at.format(&Rfc3339).unwrap_or_default();
    format!("{{\"type\":\"{kind}\",\"timestamp\":\"{at}\",\"data\":")
}
