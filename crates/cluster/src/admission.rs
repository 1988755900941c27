//! Admission control: a limit on concurrent work, and a short queue with a deadline. Everything else is refused.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Limits the number of concurrent tasks.
#[derive(Debug)]
pub(super) struct Admission {
    running: Semaphore,
    queue: Semaphore,
    wait: Duration,
}

impl Admission {
    /// Admits `running_max` at once; `queued_max` more wait for their turn, each for at most `wait`.
    pub(super) fn new(running_max: usize, queued_max: usize, wait: Duration) -> Admission {
        Admission {
            running: Semaphore::new(running_max),
            queue: Semaphore::new(queued_max),
            wait,
        }
    }

    /// Waits for a turn, which lasts until the permit is dropped; `None` where the queue is full or the wait
    /// too long. First come, first served.
    pub(super) async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.running.try_acquire() {
            return Some(permit);
        }
        let _place = self.queue.try_acquire().ok()?;
        let permit = tokio::time::timeout(self.wait, self.running.acquire()).await;
        permit.ok()?.ok()
    }
}

#[cfg(test)]
mod tests;
