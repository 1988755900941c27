//! The error type of shards, their publication and the nodes that answer from them.

use std::fmt;
use std::path::Path;

use signaldex::ErrorKind;
use signaldex::replicate::{ReplicaError, ReplicaErrorKind};

/// A result whose error is [`ClusterError`].
pub type ClusterResult<T> = std::result::Result<T, ClusterError>;

/// Why shards could not be built, changed or published, or why a node cannot run.
///
/// It is shown as [`signaldex::Error`] is: `{}` says what went wrong and in which file, `{:#}` also the error of the
/// object store or the operating system, which is the [`source`](std::error::Error::source).
#[derive(Debug)]
pub struct ClusterError {
    kind: ClusterErrorKind,
    error: ReplicaError,
}

/// What went wrong, for callers that act on it; [`ClusterError::kind`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClusterErrorKind {
    /// Of the index of a shard, a file, a setting or an argument.
    Index(ErrorKind),
    /// Of publishing or loading shards: what only an object store can say.
    Replica(ReplicaErrorKind),
    /// A part of the node has ended, so that it no longer answers other nodes.
    Ended,
}

impl ClusterError {
    /// What went wrong.
    ///
    /// ```
    /// use signaldex::ErrorKind;
    /// use signaldex_cluster::{ClusterErrorKind, ClusterSettings};
    ///
    /// let error = ClusterSettings::parse("{}").expect_err("it has no store");
    /// assert_eq!(error.kind(), ClusterErrorKind::Index(ErrorKind::Invalid));
    /// ```
    pub fn kind(&self) -> ClusterErrorKind {
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

    pub(super) fn about(self, name: &str) -> ClusterError {
        ClusterError {
            kind: self.kind,
            error: self.error.about(name),
        }
    }

    pub(super) fn at(self, path: &Path) -> ClusterError {
        ClusterError {
            kind: self.kind,
            error: self.error.at(path),
        }
    }

    pub(super) fn taken(reason: impl Into<String>) -> ClusterError {
        ClusterError {
            kind: ClusterErrorKind::Replica(ReplicaErrorKind::Taken),
            error: signaldex::Error::invalid(reason).into(),
        }
    }

    /// A part of a node has ended, for this reason.
    pub(super) fn ended(reason: signaldex::Error) -> ClusterError {
        ClusterError {
            kind: ClusterErrorKind::Ended,
            error: reason.into(),
        }
    }
}

impl From<ReplicaError> for ClusterError {
    fn from(error: ReplicaError) -> ClusterError {
        let kind = match error.kind() {
            ReplicaErrorKind::Index(kind) => ClusterErrorKind::Index(kind),
            kind => ClusterErrorKind::Replica(kind),
        };
        ClusterError { kind, error }
    }
}

impl From<signaldex::Error> for ClusterError {
    fn from(error: signaldex::Error) -> ClusterError {
        ReplicaError::from(error).into()
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ClusterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}
