//! Fair access to SQLite's write lock for several processes.
//!
//! SQLite has no queue: a process that finds the lock taken sleeps and tries again, while a busy process
//! takes the lock again within microseconds. So a process that wants to write first locks a file next to
//! the state, and unlocks it when its transaction has begun. A process that has just committed finds the
//! file locked by the waiting process, and comes after it.
//!
//! This is only for fairness; SQLite alone ensures mutual exclusion. A process that cannot open the file,
//! or waits too long for it because another process is suspended, logs that and proceeds without it.

use std::cell::Cell;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::files::with_suffix;
use super::schema::MODE;

/// The suffix of the file's name.
const SUFFIX: &str = "-turn";
/// Pause between attempts to lock the file: a fraction of an fsync.
const PAUSE: Duration = Duration::from_micros(100);
/// How long to wait for the file: many commits of a slow disk.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A writer's handle on the file. Each writer needs its own.
#[derive(Debug)]
pub(super) struct Turn {
    path: PathBuf,
    file: io::Result<File>,
    /// Whether the last transaction began without its turn.
    is_missed: Cell<bool>,
}

/// Holds the lock of the file until dropped.
struct TurnGuard<'t>(Option<&'t File>);

impl Turn {
    /// Creates the handle for a state file.
    pub(super) fn at(state: &Path) -> Turn {
        // Resolve symbolic links, as SQLite does.
        let state = std::fs::canonicalize(state).unwrap_or_else(|_| state.to_owned());
        let path = with_suffix(&state, SUFFIX);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(MODE);
        Turn {
            file: options.open(&path),
            path,
            is_missed: Cell::new(false),
        }
    }

    /// Begins a transaction that writes, in turn.
    pub(super) fn begin<'c>(
        &self,
        connection: &'c Connection,
    ) -> rusqlite::Result<Transaction<'c>> {
        let _next = self.next();
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
    }

    fn next(&self) -> TurnGuard<'_> {
        let taken = self.take();
        self.report(taken.as_ref().err());
        TurnGuard(taken.ok())
    }

    /// Locks the file, or says why that is not possible.
    fn take(&self) -> Result<&File, String> {
        let file = self.file.as_ref().map_err(ToString::to_string)?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if started.elapsed() < TIMEOUT => {
                    thread::sleep(PAUSE)
                }
                Err(TryLockError::WouldBlock) => return Err("another process holds it".to_owned()),
                Err(TryLockError::Error(error)) => return Err(error.to_string()),
            }
        }
    }

    /// Logs the first transaction without its turn, and the first with it again.
    fn report(&self, error: Option<&String>) {
        let was_missed = self.is_missed.replace(error.is_some());
        let file = self.path.display();
        match error {
            Some(error) if !was_missed => tracing::warn!(
                %file,
                %error,
                "the file for turns cannot be locked; each commit waits up to a second and goes on without"
            ),
            None if was_missed => tracing::info!(%file, "the file for turns can be locked again"),
            _ => {}
        }
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            // If this fails, closing the file releases the lock.
            let _ = file.unlock();
        }
    }
}

#[cfg(test)]
mod tests;
