//! Loops over the words of a bitset and over lists of offsets, compiled for the vector instructions of
//! several generations of processors.
//!
//! The only module with `std::arch` and `multiversion`. Each loop has a plain twin that its tests
//! compare it with. Nothing here knows what a row, a value or a query is.

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
pub(crate) mod search;
pub(crate) mod whole;
