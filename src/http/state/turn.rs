//! Fair access to SQLite's write lock for several processes.
//!
//! SQLite has no queue: a process that finds the lock taken sleeps and tries again, while a busy process
//! takes the lock again within microseconds. So a process that wants to write first locks a file next to
//! the state, and unlocks it when its transaction has begun. A process that has just committed finds the
//! file locked by the waiting process, and comes after it.
//!
//! This is only for fairness; SQLite alone ensures mutual exclusion. A process that cannot open the file,
//! or waits too long for it because another process is suspended, proceeds without it.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
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
    file: Option<File>,
}

/// Holds the lock of the file until dropped.
struct Next<'t>(Option<&'t File>);

impl Turn {
    /// Creates the handle for a state file.
    pub(super) fn at(state: &Path) -> Turn {
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(MODE);
            options.open(with_suffix(path, SUFFIX))
        };
        // Resolve symbolic links, as SQLite does.
        let file = std::fs::canonicalize(state).and_then(|path| open(&path));
        Turn { file: file.ok() }
    }

    /// Begins a transaction that writes, in turn.
    pub(super) fn begin<'c>(
        &self,
        connection: &'c Connection,
    ) -> rusqlite::Result<Transaction<'c>> {
        let _next = self.next();
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
    }

    fn next(&self) -> Next<'_> {
        let Some(file) = &self.file else {
            return Next(None);
        };
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Next(Some(file)),
                Err(TryLockError::WouldBlock) if started.elapsed() < TIMEOUT => {
                    thread::sleep(PAUSE)
                }
                Err(_) => return Next(None),
            }
        }
    }
}

impl Drop for Next<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            // If this fails, closing the file releases the lock.
            let _ = file.unlock();
        }
    }
}

#[cfg(test)]
mod tests;
