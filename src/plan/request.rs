//! What a plan is made for.

use time::Date;

use super::strategies::Strategies;
use crate::query::Filter;

/// The purpose of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanRequest<'q, 's> {
    pub(crate) filter: &'q Filter,
    /// The date used as today.
    pub(crate) today: Date,
    pub(crate) strategies: &'s Strategies,
    /// The number of matches needed; `None` means all.
    pub(crate) matches: Option<usize>,
}
