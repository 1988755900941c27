//! Doing it: a plan's rows in one segment, block by block.
//!
//! A block of 65,536 rows is narrowed set by set while it is in the first-level cache; a page
//! stops as soon as it is full, a count sums up, and neither ever holds a set of all rows. What
//! only a row itself can tell (the edge of a range, the order of words) is looked at last, and
//! for a page only as far as the page goes.

mod ahead;
mod batch;
mod candidates;
mod companies;
mod execution;
mod facets;
mod operand;
mod scratch;
mod stream;
mod trace;
mod union;
mod walk;
mod window;

pub(crate) use companies::rows_of_companies;
pub(crate) use execution::Execution;
pub(crate) use facets::{FacetTally, tally};
pub(crate) use stream::{RowStream, Run, Runs};
pub(crate) use walk::{Walk, Walked};
