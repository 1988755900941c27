//! Threads that read the state for requests, with a bounded queue.
//!
//! A read takes microseconds, but seconds where the volume stalls. On a worker of the runtime it would
//! then hold up requests that read nothing. A request waits for its read until its deadline; a read that
//! no thread has begun by then is dropped.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::StateError;

/// Each has a connection while it reads, and few cores are busy with reads of microseconds.
const THREADS: usize = 4;
/// Waiting reads: more than requests in progress by default, and each is a few hundred bytes.
const WAITING_MAX: usize = 1024;

/// Runs reads. The threads end with it, once their reads have ended.
pub(crate) struct Readers(Arc<Queue>);

/// Why a read has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotRead {
    /// Too many reads are waiting.
    QueueFull,
    /// The deadline has passed.
    TimedOut,
    /// The read panicked.
    Failed,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<WaitingReads>,
    has_work: Condvar,
}

#[derive(Default)]
struct WaitingReads {
    reads: VecDeque<Box<dyn ReadJob>>,
    is_closed: bool,
}

trait ReadJob: Send {
    /// Whether a request still waits for the result.
    fn is_wanted(&self) -> bool;
    fn run(self: Box<Self>);
}

struct Read<F, T> {
    read: F,
    reply: oneshot::Sender<T>,
}

impl<F: FnOnce() -> T + Send, T: Send> ReadJob for Read<F, T> {
    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn run(self: Box<Self>) {
        // If the request has given up, nobody needs the result.
        let _ = self.reply.send((self.read)());
    }
}

impl Readers {
    /// Starts the threads.
    pub(crate) fn start() -> Result<Readers, StateError> {
        let readers = Readers(Arc::default());
        for number in 0..THREADS {
            let queue = Arc::clone(&readers.0);
            let thread = std::thread::Builder::new().name(format!("reads-{number}"));
            thread
                .spawn(move || queue.run_all())
                .map_err(|error| StateError::invalid(format!("cannot start a thread: {error}")))?;
        }
        Ok(readers)
    }

    /// Runs a read on one of the threads and returns its result.
    ///
    /// # Errors
    /// The read did not begin, or has not ended by `until`, or panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        until: Instant,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRead> {
        let (reply, result) = oneshot::channel();
        self.0.push(Box::new(Read { read, reply }))?;
        match timeout_at(until, result).await {
            Ok(result) => result.map_err(|_| NotRead::Failed),
            Err(_) => Err(NotRead::TimedOut),
        }
    }

    /// The number of reads that no thread has begun.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().reads.len()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.has_work.notify_all();
    }
}

impl Queue {
    fn push(&self, read: Box<dyn ReadJob>) -> Result<(), NotRead> {
        let mut waiting = self.lock();
        if waiting.reads.len() >= WAITING_MAX {
            // Reads that nobody waits for count only while there is room.
            waiting.reads.retain(|read| read.is_wanted());
        }
        if waiting.reads.len() >= WAITING_MAX {
            return Err(NotRead::QueueFull);
        }
        waiting.reads.push_back(read);
        drop(waiting);
        self.has_work.notify_one();
        Ok(())
    }

    /// Waits for the next read; `None` when the readers are closed.
    fn next(&self) -> Option<Box<dyn ReadJob>> {
        let mut waiting = self.lock();
        while !waiting.is_closed {
            if let Some(read) = waiting.reads.pop_front() {
                return Some(read);
            }
            let woken = self.has_work.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn run_all(&self) {
        while let Some(read) = self.next() {
            if read.is_wanted() {
                // The waiting request sees its channel close; the panic is logged.
                let _ = catch_unwind(AssertUnwindSafe(|| read.run()));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingReads> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
