//! An error that comes again each second, and is logged once.

use std::sync::Mutex;

use super::deliver::lock;

/// The last error of something that is tried again and again.
#[derive(Debug)]
pub(super) struct LoggedError {
    /// What fails.
    what: &'static str,
    last: Mutex<Option<String>>,
}

impl LoggedError {
    pub(super) fn of(what: &'static str) -> LoggedError {
        LoggedError {
            what,
            last: Mutex::default(),
        }
    }

    /// Takes how an attempt ended, and logs an error that is another one than the last.
    pub(super) fn note(&self, error: Option<&String>) {
        let mut last = lock(&self.last);
        if let Some(error) = error
            && last.as_ref() != Some(error)
        {
            tracing::error!(%error, "{}", self.what);
        }
        *last = error.cloned();
    }
}
