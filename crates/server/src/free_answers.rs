//! Free answers: counts, filter options and aggregates, counted by key and month but not billed.
//!
//! They are counted in memory and recorded once a second together with charges, so that none waits for
//! a commit. A killed process loses at most those of its last second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::metering::Month;

/// The number of a key, and a month.
pub(super) type KeyMonth = (i64, Month);

/// Answers that are not recorded yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeAnswers(Arc<Mutex<HashMap<KeyMonth, UnrecordedAnswers>>>);

#[derive(Clone, Copy, Debug, Default)]
struct UnrecordedAnswers {
    /// In progress, given, or being recorded; at least 1.
    unrecorded: u64,
    /// The part of them that is given and not yet being recorded.
    given: u64,
}

/// A free answer in progress. It does not count if it is dropped before it is given.
#[derive(Debug)]
pub(super) struct FreeAnswer {
    answers: FreeAnswers,
    of: KeyMonth,
    is_given: bool,
}

impl FreeAnswer {
    /// Counts the answer.
    pub(super) fn give(mut self) {
        self.is_given = true;
        if let Some(counts) = self.answers.lock().get_mut(&self.of) {
            counts.given += 1;
        }
    }
}

impl Drop for FreeAnswer {
    fn drop(&mut self) {
        if !self.is_given {
            self.answers.settle(self.of, 1);
        }
    }
}

impl FreeAnswers {
    /// Reserves an answer. Also returns the number of unrecorded answers of the key and month with it.
    pub(super) fn take(&self, key: i64, month: Month) -> (FreeAnswer, u64) {
        let of = (key, month);
        let mut gathered = self.lock();
        let counts = gathered.entry(of).or_default();
        counts.unrecorded += 1;
        let answer = FreeAnswer {
            answers: self.clone(),
            of,
            is_given: false,
        };
        (answer, counts.unrecorded)
    }

    /// Takes the answers given since the last call. Each number must then be settled or kept.
    pub(super) fn start_recording(&self) -> Vec<(KeyMonth, u64)> {
        let mut gathered = self.lock();
        let given = gathered
            .iter_mut()
            .map(|(&of, counts)| (of, std::mem::take(&mut counts.given)));
        given.filter(|(_, given)| *given > 0).collect()
    }

    /// Removes answers that have been recorded or were not given.
    pub(super) fn settle(&self, of: KeyMonth, answers: u64) {
        let mut gathered = self.lock();
        if let Some(counts) = gathered.get_mut(&of) {
            counts.unrecorded = counts.unrecorded.saturating_sub(answers);
            if counts.unrecorded == 0 {
                gathered.remove(&of);
            }
        }
    }

    /// Takes back answers that could not be recorded.
    pub(super) fn keep(&self, of: KeyMonth, answers: u64) {
        if let Some(counts) = self.lock().get_mut(&of) {
            counts.given += answers;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyMonth, UnrecordedAnswers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
