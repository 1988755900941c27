//! The first changed signals of all segments, from which changes are decided.

use crate::index::result_page::RowAddress;
use crate::segment::ChangeOffset;

/// A changed or deleted signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangedSignal {
    pub(super) offset: ChangeOffset,
    pub(super) state: SignalState,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum SignalState {
    Live(RowAddress),
    Deleted { first_commit: u64 },
}

/// Collects the first candidates.
pub(super) struct FirstCandidates {
    length: usize,
    /// Candidates after this are not among the first.
    pub(super) bound: ChangeOffset,
    /// The first candidates and others, at most twice as many.
    candidates: Vec<ChangedSignal>,
}

impl FirstCandidates {
    pub(super) fn new(length: usize, end: ChangeOffset) -> FirstCandidates {
        FirstCandidates {
            length,
            bound: end,
            candidates: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, offset: ChangeOffset, state: SignalState) {
        if offset > self.bound {
            return;
        }
        self.candidates.push(ChangedSignal { offset, state });
        // Cut at twice the length, so that selecting takes constant time per candidate on average.
        if self.candidates.len() == 2 * self.length {
            self.cut();
        }
    }

    /// Removes all but the first ones.
    fn cut(&mut self) {
        if self.candidates.len() > self.length {
            let last = self.length - 1;
            let (_, last, _) = self
                .candidates
                .select_nth_unstable_by_key(last, |candidate| candidate.offset);
            // As many candidates are at or before it, so later ones are not among the first.
            self.bound = last.offset;
            self.candidates.truncate(self.length);
        }
    }

    pub(super) fn into_sorted(mut self) -> Vec<ChangedSignal> {
        self.cut();
        self.candidates
            .sort_unstable_by_key(|candidate| candidate.offset);
        self.candidates
    }
}
