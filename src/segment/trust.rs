//! Whether the content of a segment's file can be trusted.
//!
//! A check may find damage, and another program may overwrite the file after parts of it were checked. The segment is
//! then distrusted until the file has been read again: nothing counts as checked, and every check fails. So queries
//! that need the file end in an error, at no cost to those of trusted segments.

use std::sync::atomic::{AtomicBool, Ordering, fence};

use super::Segment;
use crate::{Error, ErrorKind, Result};

/// What is known against the file of a segment.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// Whether the file was overwritten and not read again yet, or with other content.
    is_distrusted: AtomicBool,
    /// Whether a check has failed.
    is_damaged: AtomicBool,
}

impl Segment {
    /// Fails every check from now on.
    pub(crate) fn distrust(&self) {
        self.trust.is_distrusted.store(true, Ordering::Relaxed);
        // A query that finds a check missing finds the segment distrusted, too.
        fence(Ordering::Release);
        self.checks.clear();
        self.records.clear();
    }

    /// Takes back what was held against the file, which has been read and is whole.
    pub(crate) fn trust(&self) {
        self.trust.is_damaged.store(false, Ordering::Relaxed);
        // Released last, so that a thread that sees the segment trusted sees it undamaged, too.
        self.trust.is_distrusted.store(false, Ordering::Release);
    }

    /// Whether no query may read the file.
    pub(crate) fn is_distrusted(&self) -> bool {
        self.trust.is_distrusted.load(Ordering::Acquire)
    }

    /// Whether the file is distrusted, or a check has failed.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_distrusted() || self.trust.is_damaged.load(Ordering::Relaxed)
    }

    /// # Errors
    /// The segment is distrusted; the error names the file.
    pub(crate) fn ensure_trusted(&self) -> Result<()> {
        // Pairs with the fence in `distrust`: a thread that has seen a cleared check sees the
        // distrust.
        fence(Ordering::Acquire);
        if !self.is_distrusted() {
            return Ok(());
        }
        Err(self.damaged(Error::corrupt(
            "another program has overwritten the file, which is read again before anything is served from it",
        )))
    }

    /// Notes damage, and returns the error with the file.
    #[cold]
    pub(super) fn damaged(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Corrupt {
            self.trust.is_damaged.store(true, Ordering::Relaxed);
        }
        match &self.path {
            Some(path) if error.path().is_none() => error.at(path),
            _ => error,
        }
    }
}
