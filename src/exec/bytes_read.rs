//! How many bytes of an index a plan reads, for explanations and for comparisons with what a machine can read.
//!
//! A set that is combined with a bitset of candidates is read as far as it lies in their window; for listed candidates, at
//! most a cache line each. A row that is looked up by itself reads a cache line. Neither what planning reads of
//! dictionaries is counted, nor the ids and records of a page, nor titles of phrases in unions.

use super::candidate_rows::CandidateRows;
use super::candidates::Candidates;
use super::execution::BoundRange;
use super::operand::Operand;
use super::row_window::RowWindow;
use crate::encoding::column::Column;
use crate::encoding::posting::{BlockRows, Posting};

/// A cache line: the least that is read.
pub(super) const LINE_BYTES: u64 = 64;

/// What checking a phrase in a row reads at least: where its text starts, and the text.
pub(super) const TEXT_BYTES: u64 = 2 * LINE_BYTES;

/// The bytes of single look-ups of some rows.
pub(super) fn of_look_ups(rows: usize) -> u64 {
    rows as u64 * LINE_BYTES
}

/// The bytes that combining two sets of a window in one pass reads.
pub(super) fn of_both(sets: [&Posting<'_>; 2], window: RowWindow) -> u64 {
    let listed = sets
        .iter()
        .filter_map(|set| set.block(window.block()).listed());
    // The shorter list is looked up in the other set.
    let look_ups = listed.min().map_or(u64::MAX, of_look_ups);
    let [first, second] = sets.map(|set| in_window(set, window));
    first.min(second) + first.max(second).min(look_ups)
}

impl Operand<'_> {
    /// The bytes that making its rows the candidates of a window reads.
    pub(super) fn bytes_in(&self, window: RowWindow) -> u64 {
        let mut bytes = 0;
        self.for_each_posting(|posting| bytes += in_window(posting, window));
        bytes
    }

    /// The bytes that combining candidates with it reads.
    pub(super) fn bytes_beside(&self, candidates: &Candidates) -> u64 {
        let mut bytes = 0;
        self.for_each_posting(|posting| {
            bytes += candidates.at_most_a_line_each(in_window(posting, candidates.window()));
        });
        bytes
    }
}

impl BoundRange<'_> {
    /// The bytes that comparing the codes of candidates reads.
    pub(super) fn bytes_beside(&self, candidates: &Candidates) -> u64 {
        let width = match self.ordered.column {
            Column::One(_) => 1,
            Column::Two(_) => 2,
            Column::Four(_) => 4,
        };
        let rows = 64 * candidates.window().words().len() as u64;
        of_look_ups(candidates.count() as usize).min(width * rows)
    }
}

impl Candidates {
    /// A set's bytes, if candidates are bits; else at most a cache line for each candidate.
    fn at_most_a_line_each(&self, bytes: u64) -> u64 {
        match self.rows() {
            CandidateRows::List(list) => bytes.min(of_look_ups(list.len())),
            CandidateRows::Bits { .. } => bytes,
        }
    }
}

/// The bytes of a set within a window.
fn in_window(set: &Posting<'_>, window: RowWindow) -> u64 {
    match set.block(window.block()) {
        BlockRows::Bits(_) => size_of::<u64>() as u64 * window.words().len() as u64,
        listed => window.cut(listed).bytes(),
    }
}
