//! Shows the progress of a load as one line on a terminal; silent if standard error is not a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use signaldex::json::Progress;

/// Interval between updates of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

pub(crate) struct ProgressLine {
    is_terminal: bool,
    name: &'static str,
    started: Instant,
    shown: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine {
            is_terminal: io::stderr().is_terminal(),
            name: "",
            started: Instant::now(),
            shown: None,
        }
    }

    /// Starts a file.
    pub(crate) fn begin(&mut self, name: &'static str) {
        self.name = name;
        self.started = Instant::now();
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL);
        if !self.is_terminal || !is_due {
            return;
        }
        self.shown = Some(Instant::now());
        let line = line_of(self.name, progress, self.started.elapsed());
        let _ = write!(io::stderr(), "{CLEAR_LINE}{line}");
    }

    pub(crate) fn end(&self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "{CLEAR_LINE}");
        }
    }
}

fn line_of(name: &str, progress: Progress, elapsed: Duration) -> String {
    let Progress {
        bytes_read,
        total_bytes,
        records,
        ..
    } = progress;
    let rate = bytes_read as f64 / elapsed.as_secs_f64().max(f64::EPSILON);
    let done = match total_bytes.filter(|&total| total > 0) {
        Some(total) => {
            let percent = bytes_read.min(total) * 100 / total;
            let left = total.saturating_sub(bytes_read) as f64 / rate.max(1.0);
            format!("{percent}%, {left:.0} s left")
        }
        None => format!("{:.1} MB", bytes_read as f64 / 1e6),
    };
    format!("{name}: {records} records, {done}, {:.1} MB/s", rate / 1e6)
}

#[cfg(test)]
mod tests;
