//! Several threads for one query: parts of its blocks run on an executor that the host provides.
//!
//! The first part runs on the calling thread, with a clock. Only if the rest is expected to take long does it run on the
//! executor, whose threads claim part after part, so that they end together. One query at a time has the executor; others
//! run on their own threads meanwhile, as they do without one, so that an index under load does no more work. On a machine
//! so busy that no thread comes to help, the next queries do not wait for any.

use std::fmt::{self, Debug};
use std::ops::{AddAssign, Range};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Result;

/// Runs a task of a query on several threads; a host provides one to
/// [`Index::set_executor`](crate::Index::set_executor).
///
/// With threads that are started for each query:
///
/// ```
/// use std::sync::Arc;
/// use std::thread;
///
/// use signaldex::{Executor, Filter, sample};
///
/// struct Threads(usize);
///
/// impl Executor for Threads {
///     fn run(&self, task: &(dyn Fn() + Sync)) {
///         thread::scope(|scope| {
///             (1..self.0).for_each(|_| drop(scope.spawn(task)));
///             task();
///         });
///     }
/// }
///
/// let index = sample::index()?;
/// index.set_executor(Arc::new(Threads(2)))?;
/// let filter = Filter::from_query_string("q=raises&country=Germany")?;
/// assert!(index.snapshot().count(&filter, sample::AS_OF)? > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Threads that wait for work save their start, 20 to 50 microseconds. With a pool of rayon, `run` is:
///
/// ```text
/// self.0.in_place_scope(|scope| {
///     (0..self.0.current_num_threads()).for_each(|_| scope.spawn(|_| task()));
///     task();
/// });
/// ```
pub trait Executor: Send + Sync {
    /// Calls `task` on as many threads as a query may have, once on each, of which the calling thread may be one, and
    /// returns when all calls have returned. Each call takes parts of the work until none is left.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use signaldex::Executor;
    ///
    /// struct Here;
    ///
    /// impl Executor for Here {
    ///     fn run(&self, task: &(dyn Fn() + Sync)) {
    ///         task();
    ///     }
    /// }
    ///
    /// let calls = AtomicU32::new(0);
    /// Here.run(&|| drop(calls.fetch_add(1, Ordering::Relaxed)));
    /// assert_eq!(calls.into_inner(), 1);
    /// ```
    ///
    /// A panic of `task` is a defect: let it reach the caller, as `std::thread::scope` does.
    fn run(&self, task: &(dyn Fn() + Sync));
}

/// What is split into parts.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "__strategies"),
    allow(unreachable_pub, reason = "only tests of this crate choose them")
)]
pub struct SplitLimits {
    /// Segments with fewer rows are not split.
    pub rows_min: u32,
    /// Blocks of a part: enough that claiming one takes no time.
    pub part_blocks: u32,
    /// The time that is expected for the rest, from which on waking other threads pays off.
    pub rest_min: Duration,
    /// The time that is expected for the rest, from which on a thread that finds nothing left came late.
    pub late_min: Duration,
    /// Queries that then go alone.
    pub alone_after_late: u32,
}

impl SplitLimits {
    /// Those of [`Index::set_executor`](crate::Index::set_executor).
    pub(crate) const DEFAULT: SplitLimits = SplitLimits {
        rows_min: 5_000_000,
        part_blocks: 2,
        rest_min: Duration::from_micros(150),
        late_min: Duration::from_millis(1),
        alone_after_late: 32,
    };
}

/// What `step` finds in `len` blocks, added up; as [`fold_into`].
///
/// # Errors
/// The error of a step.
pub(crate) fn fold<T: Send>(
    executor: Option<&SharedExecutor>,
    len: u32,
    start: impl Fn() -> T + Sync,
    step: impl Fn(&mut T, Range<u32>) -> Result<()> + Sync,
    merge: impl FnMut(&mut T, T),
) -> Result<T> {
    let mut found = start();
    fold_into(executor, len, &mut found, start, step, merge)?;
    Ok(found)
}

/// Adds to `found` what `step` finds in `len` blocks, with an executor in parts: `start` begins on each of its threads, and
/// `merge` adds what they have found.
///
/// # Errors
/// The error of a step.
pub(crate) fn fold_into<T: Send>(
    executor: Option<&SharedExecutor>,
    len: u32,
    found: &mut T,
    start: impl Fn() -> T + Sync,
    step: impl Fn(&mut T, Range<u32>) -> Result<()> + Sync,
    merge: impl FnMut(&mut T, T),
) -> Result<()> {
    match executor {
        Some(executor) => executor.fold_into(len, found, start, step, merge),
        None => step(found, 0..len),
    }
}

/// Adds the counts of other blocks to those at the same places.
pub(crate) fn add_each<N: Copy + AddAssign>(counts: &mut [N], others: &[N]) {
    let counts = counts.iter_mut().zip(others);
    counts.for_each(|(count, other)| *count += *other);
}

