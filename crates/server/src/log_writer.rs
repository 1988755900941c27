//! A log writer that never blocks a request: a bounded queue and one writing thread.
//!
//! A line is dropped and counted if the queue is full or writing fails. The
//! `tracing-appender` crate was not an option: it does not count failed writes, and when it is
//! dropped while its queue is full it prints to standard output, which may be the same blocked pipe.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// Bytes in the queue: about 20,000 lines of requests, or a second at the highest rates measured.
const QUEUE_BYTES_MAX: usize = 4 << 20;

/// Queues lines for a writing thread and drops lines that do not fit. Clones share the queue.
///
/// Each call of [`write`](Write::write) takes a whole line; it never blocks and never fails.
///
/// ```
/// use std::io::Write;
/// use std::time::Duration;
/// use signaldex_server::LogWriter;
///
/// let mut log = LogWriter::start(std::io::stderr()).unwrap();
/// writeln!(log, "listening").unwrap();
/// log.flush_for(Duration::from_secs(1));
/// assert_eq!(log.dropped_lines(), 0);
/// ```
#[derive(Clone)]
pub struct LogWriter {
    queue: Sender<Entry>,
    counts: Arc<LineCounts>,
}

/// What waits in the queue.
enum Entry {
    Line(Vec<u8>),
    /// Answered when everything queued before it has been written.
    Flush(Sender<()>),
}

#[derive(Default)]
struct LineCounts {
    queued_bytes: AtomicUsize,
    dropped_lines: AtomicU64,
}

impl LogWriter {
    /// Starts a thread that writes to `output`. It ends with the last clone of the writer.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(output: impl Write + Send + 'static) -> io::Result<LogWriter> {
        let (queue, entries) = mpsc::channel();
        let counts = Arc::new(LineCounts::default());
        let shared = Arc::clone(&counts);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write_all(output, &entries, &shared))?;
        Ok(LogWriter { queue, counts })
    }

    /// Lines dropped so far.
    pub fn dropped_lines(&self) -> u64 {
        self.counts.dropped_lines.load(Ordering::Relaxed)
    }

    /// Waits until every line queued so far has been written or dropped, but no longer than `time`.
    /// Blocks, so do not call it on an async worker.
    pub fn flush_for(&self, time: Duration) {
        let (done, is_done) = mpsc::channel();
        if self.queue.send(Entry::Flush(done)).is_ok() {
            // After a time-out, the thread still writes the lines.
            let _ = is_done.recv_timeout(time);
        }
    }

    fn push(&self, line: &[u8]) {
        let bytes = line.len();
        let queued = self.counts.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = queued.saturating_add(bytes) <= QUEUE_BYTES_MAX;
        if !has_room || self.queue.send(Entry::Line(line.to_vec())).is_err() {
            self.counts.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.counts.dropped_lines.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Write for LogWriter {
    /// Queues or drops a line; always takes all of it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    /// Queues or drops the formatted line as one.
    fn write_fmt(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        self.push(line.to_string().as_bytes());
        Ok(())
    }

    /// Does not wait; see [`flush_for`](LogWriter::flush_for).
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter")
            .field("dropped_lines", &self.dropped_lines())
            .finish_non_exhaustive()
    }
}

/// Runs until every sender is gone. After a failed write, the next line is still tried: a full disk may
/// have space again.
fn write_all(mut output: impl Write, entries: &Receiver<Entry>, counts: &LineCounts) {
    while let Ok(entry) = entries.recv() {
        match entry {
            Entry::Line(line) => {
                if output.write_all(&line).is_err() {
                    counts.dropped_lines.fetch_add(1, Ordering::Relaxed);
                }
                counts.queued_bytes.fetch_sub(line.len(), Ordering::Relaxed);
            }
            Entry::Flush(done) => {
                let _ = output.flush();
                // The waiting side may have timed out.
                let _ = done.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
