//! Doing it: one live segment answers, block by block.
//!
//! A block of 65,536 rows is narrowed set by set while it is in the first-level cache; a page
//! stops as soon as it is full, a count sums up, and neither ever holds a set of all rows. What
//! only a row itself can tell (the edge of a range, the order of words) is looked at last, and
//! for a page only as far as the page goes.
//!
//! [`LiveSegment`] is the entry: it plans, decides whether one set can be scanned or the plan has to
//! be executed, and reports what it did to an observer.

mod buffer_pool;
mod candidate_rows;
mod candidates;
mod companies;
mod executed_matches;
mod execution;
mod facets;
mod live;
mod matches;
mod narrowing;
mod observer;
mod operand;
mod output;
#[cfg(all(test, feature = "synthetic"))]
mod plain;
mod remaining;
mod row_window;
mod scan;
mod statistics;
mod stored_count;
#[cfg(all(test, feature = "synthetic"))]
mod tests;
mod union;

pub(crate) use facets::FacetTally;
pub(crate) use live::{LiveSegment, Request};
pub(crate) use matches::{Consumer, MatchRun, Matches};
pub(crate) use observer::{Counters, Counting, Observer, Run, Unobserved};
