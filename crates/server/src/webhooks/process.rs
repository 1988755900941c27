//! The thread that delivers to webhooks while a service runs.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::WebhookOptions;
use super::deliver::Deliverer;
use crate::service::Service;
use crate::state::StateError;

/// How often the index and the searches that are due are looked at.
const INTERVAL: Duration = Duration::from_millis(250);

/// Delivers to webhooks until it is dropped: see [`Service::deliver_webhooks`].
#[derive(Debug)]
#[must_use = "dropping the guard ends the deliveries"]
pub struct WebhookDelivery {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Service {
    /// Delivers the matches of saved searches to their webhooks until the guard is dropped, on a thread of its own. Attempts
    /// under way then end, and are made again by the next process. Of several processes that share a state one delivers.
    /// Returns `None` if the index is not in this process, as in a cluster.
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
        let Some(deliverer) = Deliverer::new(self, options)? else {
            return Ok(None);
        };
        let delivery = WebhookDelivery::start(deliverer).map_err(|error| {
            StateError::invalid(format!("the thread of webhooks cannot be started: {error}"))
        });
        delivery.map(Some)
    }
}

impl WebhookDelivery {
    fn start(deliverer: Arc<Deliverer>) -> io::Result<WebhookDelivery> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(deliver(&deliverer, stopped));
            // A search that takes long is not waited for.
            runtime.shutdown_background();
            deliverer.leave();
        };
        let thread = thread::Builder::new()
            .name("webhooks".to_owned())
            .spawn(work)?;
        Ok(WebhookDelivery {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for WebhookDelivery {
    fn drop(&mut self) {
        drop(self.stop.take());
        let thread = self.thread.take().map(thread::JoinHandle::join);
        if thread.is_some_and(|end| end.is_err()) {
            tracing::error!("the thread of webhooks has failed");
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
