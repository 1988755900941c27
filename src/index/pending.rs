//! What a commit changes, and the summary that it returns.

use std::collections::BTreeMap;

use crate::signal::{Company, Signal, SignalId};

/// The changes of a commit: the new record of each id or slug, or `None` for a deletion.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    pub(super) signals: BTreeMap<SignalId, Option<Signal<'static>>>,
    pub(super) companies: BTreeMap<String, Option<Company<'static>>>,
}

/// A summary of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct CommitReport {
    /// The generation of the snapshot that it published.
    pub generation: u64,
    /// Signals written: those upserted, and those whose company changed.
    pub signals_written: u64,
    /// Signals deleted.
    pub signals_deleted: u64,
    /// Companies written.
    pub companies_written: u64,
    /// Companies deleted.
    pub companies_deleted: u64,
}
