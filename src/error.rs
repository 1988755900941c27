//! The error type of everything that builds, opens, reads or changes an index.
//!
//! It is opaque: callers test it with methods such as `is_corrupt` and `is_locked` instead of matching
//! on variants, so kinds can be added without breaking them. Invalid queries have an error type of
//! their own, [`InvalidQuery`](crate::query::InvalidQuery).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::quoted;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an index could not be built, opened, read or changed.
///
/// `{}` shows what went wrong and in which file. The error of the operating system or the object store
/// is the [`source`](std::error::Error::source). `{:#}` shows both on one line.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    reason: String,
    path: Option<PathBuf>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Io,
    Missing,
    Foreign,
    Newer,
    Corrupt,
    Invalid,
    UnknownCompany,
    Locked,
    Full,
    Poisoned,
    #[cfg_attr(not(feature = "replicate"), allow(dead_code))]
    Store,
    Taken,
}

impl Error {
    /// The operating system refused to read or write.
    pub fn is_io(&self) -> bool {
        self.0.kind == Kind::Io
    }

    /// There is no index at that path.
    pub fn is_missing(&self) -> bool {
        self.0.kind == Kind::Missing
    }

    /// The file was not written by signaldex.
    pub fn is_foreign(&self) -> bool {
        self.0.kind == Kind::Foreign
    }

    /// The file was written by a later release; it has been left untouched.
    pub fn is_newer_format(&self) -> bool {
        self.0.kind == Kind::Newer
    }

    /// The file is damaged: truncated, altered, or breaking a rule of its format.
    pub fn is_corrupt(&self) -> bool {
        self.0.kind == Kind::Corrupt
    }

    /// A record or an argument breaks a rule; nothing was changed.
    pub fn is_invalid(&self) -> bool {
        matches!(self.0.kind, Kind::Invalid | Kind::UnknownCompany)
    }

    /// A signal names an unknown company and was not added. [`is_invalid`](Self::is_invalid) is true, too.
    pub fn is_unknown_company(&self) -> bool {
        self.0.kind == Kind::UnknownCompany
    }

    /// Another writer has locked the index, or another prune the store.
    pub fn is_locked(&self) -> bool {
        self.0.kind == Kind::Locked
    }

    /// A limit of the format was reached, such as the number of rows in a segment.
    pub fn is_full(&self) -> bool {
        self.0.kind == Kind::Full
    }

    /// The writer failed earlier and must be opened again.
    pub fn is_poisoned(&self) -> bool {
        self.0.kind == Kind::Poisoned
    }

    /// The object store refused a request or could not be reached.
    pub fn is_store(&self) -> bool {
        self.0.kind == Kind::Store
    }

    /// The generation to publish already exists with different content, or the store has a later one.
    pub fn is_taken(&self) -> bool {
        self.0.kind == Kind::Taken
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
            kind: Kind::Io,
            reason: format!("cannot {doing}"),
            path: None,
            source: Some(source.into()),
        }))
    }

    /// Something that was asked for is not there: [`is_missing`](Self::is_missing).
    pub fn missing(reason: impl Into<String>) -> Error {
        Error::new(Kind::Missing, reason)
    }

    /// A file that something else wrote: [`is_foreign`](Self::is_foreign).
    pub fn foreign(reason: impl Into<String>) -> Error {
        Error::new(Kind::Foreign, reason)
    }

    /// A file of a later release: [`is_newer_format`](Self::is_newer_format).
    pub fn newer(reason: impl Into<String>) -> Error {
        Error::new(Kind::Newer, reason)
    }

    /// Damage: [`is_corrupt`](Self::is_corrupt).
    pub fn corrupt(reason: impl Into<String>) -> Error {
        Error::new(Kind::Corrupt, reason)
    }

    /// A record or an argument that breaks a rule: [`is_invalid`](Self::is_invalid). A target of records of
    /// your own (`json::Sink`) makes such errors, for example.
    ///
    /// ```
    /// use signaldex::Error;
    ///
    /// let error = Error::invalid("shards: 0 is not allowed; 1 to 4096 are").at("corpus.jsonl".as_ref());
    /// assert!(error.is_invalid());
    /// assert_eq!(error.to_string(), "corpus.jsonl: shards: 0 is not allowed; 1 to 4096 are");
    /// ```
    pub fn invalid(reason: impl Into<String>) -> Error {
        Error::new(Kind::Invalid, reason)
    }

    pub(crate) fn unknown_company(slug: &str) -> Error {
        let slug = quoted(slug);
        let reason = format!("companySlug: there is no company {slug}; add it before its signals");
        Error::new(Kind::UnknownCompany, reason)
    }

    pub(crate) fn locked() -> Error {
        Error::new(Kind::Locked, "another writer holds the index")
    }

    /// A limit was reached: [`is_full`](Self::is_full).
    pub fn full(reason: impl Into<String>) -> Error {
        Error::new(Kind::Full, reason)
    }

    pub(crate) fn poisoned(reason: impl Into<String>) -> Error {
        Error::new(Kind::Poisoned, reason)
    }

    /// An error of the object store. The reason is shown to untrusted clients, so it names only objects of
    /// the store; the source may say more.
    #[cfg(feature = "replicate")]
    pub(crate) fn store(
        reason: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        let mut error = Error::new(Kind::Store, reason);
        error.0.source = Some(source.into());
        error
    }

    #[cfg(feature = "replicate")]
    pub(crate) fn being_pruned() -> Error {
        let reason =
            "another prune is at work in this store, or one was killed less than ten minutes ago";
        Error::new(Kind::Locked, reason)
    }

    /// What is to be published exists with other content: [`is_taken`](Self::is_taken).
    pub fn taken(reason: impl Into<String>) -> Error {
        Error::new(Kind::Taken, reason)
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

    fn new(kind: Kind, reason: impl Into<String>) -> Error {
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
