//! Loops over bitsets and lists of offsets, compiled for several generations of vector instructions.
//!
//! The only module with `std::arch` and `multiversion`. Tests compare each vector loop with a plain one.
//! This module is independent of values and queries.

pub(crate) mod bits;
pub(crate) mod block;
pub(crate) mod gallop;
pub(crate) mod intersect;
mod left_pack;
pub(crate) mod loser_tree;
pub(crate) mod popcount;
pub(crate) mod probe;
pub(crate) mod ranges;
pub(crate) mod retain;
pub(crate) mod row_sort;
pub(crate) mod search;
pub(crate) mod whole;
