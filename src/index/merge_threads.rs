//! Background threads that merge segments, after commits and when the writer is idle.
//!
//! A thread merges segments after those that the other thread is merging. So two merges share no segment, and
//! a merge of a million rows does not delay those of small segments. Small segments at the end are left to
//! commits.

use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::commit::Committer;
use super::merge::{self, choose, choose_idle, choose_in_stream, unclaimed};
use super::snapshot::Snapshot;

/// One thread for the largest segments and one for segments committed meanwhile. With a single one, 10,000
/// upserts per second left 40 segments during a merge of a million (`examples/live.rs`).
const THREADS: usize = 2;

/// Time without commits after which a writer is idle.
const IDLE: Duration = Duration::from_secs(5);

/// Large commits are a stream where each comes this soon after the one before.
const STREAM_PAUSE: Duration = Duration::from_secs(2);

/// The threads. Dropping them waits for running merges; a merge of an idle writer is cancelled.
#[derive(Debug)]
pub(super) struct MergeThreads {
    schedule: Arc<Schedule>,
    threads: Vec<JoinHandle<()>>,
}

/// The state shared by the threads.
#[derive(Debug)]
struct Schedule {
    /// Upgraded only during a merge, so that the threads do not keep the writer's lock.
    core: Weak<Committer>,
    idle: Duration,
    state: Mutex<MergeState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct MergeState {
    /// The number of the last segment of each running merge.
    under_way: Vec<u64>,
    /// When the writer becomes idle; `None` if that has been handled.
    idle_at: Option<Instant>,
    /// When the last large commit was.
    large_commit_at: Option<Instant>,
    /// Until when large commits count as a stream; none where they do not.
    stream_until: Option<Instant>,
    /// Whether a merge has failed. The writer's state or the printed panic has the reason. Nothing is retried until
    /// the next commit.
    has_failed: bool,
    is_closing: bool,
}

/// The next task of a thread.
enum Task {
    Merge(Merge),
    Wait,
    End,
}

/// A merge of segments of a snapshot.
struct Merge {
    core: Arc<Committer>,
    snapshot: Arc<Snapshot>,
    segments: Range<usize>,
    /// Whether it is the merge of an idle writer, which is cancelled with the writer.
    is_idle: bool,
}

impl MergeThreads {
    /// Starts the threads.
    pub(super) fn start(core: &Arc<Committer>) -> MergeThreads {
        MergeThreads::start_with(core, IDLE)
    }

    /// As [`start`](Self::start), with a given idle time.
    pub(super) fn start_with(core: &Arc<Committer>, idle: Duration) -> MergeThreads {
        let schedule = Arc::new(Schedule::new(Arc::downgrade(core), idle));
        let start = |_| {
            let schedule = Arc::clone(&schedule);
            let thread = std::thread::Builder::new().name("signaldex-merge".to_owned());
            // If a thread cannot be started, segments stay unmerged, and everything else works.
            thread.spawn(move || schedule.run()).ok()
        };
        let threads = (0..THREADS).filter_map(start).collect();
        MergeThreads { schedule, threads }
    }

    /// Notifies the threads that a commit of this size may have left segments to merge.
    pub(super) fn wake(&self, written: u64) {
        let mut state = self.schedule.lock();
        let now = Instant::now();
        state.idle_at = Some(now + self.schedule.idle);
        state.has_failed = false;
        if merge::is_large(written) {
            let before = state.large_commit_at.replace(now);
            let follows = before.is_some_and(|before| now - before < STREAM_PAUSE);
            state.stream_until = follows.then(|| now + STREAM_PAUSE);
        }
        self.schedule.changed.notify_all();
    }

