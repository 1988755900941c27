//! What a service needs beside requests: it follows other processes and records what it counts in memory.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::keyring::FOLLOW_INTERVAL;
use super::service::Service;

/// How often free answers are recorded, and the kept bytes read.
const RECORD_INTERVAL: Duration = Duration::from_secs(1);

/// Maintains a [`Service`] until it is dropped: see [`Service::maintain`].
#[derive(Debug)]
#[must_use = "dropping the guard closes the service"]
pub struct Maintenance {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Service {
    /// Maintains the service on a thread of its own until the guard is dropped: every quarter of a second it
    /// [follows](Self::follow) changes by other processes, and every second it
    /// [records free answers](Self::record_free_answers). Dropping the guard records the last ones and
    /// [closes](Self::close) the service; it blocks until all charges are durable, so drop it after the last
    /// request. [`Server`](super::Server) maintains its service itself.
    ///
    /// Cost: some small reads in a second.
    ///
    /// # Errors
    /// The thread cannot be started.
    ///
    /// ```
    /// use signaldex_server::{Limits, Service, State, Today};
    /// use signaldex::sample;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let service = Service::new(sample::index()?, State::open(path)?, Today::Clock, Limits::default())?;
    /// let maintenance = service.maintain()?;
    /// let routes = axum::Router::new().nest("/signals", service.router());
    /// // Serve the routes here.
    /// # let _ = routes;
    /// drop(maintenance);
    /// # Ok(())
    /// # }
    /// ```
    pub fn maintain(&self) -> io::Result<Maintenance> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let service = self.clone();
        let work = move || maintain(&service, runtime, stopped);
        let thread = thread::Builder::new()
            .name("maintenance".to_owned())
            .spawn(work)?;
        Ok(Maintenance {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        drop(self.stop.take());
        if self
            .thread
            .take()
            .map(thread::JoinHandle::join)
            .is_some_and(|end| end.is_err())
        {
            tracing::error!("the service was not closed, because its maintenance has panicked");
        }
    }
}

fn maintain(service: &Service, runtime: Runtime, stop: oneshot::Receiver<()>) {
    runtime.block_on(async {
        // Neither a large index nor a slow disk of the state holds up the look at the files.
        follow(service, FOLLOW_INTERVAL, Service::follow_state);
        follow(service, FOLLOW_INTERVAL, Service::look);
        follow(service, FOLLOW_INTERVAL, Service::follow_index);
        follow(service, RECORD_INTERVAL, Service::follow_kept);
        follow(service, FOLLOW_INTERVAL, Service::begin_searches);
        record(service, stop).await;
    });
    // An index that is being loaded is not waited for.
    runtime.shutdown_background();
    service.close();
}

/// Does blocking work again and again, never twice at once.
fn follow(service: &Service, pause: Duration, work: fn(&Service)) {
    let service = service.clone();
    tokio::spawn(async move {
        let mut tick = interval(pause);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let service = service.clone();
            if spawn_blocking(move || work(&service)).await.is_err() {
                tracing::error!("following other processes has failed");
            }
        }
    });
}

/// Records free answers once a second, and once more when `stop` is sent or dropped.
async fn record(service: &Service, mut stop: oneshot::Receiver<()>) {
    let mut tick = interval(RECORD_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_over = false;
    while !is_over {
        tokio::select! {
            _ = tick.tick() => {}
            _ = &mut stop => is_over = true,
        }
        service.record_free_answers().await;
    }
}
