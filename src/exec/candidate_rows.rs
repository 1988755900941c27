//! A read-only view of a window's candidates: a list of offsets, or words of a bitset.

use std::ops::Range;

use super::output::OutputBuffer;
use crate::encoding::posting::BlockRows;
use crate::kernels::{bits, gallop};
use crate::query::IdOrder;

/// A view of candidates.
#[derive(Clone, Copy, Debug)]
pub(super) enum CandidateRows<'a> {
    /// Offsets, ascending.
    List(&'a [u16]),
    /// A range of words of the block's bitset.
    Bits { first_word: usize, words: &'a [u64] },
}

impl<'a> CandidateRows<'a> {
    /// The rows of a blocked set in one block.
    pub(super) fn of_block(rows: BlockRows<'a>) -> CandidateRows<'a> {
        match rows {
            BlockRows::Bits(words) => CandidateRows::Bits {
                first_word: 0,
                words,
            },
            BlockRows::Array(offsets) => CandidateRows::List(offsets),
            BlockRows::List(_) => unreachable!(
                "listed rows are scanned as a list, and a posting that is cut into blocks is asked \
                 only for a block that it has"
            ),
        }
    }

    /// Calls `visit` with each offset, ascending.
    pub(super) fn for_each(&self, mut visit: impl FnMut(u16)) {
        match self {
            CandidateRows::List(list) => list.iter().for_each(|&offset| visit(offset)),
            CandidateRows::Bits { first_word, words } => {
                bits::ones(*first_word, words).for_each(visit);
            }
        }
    }

    /// Moves the first candidates between two offsets, in an order, to the output while it has room.
    #[inline]
    pub(super) fn collect(&self, offsets: &Range<u32>, order: IdOrder, output: &mut OutputBuffer) {
        match self {
            CandidateRows::List(list) => output.push_offsets(gallop::between(list, offsets), order),
            CandidateRows::Bits { first_word, words } => {
                // A block has 1,024 words, so neither the cast nor the product overflows.
                let first = *first_word as u32 * 64;
                // `push_bits` takes offsets relative to the first of these words.
                let inside = offsets.start.saturating_sub(first)..offsets.end.saturating_sub(first);
                output.push_bits(words, inside, first, order);
            }
        }
    }
}