    /// Waits until there is nothing to merge.
    pub(super) fn wait(&self) {
        if self.threads.is_empty() {
            return;
        }
        let mut state = self.schedule.lock();
        state.stream_until = None;
        self.schedule.changed.notify_all();
        let is_busy = |state: &mut MergeState| {
            !state.under_way.is_empty() || self.schedule.due(state).is_some()
        };
        let waited = self.schedule.changed.wait_while(state, is_busy);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for MergeThreads {
    fn drop(&mut self) {
        self.schedule.lock().is_closing = true;
        self.schedule.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Fails only if the thread has panicked, which merges cannot cause.
            let _ = thread.join();
        }
    }
}

impl Schedule {
    fn new(core: Weak<Committer>, idle: Duration) -> Schedule {
        Schedule {
            core,
            idle,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, MergeState> {
        // Poisoning is harmless: every change of the state is a single assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        // Ends when the writer is closing and no merge is due.
        loop {
            state = match self.next(&mut state) {
                Task::Merge(merge) => self.merge(merge, state),
                Task::Wait => self.wait_for_change(state),
                Task::End => return,
            };
        }
    }

    /// Runs a merge with the state unlocked.
    fn merge<'s>(
        &'s self,
        merge: Merge,
        mut state: MutexGuard<'s, MergeState>,
    ) -> MutexGuard<'s, MergeState> {
        let inputs = &merge.snapshot.segments[merge.segments.clone()];
        let last = inputs.last().map_or(0, |live| live.number);
        state.under_way.push(last);
        drop(state);
        let is_given_up = || merge.is_idle && self.lock().is_closing;
        // If a panic ended the thread, `wait` would never return. An unpublished merge has no effects.
        let merged = panic::catch_unwind(AssertUnwindSafe(|| {
            merge::merge(&merge.core, inputs, &is_given_up)
        }));
        // The lock of the index must not outlive the writer by what a thread holds.
        drop(merge);
        let mut state = self.lock();
        state.under_way.retain(|&number| number != last);
        state.has_failed |= !matches!(merged, Ok(Ok(())));
        self.changed.notify_all();
        state
    }

    fn next(&self, state: &mut MergeState) -> Task {
        let now = Instant::now();
        state.stream_until = state.stream_until.filter(|&until| until > now);
        // Before `is_closing` is looked at: merges that are due run even if the writer is closing.
        if let Some(merge) = self.due(state) {
            return Task::Merge(merge);
        }
        if state.is_closing {
            return Task::End;
        }
        let is_idle = state.idle_at.is_some_and(|at| at <= now);
        // The merge of an idle writer takes all segments, so no other merge may be running.
        if !is_idle || !state.under_way.is_empty() {
            return Task::Wait;
        }
        state.idle_at = None;
        self.due_to_idle().map_or(Task::Wait, Task::Merge)
    }

    /// The next merge, without segments of running merges.
    fn due(&self, state: &MergeState) -> Option<Merge> {
        let core = self.core.upgrade().filter(|_| !state.has_failed)?;
        let snapshot = core.snapshot();
        let segments = &snapshot.segments;
        let free = unclaimed(segments, state.under_way.iter().copied().max());
        let chosen = if state.stream_until.is_some() && !state.is_closing {
            choose_in_stream(free)?
        } else {
            choose(free)?
        };
        // `free` is the end of the list.
        let first = segments.len() - free.len() + chosen.start;
        let segments = first..first + chosen.len();
        Some(Merge {
            core,
            snapshot,
            segments,
            is_idle: false,
        })
    }

    /// The merge of an idle writer.
    fn due_to_idle(&self) -> Option<Merge> {
        let core = self.core.upgrade()?;
        let snapshot = core.snapshot();
        choose_idle(&snapshot.segments)?;
        let segments = 0..snapshot.segments.len();
        Some(Merge {
            core,
            snapshot,
            segments,
            is_idle: true,
        })
    }

    fn wait_for_change<'s>(&self, state: MutexGuard<'s, MergeState>) -> MutexGuard<'s, MergeState> {
        // While the other thread merges, it will check the time when it is done.
        let idle_at = state.idle_at.filter(|_| state.under_way.is_empty());
        let Some(at) = idle_at.into_iter().chain(state.stream_until).min() else {
            let waited = self.changed.wait(state);
            return waited.unwrap_or_else(PoisonError::into_inner);
        };
        let time = at.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout(state, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests;
