//! The thread in which a replica follows its store.

use std::io;
use std::time::{Duration, Instant};

use super::background::Background;
use super::replica::{Progress, Replica};

/// The longest time that an error is left alone, which doubles each time: a generation that is damaged
/// is not worth fetching every few seconds.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// A replica that follows its store until this is dropped, which gives up what is under way.
#[derive(Debug)]
pub struct Follower {
    _thread: Background,
}

impl Replica {
    /// Follows the store in a thread of its own: looks for a new generation after each `interval`, at once
    /// where [opening](Self::open_copy) has not, and reports what came of it. What went wrong is tried again after the
    /// same time, then after twice as long, up to a minute, or when something newer is published.
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
        tokio::time::sleep(pause).await;
        pause = interval;
        // A store that cannot be reached has no news either.
        if let Some(faulty) = retry_delay.pausing_over()
            && replica.newest().await.is_none_or(|newest| newest == faulty)
        {
            continue;
        }
        let progress = replica.sync().await;
        retry_delay.note(progress.error.is_some().then_some(progress.newest));
        report(&progress);
    }
}

/// How long what went wrong is left alone.
pub(crate) struct RetryDelay {
    interval: Duration,
    pause: Duration,
    since: Instant,
    /// The newest generation as it was when something went wrong.
    faulty: Option<u64>,
}

impl RetryDelay {
    pub(crate) fn new(interval: Duration, faulty: Option<u64>) -> RetryDelay {
        RetryDelay {
            interval,
            pause: interval,
            since: Instant::now(),
            faulty,
        }
    }

    /// The generation that went wrong a short time ago: without a newer one, there is nothing to do.
    pub(crate) fn pausing_over(&self) -> Option<u64> {
        self.faulty.filter(|_| self.since.elapsed() < self.pause)
    }

    /// Notes an attempt, and the newest generation where it has failed.
    pub(crate) fn note(&mut self, now_failing: Option<u64>) {
        self.pause = if now_failing.is_some() && now_failing == self.faulty {
            (self.pause * 2).min(PAUSE_MAX.max(self.interval))
        } else {
            self.interval
        };
        self.since = Instant::now();
        self.faulty = now_failing;
    }
}
