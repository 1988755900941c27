//! The error type of everything that builds, opens, reads or changes an index.
//!
//! It is opaque: callers ask for its kind, and kinds can be added without breaking them. Invalid queries have an error type of
//! their own, [`InvalidQuery`](crate::query::InvalidQuery).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::quoted;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// How to move an index to another format.
pub(crate) const OTHER_FORMAT_HINT: &str = "`signaldex dump` of the release that wrote it, and `signaldex build` of this one, move its records";

/// Why an index could not be built, opened, read or changed.
///
/// `{}` shows what went wrong and in which file. The error of the operating system is the [`source`](std::error::Error::source). `{:#}` shows both on one line.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    reason: String,
    path: Option<PathBuf>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What went wrong, for callers that act on it; [`Error::kind`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to read or write.
    Io,
    /// There is no index at that path, or what was asked for is not there.
    Missing,
    /// The file was not written by signaldex.
    Foreign,
    /// The file was written by a later release; it has been left untouched.
    NewerFormat,
    /// The file is damaged: truncated, altered, or breaking a rule of its format.
    Corrupt,
    /// A record or an argument breaks a rule; nothing was changed.
    Invalid,
    /// A signal names an unknown company and was not added.
    UnknownCompany,
    /// Another writer has locked the index.
    Locked,
    /// A limit of the format was reached, such as the number of rows in a segment.
    Full,
    /// The writer failed earlier and must be opened again.
    Poisoned,
    /// The matches of an aggregate have too many groups of two.
    TooManyGroups,
}

impl Error {
    /// What went wrong.
    ///
    /// ```
    /// use signaldex::{ErrorKind, Index};
    ///
    /// let error = Index::open("nowhere").expect_err("there is no index");
    /// assert_eq!(error.kind(), ErrorKind::Missing);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file that the error concerns, if any.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The error of the operating system, if any.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// An error of the operating system; `doing` completes "cannot ...".
    pub fn io(doing: &str, source: io::Error) -> Error {
        Error(Box::new(Inner {
            kind: ErrorKind::Io,
            reason: format!("cannot {doing}"),
            path: None,
            source: Some(source.into()),
        }))
    }

    /// Something that was asked for is not there: [`Missing`](ErrorKind::Missing).
    pub fn missing(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Missing, reason)
    }

    /// A file that something else wrote: [`Foreign`](ErrorKind::Foreign).
    pub(crate) fn foreign(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Foreign, reason)
    }

    /// A file of a later release: [`NewerFormat`](ErrorKind::NewerFormat).
    pub fn newer(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::NewerFormat, reason)
    }

    /// Damage: [`Corrupt`](ErrorKind::Corrupt).
    pub fn corrupt(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corrupt, reason)
    }

    /// A record or an argument that breaks a rule: [`Invalid`](ErrorKind::Invalid). A target of records of
    /// your own (`json::Sink`) makes such errors, for example.
    ///
    /// ```
    /// use signaldex::Error;
    ///
    /// let error = Error::invalid("shards: 0 is not allowed; 1 to 4096 are").at("corpus.jsonl".as_ref());
    /// assert_eq!(error.kind(), signaldex::ErrorKind::Invalid);
    /// assert_eq!(error.to_string(), "corpus.jsonl: shards: 0 is not allowed; 1 to 4096 are");
    /// ```
    pub fn invalid(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, reason)
    }

    /// A signal's company does not exist: [`UnknownCompany`](ErrorKind::UnknownCompany).
    ///
    /// ```
    /// let error = signaldex::Error::unknown_company("acme");
    /// assert_eq!(error.kind(), signaldex::ErrorKind::UnknownCompany);
    /// assert_eq!(error.to_string(), "companySlug: there is no company \"acme\"; add it before its signals");
    /// ```
    pub fn unknown_company(slug: &str) -> Error {
        let slug = quoted(slug);
        let reason = format!("companySlug: there is no company {slug}; add it before its signals");
        Error::new(ErrorKind::UnknownCompany, reason)
    }

    /// Another process holds a lock: [`Locked`](ErrorKind::Locked).
    ///
    /// ```
    /// let error = signaldex::Error::locked("another writer holds the index");
    /// assert_eq!(error.kind(), signaldex::ErrorKind::Locked);
    /// ```
    pub fn locked(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Locked, reason)
    }

    /// A limit was reached: [`Full`](ErrorKind::Full).
    pub fn full(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Full, reason)
    }

    /// The matches have too many groups of two: [`TooManyGroups`](ErrorKind::TooManyGroups).
    ///
    /// ```
    /// let error = signaldex::Error::too_many_groups("by has more than 5 groups of two");
    /// assert_eq!(error.kind(), signaldex::ErrorKind::TooManyGroups);
    /// ```
    pub fn too_many_groups(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::TooManyGroups, reason)
    }

    pub(crate) fn poisoned(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::Poisoned, reason)
    }

    /// An error of something that the index is written to or read from, and that is not a file.
    #[cfg(feature = "replicate")]
    pub(crate) fn with_source(
        reason: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        let mut error = Error::new(ErrorKind::Io, reason);
        error.0.source = Some(source.into());
        error
    }

    /// Adds what the error is about, such as the name of an object in a store, before the reason.
    pub fn about(mut self, name: &str) -> Error {
        self.0.reason = format!("{name}: {}", self.0.reason);
        self
    }

    /// What went wrong, without local paths.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The error for untrusted clients: [`reason`](Self::reason) and the error of the operating system, without
    /// paths and addresses.
    pub fn public_reason(&self) -> String {
        match self.io_error() {
            Some(source) => format!("{}: {source}", self.0.reason),
            None => self.0.reason.clone(),
        }
    }

    /// Adds the file, unless a lower layer has already done so.
    pub fn at(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    fn new(kind: ErrorKind, reason: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            reason: reason.into(),
            path: None,
            source: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.0.reason)?;
        if f.alternate() {
            write_sources(self, f)?;
        }
        Ok(())
    }
}

/// Appends the sources of an error, each after a colon. Skips sources whose text is already contained, because
/// crates for HTTP and object stores repeat their sources at each level.
pub(crate) fn write_sources(
    error: &(dyn std::error::Error + 'static),
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut written = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !written.contains(&text) {
            write!(f, ": {text}")?;
            written = text;
        }
        source = error.source();
    }
    Ok(())
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

#[cfg(test)]
mod tests;
