//! Encodings of sets, numbers and texts: each file writes, views and validates one encoding.
//!
//! [`segment`](crate::segment) decides what is encoded, and in which section.

mod bit_packing;
pub(crate) mod block_permutation;
pub(crate) mod bytes;
pub(crate) mod code_counts;
pub(crate) mod column;
pub(crate) mod dictionary;
pub(crate) mod frame_of_reference;
pub(crate) mod framed_strings;
pub(crate) mod hash_index;
pub(crate) mod linear_frames;
pub(crate) mod nibbles;
pub(crate) mod packed_numbers;
pub(crate) mod pairs;
pub(crate) mod posting;
pub(crate) mod row;
pub(crate) mod row_bits;
pub(crate) mod rows_by_code;
pub(crate) mod symbols;
pub(crate) mod tokens;
pub(crate) mod varint;
pub(crate) mod word_order;
pub(crate) mod zone_map;
