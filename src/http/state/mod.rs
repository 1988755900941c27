//! What outlives the process: keys, usage, answers to be repeated, the admin token, in one SQLite
//! file.
//!
//! Reads go through a few connections of their own and never wait for writes. Everything that a
//! request writes goes through one thread (`writer`), which commits what has gathered since its
//! last commit together: an fsync takes milliseconds, and many requests share it.

mod admin_store;
mod key_store;
mod replay_store;
mod schema;
mod usage_store;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

pub use usage_store::UsageLine;

pub(crate) use replay_store::NewReplay;
pub(crate) use writer::{Charge, ChargeError, Charged, Settlement, Writer};

/// Connections kept for reading. Reads take microseconds, so a few serve many workers.
const IDLE_READERS: usize = 8;

/// The state file of a service: keys, usage and idempotency records.
///
/// Any number of processes may have it open, so keys can be made and usage be read while a
/// service runs.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
}

/// Why the state could not be read or written.
#[derive(Debug)]
pub struct StateError(Reason);

#[derive(Debug)]
enum Reason {
    Database(rusqlite::Error),
    Random(getrandom::Error),
    Newer(i64),
    Invalid(String),
}

impl State {
    /// Opens a state file and makes it where there is none.
    ///
    /// # Errors
    /// The file cannot be opened, is no state file, or was written by a later release.
    pub fn open(path: impl AsRef<Path>) -> Result<State, StateError> {
        let path = path.as_ref().to_owned();
        let first = schema::open(&path)?;
        Ok(State {
            path,
            readers: Mutex::new(vec![first]),
        })
    }

    /// Runs a read or a rare write on a connection of its own.
    fn with<T>(
        &self,
        run: impl FnOnce(&mut Connection) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let idle = self
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => schema::open(&self.path)?,
        };
        let result = run(&mut connection);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        result
    }
}

impl StateError {
    fn newer(version: i64) -> StateError {
        StateError(Reason::Newer(version))
    }

    fn invalid(reason: impl Into<String>) -> StateError {
        StateError(Reason::Invalid(reason.into()))
    }
}

impl From<rusqlite::Error> for StateError {
    fn from(error: rusqlite::Error) -> StateError {
        StateError(Reason::Database(error))
    }
}

impl From<getrandom::Error> for StateError {
    fn from(error: getrandom::Error) -> StateError {
        StateError(Reason::Random(error))
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Database(error) => write!(f, "the state file: {error}"),
            Reason::Random(error) => write!(f, "no random bytes: {error}"),
            Reason::Newer(version) => {
                write!(
                    f,
                    "the state file has layout {version}, written by a later release"
                )
            }
            Reason::Invalid(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for StateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Reason::Database(error) => Some(error),
            Reason::Random(error) => Some(error),
            Reason::Newer(_) | Reason::Invalid(_) => None,
        }
    }
}
