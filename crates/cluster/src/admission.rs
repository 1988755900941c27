//! Limits on concurrent work, by tower: some of it runs, some waits for its turn, and the rest is refused at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio::time::error::Elapsed;
use tower::limit::ConcurrencyLimit;
use tower::load_shed::LoadShed;
use tower::{Service, ServiceExt, service_fn};

/// Limits the number of concurrent tasks.
#[derive(Debug)]
pub(super) struct Admission {
    /// Of what runs or waits.
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
    wait: Duration,
    shed: AtomicU64,
}

impl Admission {
    /// Admits `running_max` at once; `queued_max` more wait for their turn, each for at most `wait`.
    pub(super) fn new(running_max: usize, queued_max: usize, wait: Duration) -> Admission {
        Admission {
            admitted: Arc::new(Semaphore::new(running_max + queued_max)),
            running: Arc::new(Semaphore::new(running_max)),
            wait,
            shed: AtomicU64::new(0),
        }
    }

    /// Runs work in its turn, first come, first served; `None` where too much waits already or the turn does not come
    /// in time.
    pub(super) async fn run<F: Future>(&self, work: F) -> Option<F::Output> {
        let (running, wait) = (&self.running, self.wait);
        let in_turn = service_fn(move |work: F| async move {
            let run = service_fn(|work: F| work.map(Ok::<F::Output, Elapsed>));
            let mut run = ConcurrencyLimit::with_semaphore(run, Arc::clone(running));
            let turn = tokio::time::timeout(wait, run.ready()).await??;
            turn.call(work).await
        });
        let admitted = ConcurrencyLimit::with_semaphore(in_turn, Arc::clone(&self.admitted));
        let done = LoadShed::new(admitted).oneshot(work).await.ok();
        if done.is_none() {
            self.shed.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// How much work was refused so far.
    pub(super) fn shed(&self) -> u64 {
        self.shed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
