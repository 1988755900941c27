//! Follows the store of a replica in a background thread.

use std::io;
use std::time::{Duration, Instant};

use super::background::Background;
use super::replica::{Progress, Replica};

/// Maximum retry delay. The delay doubles after each error, because a damaged generation is not worth
/// fetching every few seconds.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// How often the files of the copy are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// A replica that follows its store until this is dropped, which cancels a load in progress.
#[derive(Debug)]
pub struct Follower {
    _thread: Background,
}

impl Replica {
    /// Follows the store in a background thread: checks for a new generation at each `interval`, the first time
    /// immediately if the replica was opened with [`open_copy`](Self::open_copy), and calls `report` with the
    /// result. A copy that is found damaged is fetched again at once, rather than at the next check. After an error, it retries after one interval, then after twice as long, up to a minute, or when
    /// something newer is published.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn follow(
        self,
        interval: Duration,
        report: impl FnMut(&Progress) + Send + 'static,
    ) -> io::Result<Follower> {
        Ok(Follower {
            _thread: Background::start("replica", follow(self, interval, report))?,
        })
    }
}

async fn follow(mut replica: Replica, interval: Duration, mut report: impl FnMut(&Progress)) {
    let opening = replica.opening();
    let is_failing = opening.error.is_some();
    let mut retry_delay = RetryDelay::new(interval, is_failing.then_some(opening.newest));
    let mut pause = if replica.has_asked() {
        interval
    } else {
        Duration::ZERO
    };
    loop {
        let is_newly_damaged = wait(pause, &replica).await;
        pause = interval;
        // An unreachable store has no newer generation either.
        if !is_newly_damaged
            && let Some(faulty) = retry_delay.pausing_over()
            && replica.newest().await.is_none_or(|newest| newest == faulty)
        {
            continue;
        }
        let progress = replica.sync().await;
        retry_delay.note(progress.error.is_some().then_some(progress.newest));
        report(&progress);
    }
}

/// Waits until the pause is over or the copy is found damaged. Returns whether it was found just now.
async fn wait(pause: Duration, replica: &Replica) -> bool {
    let until = Instant::now() + pause;
    let was_damaged = replica.is_damaged();
    loop {
        if replica.is_damaged() && !was_damaged {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(left.min(LOOK_INTERVAL)).await;
    }
}

/// Exponential back-off for failing generations: one interval after an error, then twice as long, up to a minute.
///
/// ```
/// use std::time::Duration;
///
/// use signaldex::replicate::RetryDelay;
///
/// let mut delay = RetryDelay::new(Duration::from_secs(5), None);
/// assert_eq!(delay.pausing_over(), None);
/// delay.note(Some(7));
/// assert_eq!(delay.pausing_over(), Some(7));
/// ```
#[derive(Debug)]
pub struct RetryDelay {
    interval: Duration,
    pause: Duration,
    since: Instant,
    /// The newest generation at the time of the error.
    faulty: Option<u64>,
}

impl RetryDelay {
    /// A delay that retries after `interval` first; `faulty` is the newest generation if loading it has just failed.
    pub fn new(interval: Duration, faulty: Option<u64>) -> RetryDelay {
        RetryDelay {
            interval,
            pause: interval,
            since: Instant::now(),
            faulty,
        }
    }

    /// The generation that failed recently; without a newer one, there is nothing to do.
    pub fn pausing_over(&self) -> Option<u64> {
        self.faulty.filter(|_| self.since.elapsed() < self.pause)
    }

    /// Records an attempt, with the newest generation if it failed.
    pub fn note(&mut self, now_failing: Option<u64>) {
        self.pause = if now_failing.is_some() && now_failing == self.faulty {
            (self.pause * 2).min(PAUSE_MAX.max(self.interval))
        } else {
            self.interval
        };
        self.since = Instant::now();
        self.faulty = now_failing;
    }
}
