//! The error type of publishing, following and pruning: that of an index, and what only an object store can say.

use std::fmt;
use std::path::Path;

use crate::{Error, ErrorKind};

/// A result whose error is [`ReplicaError`].
pub type ReplicaResult<T> = std::result::Result<T, ReplicaError>;

/// Why an index could not be published, followed or pruned.
///
/// It is shown as [`Error`] is: `{}` says what went wrong and in which file or object, `{:#}` also the error of the
/// object store or the operating system, which is the [`source`](std::error::Error::source).
#[derive(Debug)]
pub struct ReplicaError {
    kind: ReplicaErrorKind,
    error: Error,
}

/// What went wrong, for callers that act on it; [`ReplicaError::kind`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplicaErrorKind {
    /// Of an index, a published object or an argument; for example [`Missing`](ErrorKind::Missing) if nothing is published.
    Index(ErrorKind),
    /// The object store refused a request or could not be reached.
    Store,
    /// The generation to publish already exists with different content, or the store has a later one.
    Taken,
}

impl ReplicaError {
    /// What went wrong.
    ///
    /// ```
    /// use signaldex::ErrorKind;
    /// use signaldex::replicate::{ReplicaErrorKind, Store};
    ///
    /// let error = Store::open("ftp://host/path").expect_err("it is not a store");
    /// assert_eq!(error.kind(), ReplicaErrorKind::Index(ErrorKind::Invalid));
    /// ```
    pub fn kind(&self) -> ReplicaErrorKind {
        self.kind
    }

    /// The file that the error concerns, if any.
    pub fn path(&self) -> Option<&Path> {
        self.error.path()
    }

    /// What went wrong, without local paths.
    pub fn reason(&self) -> &str {
        self.error.reason()
    }

    /// The error for untrusted clients, as [`Error::public_reason`]: without paths, addresses and what the store said.
    pub fn public_reason(&self) -> String {
        self.error.public_reason()
    }

    /// Adds what the error is about, such as the number of a shard, before the reason.
    ///
    /// ```
    /// use signaldex::Error;
    /// use signaldex::replicate::ReplicaError;
    ///
    /// let error = ReplicaError::from(Error::missing("it is not there")).about("shard 3");
    /// assert_eq!(error.to_string(), "shard 3: it is not there");
    /// ```
    pub fn about(self, name: &str) -> ReplicaError {
        ReplicaError {
            kind: self.kind,
            error: self.error.about(name),
        }
    }

    /// Adds the file, unless a lower layer has already done so.
    pub fn at(self, path: &Path) -> ReplicaError {
        ReplicaError {
            kind: self.kind,
            error: self.error.at(path),
        }
    }

    /// The reason is shown to untrusted clients, so it names only objects of the store; the source may say more.
    pub(super) fn store(
        reason: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ReplicaError {
        ReplicaError {
            kind: ReplicaErrorKind::Store,
            error: Error::with_source(reason, source),
        }
    }

    pub(super) fn taken(reason: impl Into<String>) -> ReplicaError {
        ReplicaError {
            kind: ReplicaErrorKind::Taken,
            error: Error::invalid(reason),
        }
    }
}

impl From<Error> for ReplicaError {
    fn from(error: Error) -> ReplicaError {
        ReplicaError {
            kind: ReplicaErrorKind::Index(error.kind()),
            error,
        }
    }
}

impl fmt::Display for ReplicaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ReplicaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests;
