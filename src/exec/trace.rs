//! What an execution saw, for `explain`.

use std::time::Duration;

/// Counters of an execution. Kept only where someone asked for an explanation, since counting the
/// candidates behind each step costs more than some steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// Blocks whose candidates were formed.
    pub(crate) blocks_visited: u64,
    /// Blocks that were passed over: without rows of the leading set, or outside a range.
    pub(crate) blocks_skipped: u64,
    /// By step, in the order required, ranges, excluded, phrases: what it left and its time.
    pub(crate) steps: Vec<StepTrace>,
}

/// Counters of one step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepTrace {
    /// The candidates that were left behind the step.
    pub(crate) rows: u64,
    /// The time that the step took.
    pub(crate) time: Duration,
}
