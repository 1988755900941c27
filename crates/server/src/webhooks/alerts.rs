//! Alerts of quotas, sent to one webhook of the operator.

use std::sync::Arc;
use std::time::Duration;

use time::UtcDateTime;
use tokio::task::spawn_blocking;

use super::client::{AttemptAnswer, WebhookClient};
use super::deliver::shown;
use super::event::WebhookEvent;
use super::logged_error::LoggedError;
use super::{AfterAttempt, RetryPauses, WebhookRules, WebhookSecret, WebhookUrl};
use crate::instants::after;
use crate::service::{Service, ServiceCore};
use crate::state::{DueAlert, State, StateError};

/// How long an alert is held for an attempt: longer than one takes.
const HOLD: Duration = Duration::from_secs(60);

/// The webhook that receives alerts of quotas, each as an event of type `quota.reached`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AlertWebhook {
    /// Where events are sent.
    pub url: WebhookUrl,
    /// Signs them.
    pub secret: WebhookSecret,
    /// Which URLs and addresses are asked.
    pub rules: WebhookRules,
    /// The pauses between the attempts of an event.
    pub pauses: RetryPauses,
}

impl AlertWebhook {
    /// A webhook at a public address, with the default pauses.
    ///
    /// ```
    /// use signaldex_server::webhooks::{AlertWebhook, RetryPauses, WebhookRules, WebhookSecret, WebhookUrl};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let url = WebhookUrl::parse("https://operator.example/quotas", &WebhookRules::default())?;
    /// let webhook = AlertWebhook::new(url, WebhookSecret::generate()?);
    /// assert_eq!(webhook.pauses, RetryPauses::default());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(url: WebhookUrl, secret: WebhookSecret) -> AlertWebhook {
        AlertWebhook {
            url,
            secret,
            rules: WebhookRules::default(),
            pauses: RetryPauses::default(),
        }
    }
}

/// What sends alerts for one process.
pub(super) struct AlertSender {
    service: Arc<ServiceCore>,
    client: WebhookClient,
    webhook: AlertWebhook,
    error: LoggedError,
}

impl AlertSender {
    /// # Errors
    /// There is no TLS.
    pub(super) fn new(service: &Service, webhook: AlertWebhook) -> Result<AlertSender, StateError> {
        Ok(AlertSender {
            service: Arc::clone(&service.0),
            client: WebhookClient::new(webhook.rules.clone())?,
            webhook,
            error: LoggedError::of("alerts of quotas are not sent"),
        })
    }

    /// Sends the alerts that are due, one after the other.
    pub(super) async fn step(self: &Arc<Self>) {
        let sent = self.send_due().await;
        self.error.note(sent.err().as_ref());
    }

    async fn send_due(self: &Arc<Self>) -> Result<(), String> {
        while let Some(due) = self.take().await? {
            let event = WebhookEvent::of_alert(&due.alert, due.raised_at);
            let headers = event.headers(std::slice::from_ref(&self.webhook.secret), self.now());
            let url = &self.webhook.url;
            let answered = self.client.send(url, headers, event.body).await;
            let next = self.next(&due, &answered)?;
            self.blocking(move |state| state.end_alert(&due, next))
                .await?;
        }
        Ok(())
    }

    async fn take(self: &Arc<Self>) -> Result<Option<DueAlert>, String> {
        let now = self.now();
        let held_until = after(now, HOLD);
        self.blocking(move |state| state.take_due_alert(now, held_until))
            .await
    }

    /// When the next attempt is due, if one follows.
    fn next(
        &self,
        due: &DueAlert,
        answered: &AttemptAnswer,
    ) -> Result<Option<UtcDateTime>, String> {
        let random = getrandom::u64().map_err(shown)?;
        let (status, retry_after) = (answered.status, answered.retry_after);
        let pauses = &self.webhook.pauses;
        match pauses.after(due.attempt, status, retry_after, random) {
            AfterAttempt::Accepted => Ok(None),
            AfterAttempt::Retry(pause) => Ok(Some(after(self.now(), pause))),
            AfterAttempt::Disable => {
                tracing::warn!(
                    key = due.alert.key_id,
                    status,
                    reason = answered.reason,
                    attempts = due.attempt,
                    "the webhook of alerts has not accepted one; it is not sent again"
                );
                Ok(None)
            }
        }
    }

    fn now(&self) -> UtcDateTime {
        self.service.state.now()
    }

    /// Reads or writes the state.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&State) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, String> {
        let service = Arc::clone(&self.service);
        let done = spawn_blocking(move || work(&service.state)).await;
        done.map_err(|_| "a thread has failed".to_owned())?
            .map_err(shown)
    }
}

#[cfg(test)]
mod tests;
