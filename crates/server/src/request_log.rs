//! The log of requests for the dashboard: a SQLite file of its own beside the state, of some days and bytes.
//!
//! No request waits for it: lines go through a bounded queue to one thread. A line that finds the queue full, or cannot be
//! written, is dropped and counted.

mod file;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use time::UtcDateTime;

use self::file::RequestFile;
use super::state::StateError;

/// Lines in the queue: a second at the highest rates measured, each a few hundred bytes.
const QUEUE_MAX: usize = 16_384;
/// How long lines are gathered for a transaction.
const GATHER_TIME: Duration = Duration::from_secs(1);
/// Lines of a transaction. That number in the queue wakes the thread.
const GATHERED_MAX: usize = 2_048;
/// Pause before a file that could not be written is opened again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// What the file may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestLogLimits {
    pub(crate) days: u32,
    pub(crate) bytes: u64,
}

/// A logged request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedRequest {
    /// The position in the log, from 1; 0 until it is written.
    pub(crate) number: i64,
    /// The number of the key; 0 if no key was accepted.
    pub(crate) key: i64,
    pub(crate) at: UtcDateTime,
    pub(crate) request_id: String,
    pub(crate) endpoint: Cow<'static, str>,
    pub(crate) status: u16,
    /// The problem code, if the request was refused.
    pub(crate) code: Option<Cow<'static, str>>,
    pub(crate) time: Duration,
    pub(crate) charged: u64,
    /// The query string, if parameters are shown.
    pub(crate) query: Option<String>,
}

/// The requests that a page shows, latest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestsWanted<'a> {
    pub(crate) key: Option<i64>,
    /// Empty for all.
    pub(crate) endpoint: &'a str,
    /// The smallest and the largest status.
    pub(crate) statuses: Option<(u16, u16)>,
    /// Empty for all.
    pub(crate) request_id: &'a str,
    pub(crate) from: Option<UtcDateTime>,
    /// Before this instant.
    pub(crate) to: Option<UtcDateTime>,
    /// Before the request of this number, where a page has ended.
    pub(crate) before: Option<i64>,
    pub(crate) rows: u32,
}

/// Queues lines for a writing thread. Clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct RequestLog {
    queue: SyncSender<RequestEntry>,
    /// Sleeps while lines are gathered: to wake it for each would take longer than to write it.
    writer: Thread,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    file: Arc<RequestFile>,
}

#[derive(Debug)]
enum RequestEntry {
    Request(Box<LoggedRequest>),
    /// Units charged while the answer of a request was sent.
    Charged(String, u64),
    /// Answered when everything queued before it has been written or dropped.
    Flush(mpsc::Sender<()>),
}

impl RequestLog {
    /// Starts a thread that writes to a file, which it creates. It ends with the last clone of the log.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(path: PathBuf, limits: RequestLogLimits) -> io::Result<RequestLog> {
        let (queue, entries) = mpsc::sync_channel(QUEUE_MAX);
        let file = Arc::new(RequestFile::new(path, limits));
        let (dropped, queued) = <(Arc<AtomicU64>, Arc<AtomicUsize>)>::default();
        let writer = RequestWriter {
            file: Arc::clone(&file),
            queued: Arc::clone(&queued),
            dropped: Arc::clone(&dropped),
            retry_at: None,
        };
        let thread = std::thread::Builder::new().name("requests".to_owned());
        let thread = thread.spawn(move || writer.run(&entries))?;
        Ok(RequestLog {
            queue,
            writer: thread.thread().clone(),
            queued,
            dropped,
            file,
        })
    }

    /// Queues or drops a request; never blocks.
    pub(crate) fn push(&self, request: LoggedRequest) {
        self.send(RequestEntry::Request(Box::new(request)));
    }

    /// Adds units to a request that was pushed before.
    pub(crate) fn add_charged(&self, request_id: &str, units: u64) {
        self.send(RequestEntry::Charged(request_id.to_owned(), units));
    }

    /// Lines dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything pushed so far was written or dropped, but no longer than `time`. Blocks.
    pub(crate) fn flush_for(&self, time: Duration) {
        let (done, is_done) = mpsc::channel();
        if self.queue.try_send(RequestEntry::Flush(done)).is_ok() {
            self.writer.unpark();
            // After a time-out, the thread still writes the lines.
            let _ = is_done.recv_timeout(time);
        }
    }

    /// Requests, latest first.
    ///
    /// Cost: of a key or a request id, a look-up for each; else a pass over what is later than the last of them.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn requests(
        &self,
        wanted: &RequestsWanted<'_>,
    ) -> Result<Vec<LoggedRequest>, StateError> {
        self.file.read(wanted)
    }

    fn send(&self, entry: RequestEntry) {
        if self.queue.try_send(entry).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        } else if self.queued.fetch_add(1, Ordering::Relaxed) + 1 == GATHERED_MAX {
            self.writer.unpark();
        }
    }
}

/// The writing thread.
struct RequestWriter {
    file: Arc<RequestFile>,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    /// When a file that could not be written is tried again.
    retry_at: Option<Instant>,
}

impl RequestWriter {
    /// Runs until every clone of the log is gone.
    fn run(mut self, entries: &Receiver<RequestEntry>) {
        loop {
            std::thread::park_timeout(GATHER_TIME);
            // Lines from here on may wake the thread again.
            self.queued.store(0, Ordering::Relaxed);
            if self.write_queued(entries) == TryRecvError::Disconnected {
                return;
            }
        }
    }

    /// Writes all that is in the queue, a transaction after the other. Returns why there is no more.
    fn write_queued(&mut self, entries: &Receiver<RequestEntry>) -> TryRecvError {
        let mut gathered = Vec::new();
        loop {
            match entries.try_recv() {
                Ok(entry) => gathered.push(entry),
                Err(end) => {
                    self.write(gathered);
                    return end;
                }
            }
            if gathered.len() == GATHERED_MAX {
                self.write(std::mem::take(&mut gathered));
            }
        }
    }

    fn write(&mut self, gathered: Vec<RequestEntry>) {
        let lines = gathered.iter();
        let lines = lines
            .filter(|entry| !matches!(entry, RequestEntry::Flush(_)))
            .count() as u64;
        let is_pausing = self.retry_at.is_some_and(|at| Instant::now() < at);
        if lines > 0 && is_pausing {
            self.dropped.fetch_add(lines, Ordering::Relaxed);
        } else if lines > 0 {
            let written = self.file.write(&gathered);
            self.retry_at = None;
            if let Err(error) = written {
                tracing::warn!(
                    error = format_args!("{error:#}"),
                    lines,
                    "requests could not be written to their log"
                );
                self.dropped.fetch_add(lines, Ordering::Relaxed);
                self.retry_at = Some(Instant::now() + RETRY_PAUSE);
            }
        }
        for entry in gathered {
            if let RequestEntry::Flush(done) = entry {
                // The waiting side may have timed out.
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
