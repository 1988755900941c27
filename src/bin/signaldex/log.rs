//! The log of a service: a thread writes queued lines, so that a full pipe blocks no request.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use signaldex::http::LogWriter;

use crate::stderr;

/// How long the last messages of a service may take to be written.
const FLUSH_TIME: Duration = Duration::from_secs(1);

static LOG: OnceLock<LogWriter> = OnceLock::new();

/// From now on messages are queued, also those of panics, which would otherwise block or lock
/// standard error.
pub(crate) fn start() -> LogWriter {
    let log = LOG.get_or_init(|| LogWriter::start(io::stderr()));
    let messages = log.clone();
    stderr::redirect(move |message| {
        let _ = messages.clone().write_all(message.to_string().as_bytes());
    });
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        stderr::say(format_args!(
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
