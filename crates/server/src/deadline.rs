//! The deadline of a request, and who enforces it.
//!
//! Before a request is charged, its future is dropped at the deadline. While a charge waits, only the
//! charge knows whether it can still be withdrawn, so the charge watches the deadline itself.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::problem::Problem;

/// The deadline of a request.
#[derive(Debug)]
pub(super) struct Deadline {
    at: Instant,
    is_charging: AtomicBool,
}

impl Deadline {
    pub(super) fn after(time: Duration) -> Deadline {
        Deadline {
            at: Instant::now() + time,
            is_charging: AtomicBool::new(false),
        }
    }

    /// The instant of the deadline.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// The answer, or a problem if the deadline passes before the request is charged.
    pub(super) async fn bound<T>(
        &self,
        answer: impl Future<Output = Result<T, Problem>>,
    ) -> Result<T, Problem> {
        tokio::select! {
            biased;
            answer = answer => answer,
            () = self.ends_work() => Err(Problem::timed_out()),
        }
    }

    /// Hands the deadline over to the charge, which must end the request by the returned instant.
    pub(super) fn of_charge(&self) -> Instant {
        self.is_charging.store(true, Ordering::Relaxed);
        self.at
    }

    async fn ends_work(&self) {
        tokio::time::sleep_until(self.at).await;
        if self.is_charging.load(Ordering::Relaxed) {
            std::future::pending().await
        }
    }
}
