//! The one error of everything that touches an index.
//!
//! It is opaque: callers ask it questions (`is_corrupt`, `is_locked`) instead of matching on its
//! shape, so that it can learn to say more without breaking them. Errors in what a user typed are
//! another matter and have a type of their own, [`InvalidQuery`](crate::query::InvalidQuery).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an index could not be built, opened, read or changed.
///
/// `{}` shows what went wrong and the file it is about; what the operating system or an object
/// store said of it is the [`source`](std::error::Error::source). `{:#}` shows both on one line.
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
    #[cfg_attr(not(feature = "replicate"), allow(dead_code))]
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

    /// The file is not one of ours.
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

    /// A signal names a company that is not known; it was not added. [`is_invalid`](Self::is_invalid)
    /// holds too.
    pub fn is_unknown_company(&self) -> bool {
        self.0.kind == Kind::UnknownCompany
    }

    /// Another writer holds the index, or another prune the store.
    pub fn is_locked(&self) -> bool {
        self.0.kind == Kind::Locked
    }

    /// A bound of the format was reached, such as the rows of one segment.
    pub fn is_full(&self) -> bool {
        self.0.kind == Kind::Full
    }

    /// The writer has failed before and has to be opened again.
    pub fn is_poisoned(&self) -> bool {
        self.0.kind == Kind::Poisoned
    }

    /// The object store refused, or could not be reached.
    pub fn is_store(&self) -> bool {
        self.0.kind == Kind::Store
    }

    /// The generation to publish has been published with other content, or the store has a later
    /// one.
    pub fn is_taken(&self) -> bool {
        self.0.kind == Kind::Taken
    }

    /// The file the error is about, where there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The error of the operating system, where there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.source.as_ref()?.downcast_ref()
    }

    /// The operating system refused; `doing` completes "cannot ...".
    pub(crate) fn io(doing: &str, source: io::Error) -> Error {
        Error(Box::new(Inner {
            kind: Kind::Io,
            reason: format!("cannot {doing}"),
            path: None,
            source: Some(source.into()),
        }))
    }

    pub(crate) fn missing(reason: impl Into<String>) -> Error {
        Error::new(Kind::Missing, reason)
    }

    pub(crate) fn foreign(reason: impl Into<String>) -> Error {
        Error::new(Kind::Foreign, reason)
    }

    pub(crate) fn newer(reason: impl Into<String>) -> Error {
        Error::new(Kind::Newer, reason)
    }

    pub(crate) fn corrupt(reason: impl Into<String>) -> Error {
        Error::new(Kind::Corrupt, reason)
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Error {
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

    pub(crate) fn full(reason: impl Into<String>) -> Error {
        Error::new(Kind::Full, reason)
    }

    pub(crate) fn poisoned(reason: impl Into<String>) -> Error {
        Error::new(Kind::Poisoned, reason)
    }

    /// The object store refused. The reason names nothing outside the store's own names, as it is
    /// shown to untrusted clients; the source may.
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

    #[cfg(feature = "replicate")]
    pub(crate) fn taken(reason: impl Into<String>) -> Error {
        Error::new(Kind::Taken, reason)
    }

    /// Names what of the store the error is about.
    #[cfg(feature = "replicate")]
    pub(crate) fn about(mut self, name: &str) -> Error {
        self.0.reason = format!("{name}: {}", self.0.reason);
        self
    }

    /// What went wrong, without a path of this machine.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Names the file, unless a deeper layer has named one already.
    pub(crate) fn at(mut self, path: &Path) -> Error {
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

/// Appends the sources of an error, each after a colon.
pub(crate) fn write_sources(
    error: &(dyn std::error::Error + 'static),
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut source = error.source();
    while let Some(error) = source {
        write!(f, ": {error}")?;
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

/// The most characters of input that a message repeats.
pub(crate) const ECHO_CHARS_MAX: usize = 64;

/// Input as a message may repeat it: at most 64 characters, nothing that a terminal would act on.
pub(crate) fn echo(input: &str) -> String {
    let visible = |letter: char| {
        if letter.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            letter
        }
    };
    let mut letters = input.chars();
    let mut shown: String = letters.by_ref().take(ECHO_CHARS_MAX).map(visible).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Input as a message may repeat it, in quotes.
pub(crate) fn quoted(input: &str) -> String {
    format!("\"{}\"", echo(input))
}

#[cfg(test)]
mod tests;
