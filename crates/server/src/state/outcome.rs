//! The outcome of a charge: what was recorded, or why nothing is known to be.

use super::kept_store::KeptFull;

/// The charged units, and the key's usage after the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charged {
    pub(crate) units: u64,
    pub(crate) total: u64,
}

/// Why a charge is not known to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChargeError {
    /// Only `left` units are left of the quota, fewer than the charge.
    QuotaExceeded { left: u64 },
    /// Another process has answered under this idempotency key.
    NameTaken,
    /// The search of the batch has moved on meanwhile.
    BatchTaken,
    /// There is no room to keep the answer, or the ids of the export, under the idempotency key.
    KeptFull(KeptFull),
    /// Too many charges are waiting.
    QueueFull,
    /// The state cannot be written.
    Unavailable,
    /// The deadline passed before the commit began.
    TimedOut,
    /// The charge may have been recorded or may still be.
    Uncertain,
}

/// The outcome of a charge.
pub(super) type ChargeOutcome = Result<Charged, ChargeError>;
