//! An event that tries a webhook, sent by the process that asks for it.

use time::UtcDateTime;

use super::WebhookRules;
use super::client::WebhookClient;
use super::event::WebhookEvent;
use crate::state::{State, StateError};

/// What a webhook has answered to an event that tries it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TestAnswer {
    /// The status; `None` without an answer.
    pub status: Option<u16>,
    /// Why there is no answer.
    pub reason: Option<String>,
    /// How long it took.
    pub milliseconds: u64,
    /// The first 256 bytes of the answer.
    pub body: Vec<u8>,
}

/// Sends an event of type `search.test` to the webhook of a saved search. It has no matches, costs nothing and is not in the
/// log of attempts. `None` if there is no search of that id with a webhook. Needs a tokio runtime with timers and sockets.
///
/// ```
/// use signaldex_server::State;
/// use signaldex_server::webhooks::{WebhookRules, send_test};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let state = State::open(directory.path().join("signaldex.db"))?;
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// let answer = runtime.block_on(send_test(&state, "srch_none", WebhookRules::default()))?;
/// assert!(answer.is_none());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The state cannot be read, or there is no TLS.
pub async fn send_test(
    state: &State,
    id: &str,
    rules: WebhookRules,
) -> Result<Option<TestAnswer>, StateError> {
    let Some(search) = state.search(id)? else {
        return Ok(None);
    };
    let Some(webhook) = &search.webhook else {
        return Ok(None);
    };
    let now: UtcDateTime = state.now();
    let event = WebhookEvent::of_test(&search, now)?;
    let headers = event.headers(&state.webhook_secrets(id)?, now);
    let client = WebhookClient::new(rules)?;
    let answered = client.send(&webhook.url, headers, event.body).await;
    Ok(Some(TestAnswer {
        status: answered.status,
        reason: answered.reason,
        milliseconds: u64::try_from(answered.time.as_millis()).unwrap_or(u64::MAX),
        body: answered.body,
    }))
}
