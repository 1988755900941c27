//! Execution of queries on one live segment, block by block.
//!
//! A block of 65,536 rows is intersected set by set while it is in the L1 cache. A page stops when it is full,
//! a count adds up blocks, and neither ever materialises a set of all rows. Checks of single rows (the edge of
//! a range, the order of words) come last, and for a page only until it is full.
//!
//! [`LiveSegment`] is the entry point: it plans, decides whether one set can be scanned or the plan must be
//! executed, and reports to an observer. Few rows of one of several segments are evaluated without a plan.

mod buffer_pool;
mod bytes_read;
mod candidate_rows;
mod candidates;
mod code_order;
mod companies;
mod company_counts;
mod counting;
mod eager;
mod entry;
mod executed_matches;
mod execution;
mod facets;
mod first_keys;
mod group_column;
mod live;
mod matched_rows;
mod matches;
mod narrowing;
mod observer;
mod operand;
mod output;
mod parallel;
#[cfg(test)]
mod plain;
mod remaining;
mod row_set;
mod row_test;
mod row_window;
mod scan;
mod selection;
mod statistics;
mod stored_count;
mod stored_facets;
mod stored_groups;
#[cfg(test)]
mod tests;
mod union;
mod value_blocks;
mod value_column;
mod value_walk;

pub(crate) use company_counts::CompanyCounts;
pub(crate) use eager::{PhraseSteps, may_be_eager};
pub(crate) use facets::FacetTally;
pub(crate) use group_column::{GroupColumn, GroupColumnValues, for_each_code, read_column};
pub(crate) use live::{LiveSegment, Request};
pub(crate) use matched_rows::MatchedRows;
pub(crate) use matches::{Consumer, MatchRun, MatchRuns};
pub(crate) use observer::{Counters, Counting, Observer, Run, Unobserved};
pub use parallel::Executor;
#[cfg(not(feature = "__strategies"))]
pub(crate) use parallel::SplitLimits;
#[cfg(feature = "__strategies")]
pub use parallel::SplitLimits;
pub(crate) use parallel::{SharedExecutor, add_each, fold, fold_into};
pub(crate) use value_column::WantedValues;
