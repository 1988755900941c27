//! Turns at SQLite's one write lock, so that of several processes none waits for many commits of
//! another.
//!
//! SQLite has no queue: who finds the lock taken sleeps and tries again, while a busy process takes it
//! again within microseconds. So who wants to write first takes a lock on a file beside the state, and
//! gives it back once its transaction has begun. A process that has just committed finds that lock
//! taken by the one that waits, and so comes after it.
//!
//! It is a courtesy, not a safeguard: that only one writes at a time is up to SQLite alone. Who cannot
//! have the file, or waits too long for it, such as for a process that was stopped, goes on without.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::files::with_suffix;
use super::schema::MODE;

/// What the file's name adds to that of the state.
const SUFFIX: &str = "-turn";
/// Between looks whether it is one's turn: a fraction of an fsync.
const PAUSE: Duration = Duration::from_micros(100);
/// How long a turn is waited for: many commits of a slow disk.
const PATIENCE: Duration = Duration::from_secs(1);

/// One writer's place in the queue before the write lock. Two need one each.
#[derive(Debug)]
pub(super) struct Turn {
    file: Option<File>,
}

/// The file's lock, until this is dropped.
struct Next<'t>(Option<&'t File>);

impl Turn {
    /// At a state file.
    pub(super) fn at(state: &Path) -> Turn {
        let open = |path: &Path| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(MODE);
            options.open(with_suffix(path, SUFFIX))
        };
        // Symbolic links are resolved, as by SQLite.
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
                Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => {
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
            // Closing the file gives the lock back as well.
            let _ = file.unlock();
        }
    }
}

#[cfg(test)]
mod tests;
