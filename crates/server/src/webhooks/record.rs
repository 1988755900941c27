//! What is kept of a webhook: its status, and the attempts to deliver to it.

use std::fmt;

use serde::{Serialize, Serializer};
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use super::WebhookUrl;
use crate::corpus::FeedPosition;

/// Whether matches of a saved search are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchStatus {
    /// They are, or the key pulls them.
    Active,
    /// The operator has paused it.
    Paused,
    /// The last attempt failed, and another follows.
    Failing,
    /// The last attempt of all failed, or the receiver has answered 410.
    Disabled,
    /// Nothing is left of the key's quota of signals; it goes on with the next month.
    Quota,
    /// The key is revoked or expired.
    KeyEnded,
    /// The position is forgotten, or of another index.
    Expired,
}

/// The webhook of a saved search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookRecord {
    /// Where events are sent.
    pub url: WebhookUrl,
    /// Up to where matches are delivered; `None` until a service has seen the search.
    pub position: Option<FeedPosition>,
    /// The number of matches of the batch under way.
    pub pending: usize,
    /// When an event was last accepted.
    pub delivered_at: Option<UtcDateTime>,
}

/// An attempt to deliver an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeliveryAttempt {
    /// When it began.
    #[serde(serialize_with = "rfc3339")]
    pub at: UtcDateTime,
    /// The `webhook-id`, which all attempts of an event share.
    pub id: String,
    /// Its number, from 1.
    pub attempt: u32,
    /// The status of the answer; `None` without one.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub reason: Option<String>,
    /// How long it took.
    pub milliseconds: u64,
    /// The number of matches in the event.
    pub matches: usize,
}

impl SearchStatus {
    /// Every status.
    pub const ALL: [SearchStatus; 7] = [
        SearchStatus::Active,
        SearchStatus::Paused,
        SearchStatus::Failing,
        SearchStatus::Disabled,
        SearchStatus::Quota,
        SearchStatus::KeyEnded,
        SearchStatus::Expired,
    ];

    /// The name of the status in the API, on the command line and in the state.
    ///
    /// ```
    /// use signaldex_server::webhooks::SearchStatus;
    ///
    /// assert_eq!(SearchStatus::KeyEnded.as_str(), "key_ended");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            SearchStatus::Active => "active",
            SearchStatus::Paused => "paused",
            SearchStatus::Failing => "failing",
            SearchStatus::Disabled => "disabled",
            SearchStatus::Quota => "quota",
            SearchStatus::KeyEnded => "key_ended",
            SearchStatus::Expired => "expired",
        }
    }

    /// The status of a name.
    pub(crate) fn parse(name: &str) -> Option<SearchStatus> {
        SearchStatus::ALL
            .into_iter()
            .find(|status| status.as_str() == name)
    }
}

impl fmt::Display for SearchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn rfc3339<S: Serializer>(at: &UtcDateTime, serializer: S) -> Result<S::Ok, S::Error> {
    let text = at.format(&Rfc3339).map_err(serde::ser::Error::custom)?;
    serializer.serialize_str(&text)
}
