//! When a commit begins: at once, or after charges that are about to arrive.
//!
//! A commit costs as much for one charge as for forty, so a commit that waits for charges on their way
//! serves more of them in the same time. It waits only while charged requests are under way outside of the
//! queue, and at most a small multiple of the time of the last commit. Nothing depends on a number of
//! charges, at which throughput would jump.
//!
//! A request is under way from the moment it is known to be charged until its charge is in the queue, and
//! again from the commit until a worker receives the outcome: while workers are that busy, more will come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How many times as long as the last commit a commit waits at most.
const WAIT_FACTOR: u32 = 3;
/// The longest wait, on disks whose commits take long.
const WAIT_MAX: Duration = Duration::from_millis(5);
/// How often a waiting commit looks whether requests are under way, in the time of the last commit. At
/// each look there may be none for a moment, even under load.
const LOOKS: u32 = 2;
/// The shortest pause between two looks, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_micros(500)];
/// The bits of a round in [`Arrivals`].
const ROUND_SHIFT: u32 = 32;

/// The charged requests that are under way outside of the queue. Clones share the count.
///
/// The upper half is a round, the lower half the number of requests that have begun in it. A new round
/// forgets them, so that no request is waited for twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(Arc<AtomicU64>);

/// A request that is under way outside of the queue, until this is dropped.
#[derive(Debug)]
pub(crate) struct Arrival {
    arrivals: Arrivals,
    round: u64,
}

impl Arrivals {
    pub(super) fn enter(&self) -> Arrival {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        Arrival {
            arrivals: self.clone(),
            round: before >> ROUND_SHIFT,
        }
    }

    /// Whether a request of this round is under way. If not, all charges are in the queue.
    pub(super) fn are_under_way(&self) -> bool {
        // Requests leave after they have queued.
        self.0.load(Ordering::Acquire) as u32 > 0
    }

    /// Forgets the requests that are under way.
    pub(super) fn forget(&self) {
        let next = |now: u64| Some(((now >> ROUND_SHIFT) + 1) << ROUND_SHIFT);
        // The closure always returns a value.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let left = |now: u64| (now >> ROUND_SHIFT == self.round).then(|| now - 1);
        // A request of an earlier round is not counted any more.
        let count = &self.arrivals.0;
        let _ = count.fetch_update(Ordering::Release, Ordering::Relaxed, left);
    }
}

/// What the thread that writes charges does with those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PaceStep {
    Commit,
    /// Commit, and wait no more for the requests that are under way.
    GiveUp,
    /// Look again after a pause.
    Pause(Duration),
}

/// The pace of commits.
#[derive(Debug, Default)]
pub(super) struct CommitPace {
    last_commit: Duration,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    #[default]
    Idle,
    WaitingUntil(Instant),
    CommittingSince(Instant),
}

impl CommitPace {
    /// Decides what to do with the charges in the queue. Are further ones awaited?
    pub(super) fn next(&mut self, is_awaited: bool, now: Instant) -> PaceStep {
        let until = match self.phase {
            Phase::WaitingUntil(until) => until,
            Phase::Idle | Phase::CommittingSince(_) => now + self.wait_max(),
        };
        let left = until.saturating_duration_since(now);
        if is_awaited && !left.is_zero() {
            self.phase = Phase::WaitingUntil(until);
            return PaceStep::Pause(self.pause().min(left));
        }
        self.phase = Phase::CommittingSince(now);
        if is_awaited {
            PaceStep::GiveUp
        } else {
            PaceStep::Commit
        }
    }

    /// The commit has ended, with success or without.
    pub(super) fn committed(&mut self, now: Instant) {
        if let Phase::CommittingSince(began) = std::mem::take(&mut self.phase) {
            self.last_commit = now.saturating_duration_since(began);
        }
    }

    fn wait_max(&self) -> Duration {
        self.last_commit.saturating_mul(WAIT_FACTOR).min(WAIT_MAX)
    }

    fn pause(&self) -> Duration {
        let [shortest, longest] = PAUSES;
        (self.last_commit / LOOKS).clamp(shortest, longest)
    }
}

#[cfg(test)]
mod tests;
