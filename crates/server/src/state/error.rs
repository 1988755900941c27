//! The error of the state.

use std::fmt;
use std::path::Path;

/// Why the state could not be read or written.
#[derive(Debug)]
pub struct StateError(Reason);

#[derive(Debug)]
enum Reason {
    Database(rusqlite::Error),
    Random(getrandom::Error),
    Newer(i64),
    Invalid(String),
    Refused(String),
}

impl StateError {
    pub(super) fn newer(version: i64) -> StateError {
        StateError(Reason::Newer(version))
    }

    pub(super) fn of_file(path: &Path, what: &str, error: &std::io::Error) -> StateError {
        StateError::invalid(format!("the state file {} {what}: {error}", path.display()))
    }

    pub(super) fn foreign(path: &Path) -> StateError {
        StateError::invalid(format!(
            "{} is not a state file: it is a SQLite file of another program",
            path.display()
        ))
    }

    /// A change that was not made, for a reason that its sender can correct.
    pub(crate) fn refused(reason: impl Into<String>) -> StateError {
        StateError(Reason::Refused(reason.into()))
    }

    /// Why a change was refused, or the failure itself if it is none of its sender's.
    pub(crate) fn refusal(self) -> Result<String, StateError> {
        match self.0 {
            Reason::Refused(reason) => Ok(reason),
            _ => Err(self),
        }
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> StateError {
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
            // rusqlite's own message would repeat the statement, which may be a whole schema.
            Reason::Database(rusqlite::Error::SqlInputError { msg, .. }) => {
                write!(f, "the state file: {msg}")
            }
            Reason::Database(error) => write!(f, "the state file: {error}"),
            Reason::Random(error) => write!(f, "no random bytes: {error}"),
            Reason::Newer(version) => {
                write!(
                    f,
                    "the state file has layout {version}, written by a later release"
                )
            }
            Reason::Invalid(reason) | Reason::Refused(reason) => f.write_str(reason),
        }
    }
}

// No source: the message already contains the cause, without SQL, and would be printed twice.
impl std::error::Error for StateError {}
