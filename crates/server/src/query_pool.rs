//! A thread pool for expensive queries with round-robin scheduling over keys.
//!
//! Keys take turns, one query each, so a key that sends many queries delays others by one query, not by
//! all of them. The queue is bounded in length and waiting time. If a client disconnects, its query is
//! dropped unless it has started.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Concurrent expensive queries per key, regardless of the number of threads.
const RUNNING_PER_KEY_MAX: usize = 2;
/// Waiting expensive queries per key.
const WAITING_PER_KEY_MAX: usize = 16;
/// Niceness of the threads on Linux: a tenth of the weight of the threads that answer cheap queries.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Runs expensive queries. The threads start with the first query and end with the pool.
pub(super) struct QueryPool {
    shared: Arc<SharedTurns>,
    threads: usize,
    wait: Duration,
    waiting_max: usize,
    start: Once,
}

/// Why a query was not run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotRun {
    /// Too many queries of the key are waiting, or this one has waited too long.
    Busy,
    /// The query panicked, or the pool has no threads.
    Failed,
}

#[derive(Default)]
struct SharedTurns {
    turns: Mutex<Turns<QueryJob>>,
    has_work: Condvar,
}

type QueryJob = Box<dyn FnOnce() + Send>;

/// Waiting and running queries by the number of the key.
struct Turns<J> {
    /// No queue is empty.
    waiting: HashMap<i64, VecDeque<(u64, J)>>,
    /// Keys with waiting queries, each once, the next one first.
    order: VecDeque<i64>,
    running: HashMap<i64, usize>,
    next_ticket: u64,
    is_closed: bool,
}

/// A query that may still be waiting. Dropping this removes it from the queue.
struct WaitingQuery<'p> {
    shared: &'p SharedTurns,
    key: i64,
    ticket: u64,
}

impl QueryPool {
    /// Creates a pool of `threads` threads. A query waits at most `wait` for its turn, and at most
    /// `waiting_max` queries wait.
    pub(super) fn new(threads: usize, wait: Duration, waiting_max: usize) -> QueryPool {
        QueryPool {
            shared: Arc::default(),
            threads,
            wait,
            waiting_max,
            start: Once::new(),
        }
    }

    /// Runs a query of a key on a thread of the pool, in turn. Needs a tokio runtime.
    ///
    /// # Errors
    /// The query did not get its turn in time, or it failed.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        key: i64,
        query: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, NotRun> {
        self.start.call_once(|| self.start_threads());
        let runtime = Handle::current();
        let (start, has_started) = oneshot::channel();
        let (reply, answer) = oneshot::channel();
        let job = move || {
            // This fails if the client has gone.
            if start.send(()).is_ok() {
                let _ = reply.send(runtime.block_on(query));
            }
        };
        let _waiting = self.shared.push(key, Box::new(job), self.waiting_max)?;
        match tokio::time::timeout(self.wait, has_started).await {
            Ok(Ok(())) => answer.await.map_err(|_| NotRun::Failed),
            Ok(Err(_)) => Err(NotRun::Failed),
            Err(_) => Err(NotRun::Busy),
        }
    }

    fn start_threads(&self) {
        for number in 0..self.threads {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new()
                .name(format!("queries-{number}"))
                .spawn(move || run_all(&shared));
            if let Err(error) = thread {
                tracing::error!(%error, "a thread for expensive queries cannot be started");
            }
        }
    }
}

impl Drop for QueryPool {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.has_work.notify_all();
    }
}

impl SharedTurns {
    fn push(
        &self,
        key: i64,
        job: QueryJob,
        waiting_max: usize,
    ) -> Result<WaitingQuery<'_>, NotRun> {
        let ticket = self.lock().push(key, job, waiting_max);
        let ticket = ticket.ok_or(NotRun::Busy)?;
        self.has_work.notify_one();
        Ok(WaitingQuery {
            shared: self,
            key,
            ticket,
        })
    }

    /// Waits for the next query; `None` when the pool is closed.
    fn next(&self) -> Option<(i64, QueryJob)> {
        let mut turns = self.lock();
        loop {
            if turns.is_closed {
                return None;
            }
            if let Some(next) = turns.next() {
                return Some(next);
            }
            let woken = self.has_work.wait(turns);
            turns = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, key: i64) {
        self.lock().finish(key);
        // The key may run one more now.
        self.has_work.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Turns<QueryJob>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitingQuery<'_> {
    fn drop(&mut self) {
        // Dropped outside the lock: a query may own much.
        let _given_up = self.shared.lock().remove(self.key, self.ticket);
    }
}

fn run_all(shared: &SharedTurns) {
    lower_priority();
    while let Some((key, job)) = shared.next() {
        // The waiting caller sees its channel close; the panic is logged.
        let _ = catch_unwind(AssertUnwindSafe(job));
        shared.finish(key);
    }
}

/// On Linux priorities are those of threads.
#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "expensive queries run at the priority of others");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

impl<J> Default for Turns<J> {
    fn default() -> Turns<J> {
        Turns {
            waiting: HashMap::new(),
            order: VecDeque::new(),
            running: HashMap::new(),
            next_ticket: 0,
            is_closed: false,
        }
    }
}

impl<J> Turns<J> {
    /// Queues a job of a key; `None` if too many jobs of the key or of all keys are waiting.
    fn push(&mut self, key: i64, job: J, waiting_max: usize) -> Option<u64> {
        let waiting: usize = self.waiting.values().map(VecDeque::len).sum();
        if waiting >= waiting_max {
            return None;
        }
        let queue = self.waiting.entry(key).or_default();
        if queue.len() >= WAITING_PER_KEY_MAX {
            return None;
        }
        if queue.is_empty() {
            self.order.push_back(key);
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        queue.push_back((ticket, job));
        Some(ticket)
    }

    /// Takes the first job of the next key that may run another.
    fn next(&mut self) -> Option<(i64, J)> {
        let may_run = |key: &i64| {
            self.running
                .get(key)
                .is_none_or(|&n| n < RUNNING_PER_KEY_MAX)
        };
        let index = self.order.iter().position(may_run)?;
        let key = self.order.remove(index)?;
        let queue = self.waiting.get_mut(&key)?;
        let (_, job) = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&key);
        } else {
            self.order.push_back(key);
        }
        *self.running.entry(key).or_default() += 1;
        Some((key, job))
    }

    fn finish(&mut self, key: i64) {
        if let Some(running) = self.running.get_mut(&key) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(&key);
            }
        }
    }

    /// Removes a job from its queue, unless it has started.
    fn remove(&mut self, key: i64, ticket: u64) -> Option<J> {
        let queue = self.waiting.get_mut(&key)?;
        let index = queue.iter().position(|(other, _)| *other == ticket)?;
        let (_, job) = queue.remove(index)?;
        if queue.is_empty() {
            self.waiting.remove(&key);
            self.order.retain(|other| *other != key);
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests;