/// An executor that the queries of an index share.
pub(crate) struct SharedExecutor {
    executor: Arc<dyn Executor>,
    limits: SplitLimits,
    is_taken: AtomicBool,
    /// Queries that do not ask for it from now on.
    alone: AtomicU32,
}

impl Debug for SharedExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedExecutor")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl SharedExecutor {
    pub(crate) fn new(executor: Arc<dyn Executor>, limits: SplitLimits) -> SharedExecutor {
        SharedExecutor {
            executor,
            limits,
            is_taken: AtomicBool::new(false),
            alone: AtomicU32::new(0),
        }
    }

    /// Whether a segment of `rows` rows may be split.
    pub(crate) fn splits(&self, rows: u32) -> bool {
        rows >= self.limits.rows_min
    }

    /// As the function, with the first part on this thread.
    fn fold_into<T: Send>(
        &self,
        len: u32,
        found: &mut T,
        start: impl Fn() -> T + Sync,
        step: impl Fn(&mut T, Range<u32>) -> Result<()> + Sync,
        mut merge: impl FnMut(&mut T, T),
    ) -> Result<()> {
        let first = self.limits.part_blocks.min(len);
        // No estimate knows what is in the caches, so a part of the work itself is timed.
        let started = Instant::now();
        step(found, 0..first)?;
        let rest = started.elapsed() * (len - first) / first.max(1);
        // Waking other threads takes tens of microseconds, so what is nearly done goes on alone.
        let turn = if rest < self.limits.rest_min {
            None
        } else {
            self.take_turn()
        };
        let Some(_turn) = turn else {
            return step(found, first..len);
        };
        let parts = UnclaimedBlocks::new(first..len, self.limits.part_blocks);
        let others = Mutex::new(Vec::new());
        self.executor.run(&|| {
            // A thread that comes late finds nothing left and prepares nothing.
            if let Some(part) = parts.claim() {
                let other = parts.fold(part, &start, &step);
                let mut others = others.lock().unwrap_or_else(PoisonError::into_inner);
                others.push(other);
            }
        });
        // Nothing is left unless the executor never called the task.
        if let Some(part) = parts.claim() {
            merge(found, parts.fold(part, &start, &step)?);
        }
        // A panic of another thread has reached this one through the executor, so the list is whole.
        let others = others.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The calling thread waited for others that did nothing, as on a machine without an idle core.
        if others.len() < 2 && rest >= self.limits.late_min {
            let queries = self.limits.alone_after_late;
            self.alone.store(queries, Ordering::Relaxed);
        }
        for other in others {
            merge(found, other?);
        }
        Ok(())
    }

    /// The executor, unless another query has it or others came late before.
    fn take_turn(&self) -> Option<ExecutorGuard<'_>> {
        // Not a lock: waiting for the executor would take longer than going on alone.
        let was_taken = self.is_taken.swap(true, Ordering::Acquire);
        let guard = (!was_taken).then_some(ExecutorGuard(&self.is_taken))?;
        // Only the query that has the executor counts down.
        let alone = self.alone.load(Ordering::Relaxed);
        self.alone.store(alone.saturating_sub(1), Ordering::Relaxed);
        (alone == 0).then_some(guard)
    }
}

/// Gives the executor back on drop.
struct ExecutorGuard<'e>(&'e AtomicBool);

impl Drop for ExecutorGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Blocks that threads claim in parts.
struct UnclaimedBlocks {
    next: AtomicU32,
    end: u32,
    part_blocks: u32,
}

impl UnclaimedBlocks {
    fn new(blocks: Range<u32>, part_blocks: u32) -> UnclaimedBlocks {
        UnclaimedBlocks {
            next: AtomicU32::new(blocks.start),
            end: blocks.end,
            part_blocks,
        }
    }

    /// The next part; `None` after the last. Far below 2³² even if each of many threads asks once more than there are
    /// parts: a segment has at most 65,536 blocks.
    fn claim(&self) -> Option<Range<u32>> {
        // Relaxed: nothing but the number is passed on here.
        let start = self.next.fetch_add(self.part_blocks, Ordering::Relaxed);
        (start < self.end).then(|| start..(start + self.part_blocks).min(self.end))
    }

    /// Adds up a part, and the parts that are claimed after it.
    fn fold<T>(
        &self,
        first: Range<u32>,
        start: impl Fn() -> T,
        step: impl Fn(&mut T, Range<u32>) -> Result<()>,
    ) -> Result<T> {
        let mut found = start();
        step(&mut found, first)?;
        // Invariant: `found` is of all parts that this thread has claimed.
        while let Some(part) = self.claim() {
            step(&mut found, part)?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
