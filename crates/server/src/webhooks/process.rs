//! The threads that deliver to webhooks while a service runs.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::alerts::AlertSender;
use super::deliver::Deliverer;
use super::{AlertWebhook, WebhookOptions};
use crate::service::Service;
use crate::state::StateError;

/// How often the index and the searches that are due are looked at.
const INTERVAL: Duration = Duration::from_millis(250);
/// How often alerts are looked for.
const ALERT_INTERVAL: Duration = Duration::from_secs(1);

/// Delivers to webhooks until it is dropped: see [`Service::deliver_webhooks`] and [`Service::deliver_alerts`].
#[derive(Debug)]
#[must_use = "dropping the guard ends the deliveries"]
pub struct WebhookDelivery {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Service {
    /// Delivers the matches of saved searches to their webhooks until the guard is dropped, on a thread of its own. Attempts
    /// under way then end, and are made again by the next process. Of several processes that share a state one delivers.
    /// Returns `None` if the corpus of a host has no saved searches. Call it in the runtime of the service, if it has one.
    ///
    /// Cost: a small read four times a second. Without a search that has a webhook, nothing is written.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_server::webhooks::WebhookOptions;
    /// use signaldex_server::{Limits, Service, State, Today};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let service = Service::new(sample::index()?, State::open(path)?, Today::Clock, Limits::default())?;
    /// let delivery = service.deliver_webhooks(WebhookOptions::default())?;
    /// assert!(delivery.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no TLS, or the thread cannot be started.
    pub fn deliver_webhooks(
        &self,
        options: WebhookOptions,
    ) -> Result<Option<WebhookDelivery>, StateError> {
        self.set_webhook_rules(options.rules.clone());
        let Some(deliverer) = Deliverer::new(self, options)? else {
            return Ok(None);
        };
        let leaving = Arc::clone(&deliverer);
        let deliver = |stop| async move { deliver(&deliverer, stop).await };
        WebhookDelivery::start("webhooks", deliver, move || leaving.leave()).map(Some)
    }

    /// Sends the alerts of quotas to a webhook of the operator until the guard is dropped, on a thread of its own: those of
    /// the present month that it has not accepted yet. Each is sent again after the pauses until it is accepted, with one
    /// id. Of several processes that share a state one sends each.
    ///
    /// Cost: a small read each second.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_server::webhooks::{AlertWebhook, WebhookRules, WebhookSecret, WebhookUrl};
    /// use signaldex_server::{Limits, Service, State, Today};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let service = Service::new(sample::index()?, State::open(path)?, Today::Clock, Limits::default())?;
    /// let url = WebhookUrl::parse("https://operator.example/quotas", &WebhookRules::default())?;
    /// let _delivery = service.deliver_alerts(AlertWebhook::new(url, WebhookSecret::generate()?))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no TLS, or the thread cannot be started.
    pub fn deliver_alerts(&self, webhook: AlertWebhook) -> Result<WebhookDelivery, StateError> {
        let sender = Arc::new(AlertSender::new(self, webhook)?);
        let send = |stop| async move { send_alerts(&sender, stop).await };
        WebhookDelivery::start("alerts", send, || {})
    }
}

impl WebhookDelivery {
    /// Runs `work` on a thread of its own until the guard is dropped, and then `leave`.
    fn start<W: Future<Output = ()>>(
        name: &str,
        work: impl FnOnce(oneshot::Receiver<()>) -> W + Send + 'static,
        leave: impl FnOnce() + Send + 'static,
    ) -> Result<WebhookDelivery, StateError> {
        let failed = |error: std::io::Error| {
            StateError::invalid(format!("the thread of {name} cannot be started: {error}"))
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            runtime.block_on(work(stopped));
            // A search that takes long is not waited for.
            runtime.shutdown_background();
            leave();
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run);
        Ok(WebhookDelivery {
            stop: Some(stop),
            thread: Some(thread.map_err(failed)?),
        })
    }
}

impl Drop for WebhookDelivery {
    fn drop(&mut self) {
        drop(self.stop.take());
        let thread = self.thread.take().map(thread::JoinHandle::join);
        if thread.is_some_and(|end| end.is_err()) {
            tracing::error!("a thread of webhooks has failed");
        }
    }
}

async fn deliver(deliverer: &Arc<Deliverer>, mut stop: oneshot::Receiver<()>) {
    let mut turns = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => return,
            () = deliverer.step(&mut turns) => {}
        }
        tokio::select! {
            _ = &mut stop => return,
            () = deliverer.freed.notified() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

async fn send_alerts(sender: &Arc<AlertSender>, mut stop: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stop => return,
            () = sender.step() => {}
        }
        tokio::select! {
            _ = &mut stop => return,
            () = tokio::time::sleep(ALERT_INTERVAL) => {}
        }
    }
}
