//! The query planner: turns a filter and the statistics of a segment into steps ordered by cost.
//!
//! Each segment has its own plan, because selectivities differ. Planning touches no rows: all input comes
//! through [`Statistics`], so planning is tested without an index. Rows come from **sources** (postings,
//! which are combined block by block). What postings cannot decide is left to **checks** on the remaining
//! rows (the edges of ranges, the order of words in phrases). A phrase thus adds a source for each of its
//! words and a check.

mod clause;
mod companies;
pub(crate) mod cost;
mod estimate;
mod explain;
mod planner;
mod request;
mod statistics;
mod step_sink;
mod steps;
mod stored_union;
#[cfg_attr(
    not(any(test, feature = "__strategies")),
    allow(dead_code, unreachable_pub)
)]
mod strategies;
#[cfg(test)]
mod tests;

pub(crate) use clause::Clause;
pub use cost::Cost;
pub use estimate::Estimate;
pub(crate) use explain::{AppliedPart, StepActual};
pub use explain::{ExecutionExplanation, Explanation, SegmentExplanation, StepExplanation};
pub(crate) use planner::visit_steps;
pub(crate) use request::PlanRequest;
pub(crate) use statistics::{
    CodeRange, CompanyFacet, Pair, PrefixWords, RangeColumn, Source, SourceStatistics, Statistics,
    TermStatistics,
};
pub(crate) use step_sink::{Planned, StepSink, Stop};
pub(crate) use steps::{
    Access, AnyPhrase, PhraseCheck, PhraseStep, Plan, PlanStorage, RangeStep, Step,
};
pub(crate) use stored_union::StoredUnion;
#[cfg(not(feature = "__strategies"))]
pub(crate) use strategies::Strategies;
#[cfg(feature = "__strategies")]
pub use strategies::Strategies;
