//! The error type of everything that builds, opens, reads or changes an index.
//!
//! It is opaque: callers test it with methods such as `is_corrupt` and `is_locked` instead of matching
//! on variants, so kinds can be added without breaking them. Invalid queries have an error type of
//! their own, [`InvalidQuery`](crate::query::InvalidQuery).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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

    #[cfg(feature = "replicate")]
    pub(crate) fn taken(reason: impl Into<String>) -> Error {
        Error::new(Kind::Taken, reason)
    }

    /// Adds the name of the object in the store.
    #[cfg(feature = "replicate")]
    pub(crate) fn about(mut self, name: &str) -> Error {
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

/// The maximum number of input characters that a message repeats.
pub(crate) const ECHO_CHARS_MAX: usize = 64;

/// Makes input safe to repeat in a message: at most 64 characters, without control characters.
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

/// As [`echo`], in quotes.
pub(crate) fn quoted(input: &str) -> String {
    format!("\"{}\"", echo(input))
}

#[cfg(test)]
mod tests;
