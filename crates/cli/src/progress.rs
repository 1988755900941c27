//! Progress on standard error: on a terminal a line that moves, until the last phase is done; elsewhere a line for
//! each phase that took a second.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use signaldex::json::Progress;

use crate::stderr::say;
use crate::terminal::start_of;

/// Interval between updates of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long a phase takes before it is reported where there is no terminal.
const REPORTED_FROM: Duration = Duration::from_secs(1);

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The phases of a command, one after the other. A thread shows the one under way, so that a phase without reports is
/// shown, too.
pub(crate) struct ProgressLine {
    is_terminal: bool,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    phase: Mutex<Option<Phase>>,
}

/// A phase under way.
struct Phase {
    name: &'static str,
    started: Instant,
    progress: Progress,
    /// What the share is of: bytes, unless records are counted.
    counts_records: bool,
    /// The share of a phase that counts neither.
    share: Option<f64>,
}

impl Shared {
    fn phase(&self) -> MutexGuard<'_, Option<Phase>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine {
            is_terminal: io::stderr().is_terminal(),
            shared: Arc::default(),
            thread: None,
        }
    }

    /// Starts a phase, which ends the one before.
    pub(crate) fn begin(&mut self, name: &'static str) {
        self.start(name, None, false);
    }

    /// Starts a phase whose progress is the number of its records: see [`add`](Self::add).
    pub(crate) fn begin_counting(&mut self, name: &'static str, total: Option<u64>) {
        self.start(name, total, true);
    }

    fn start(&mut self, name: &'static str, total: Option<u64>, counts_records: bool) {
        self.end();
        let mut progress = Progress::default();
        progress.total_bytes = total;
        *self.shared.phase() = Some(Phase {
            name,
            started: Instant::now(),
            progress,
            counts_records,
            share: None,
        });
        if self.is_terminal && self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let show = move || show_while_open(&shared);
            // Without a thread there is no progress, and the command goes on.
            self.thread = thread::Builder::new()
                .name("progress".to_owned())
                .spawn(show)
                .ok();
        }
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        if let Some(phase) = &mut *self.shared.phase() {
            phase.progress = progress;
        }
    }

    /// Sets the share that is done of a phase that counts nothing.
    pub(crate) fn show_share(&mut self, share: f64) {
        if let Some(phase) = &mut *self.shared.phase() {
            phase.share = Some(share);
        }
    }

    /// Counts records of the phase.
    pub(crate) fn add(&mut self, records: u64) {
        if let Some(phase) = &mut *self.shared.phase() {
            phase.progress.records += records;
        }
    }

    /// Ends the phase.
    pub(crate) fn end(&self) {
        let mut phase = self.shared.phase();
        let Some(ended) = phase.take() else {
            return;
        };
        let elapsed = ended.started.elapsed();
        if self.is_terminal {
            let _ = write!(io::stderr(), "{CLEAR_LINE}");
        } else if elapsed >= REPORTED_FROM {
            say(ended.report(elapsed));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.end();
        let Some(thread) = self.thread.take() else {
            return;
        };
        // Another reference to the shared state is the thread's own, which ends without this one.
        self.shared = Arc::default();
        thread.thread().unpark();
        let _ = thread.join();
    }
}

/// Shows the phase under way until its owner is gone.
fn show_while_open(shared: &Arc<Shared>) {
    while Arc::strong_count(shared) > 1 {
        if let Some(phase) = &*shared.phase() {
            let elapsed = phase.started.elapsed();
            if elapsed >= INTERVAL {
                let line = phase.line(elapsed);
                let width = terminal_size::terminal_size_of(io::stderr());
                let width = width.map_or(80, |(terminal_size::Width(width), _)| width);
                let line = start_of(&line, usize::from(width).saturating_sub(1));
                let _ = write!(io::stderr(), "{CLEAR_LINE}{line}");
            }
        }
        thread::park_timeout(INTERVAL);
    }
}

impl Phase {
    /// The line while it is under way.
    fn line(&self, elapsed: Duration) -> String {
        let Progress {
            bytes_read,
            total_bytes: total,
            records,
            ..
        } = self.progress;
        let done = if self.counts_records {
            records
        } else {
            bytes_read
        };
        if let Some(share) = self.share.filter(|&share| share > 0.0) {
            let (percent, left) = ((share * 100.0).floor(), elapsed.mul_f64(1.0 / share - 1.0));
            let left = left.as_secs_f64();
            return format!("{}: {percent:.0}%, {left:.0} s left", self.name);
        }
        if records == 0 && done == 0 {
            return format!("{}: {:.0} s", self.name, elapsed.as_secs_f64());
        }
        let seconds = elapsed.as_secs_f64().max(f64::EPSILON);
        let rate = done as f64 / seconds;
        let share = match total.filter(|&total| total > 0) {
            Some(total) => {
                let percent = done.min(total) * 100 / total;
                let left = total.saturating_sub(done) as f64 / rate.max(1.0);
                format!("{percent}%, {left:.0} s left")
            }
            None if self.counts_records => format!("{seconds:.0} s"),
            None => format!("{:.1} MB", bytes_read as f64 / 1e6),
        };
        let rate = if self.counts_records {
            format!("{rate:.0} records/s")
        } else {
            format!("{:.1} MB/s", rate / 1e6)
        };
        format!("{}: {records} records, {share}, {rate}", self.name)
    }

    /// The line of a phase that is done.
    fn report(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        match self.progress.records {
            0 => format!("{}: {seconds:.1} s", self.name),
            records => format!("{}: {records} records, {seconds:.1} s", self.name),
        }
    }
}

/// Runs a phase of a command that has no more of them, and that tells which share of it is done.
pub(crate) fn shared_phase<T>(name: &'static str, run: impl FnOnce(&mut dyn FnMut(f64)) -> T) -> T {
    let mut bar = ProgressLine::new();
    bar.begin(name);
    run(&mut |share| bar.show_share(share))
}

/// Runs a phase of a command that has no more of them.
pub(crate) fn phase<T>(name: &'static str, run: impl FnOnce() -> T) -> T {
    let mut bar = ProgressLine::new();
    bar.begin(name);
    run()
}

#[cfg(test)]
mod tests;
