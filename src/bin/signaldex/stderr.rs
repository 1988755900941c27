//! Standard error, which never fails a command: a message that cannot be written is dropped.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use signaldex::http::LogWriter;

/// How long the last messages of a service may take to be written.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// The log of a service, through which all its messages then go.
static LOG: OnceLock<LogWriter> = OnceLock::new();

/// Writes a line, unlike `eprintln!` without a panic where that fails. With a log it is queued, so
/// that a pipe that nobody reads holds nothing up.
pub(crate) fn say(message: impl fmt::Display) {
    match LOG.get() {
        Some(log) => {
            let _ = writeln!(log.clone(), "{message}");
        }
        None => {
            let _ = writeln!(io::stderr(), "{message}");
        }
    }
}

/// From now on messages are queued and written by a thread, also those of panics, which would
/// otherwise block or lock standard error.
pub(crate) fn start_log() -> LogWriter {
    let log = LOG.get_or_init(|| LogWriter::start(io::stderr()));
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        say(format_args!(
            "thread {:?}: {panic}",
            thread.name().unwrap_or("unnamed")
        ));
    }));
    log.clone()
}

/// Waits a bounded time for queued messages to be written.
pub(crate) fn finish() {
    if let Some(log) = LOG.get() {
        log.flush_for(FLUSH_TIME);
    }
}
