//! The log of a service: a thread writes queued lines, so that a full pipe blocks no request.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::Duration;

use serde::Serialize;
use signaldex_server::LogWriter;
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use crate::stderr::{self, Severity};

/// How long the last messages of a service may take to be written.
const FLUSH_TIME: Duration = Duration::from_secs(1);

static LOG: OnceLock<LogWriter> = OnceLock::new();

/// A message as a line of a log in JSON.
#[derive(Serialize)]
struct LogLine<'a> {
    timestamp: &'a str,
    level: &'static str,
    message: &'a str,
}

/// From now on messages are queued, also those of panics, which would otherwise block or lock standard error.
/// Where the log is JSON, they are lines of it, whatever the level that is logged.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start(is_json: bool) -> io::Result<LogWriter> {
    let log = LogWriter::start(io::stderr())?;
    let _ = LOG.set(log.clone());
    let messages = log.clone();
    stderr::redirect(move |severity, message| {
        let message = message.to_string();
        let line = if is_json {
            json_line(severity, &message)
        } else {
            message
        };
        let _ = writeln!(messages.clone(), "{line}");
    });
    Ok(log)
}

fn json_line(severity: Severity, message: &str) -> String {
    let now = UtcDateTime::now().format(&Rfc3339);
    let line = LogLine {
        timestamp: now.as_deref().unwrap_or_default(),
        level: match severity {
            Severity::Note => "INFO",
            Severity::Failure => "ERROR",
        },
        message,
    };
    // Three texts can always be written.
    serde_json::to_string(&line).unwrap_or_default()
}

/// Waits a bounded time for queued messages to be written.
pub(crate) fn finish() {
    if let Some(log) = LOG.get() {
        log.flush_for(FLUSH_TIME);
    }
}

#[cfg(test)]
mod tests;
