//! Free answers: counts and filter options, counted by key and month but not billed.
//!
//! They are counted in memory and recorded once a second together with charges, so that none waits for
//! a commit. A killed process loses at most those of its last second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::metering::{Counter, Month};
use super::service::Service;
use super::state::{Charge, ChargeError};

/// The number of a key, and a month.
type KeyMonth = (i64, Month);

/// Answers that are not recorded yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeAnswers(Arc<Mutex<HashMap<KeyMonth, Counts>>>);

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
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
    fn start_recording(&self) -> Vec<(KeyMonth, u64)> {
        let mut gathered = self.lock();
        let given = gathered
            .iter_mut()
            .map(|(&of, counts)| (of, std::mem::take(&mut counts.given)));
        given.filter(|(_, given)| *given > 0).collect()
    }

    /// Removes answers that have been recorded or were not given.
    fn settle(&self, of: KeyMonth, answers: u64) {
        let mut gathered = self.lock();
        if let Some(counts) = gathered.get_mut(&of) {
            counts.unrecorded = counts.unrecorded.saturating_sub(answers);
            if counts.unrecorded == 0 {
                gathered.remove(&of);
            }
        }
    }

    /// Takes back answers that could not be recorded.
    fn keep(&self, of: KeyMonth, answers: u64) {
        if let Some(counts) = self.lock().get_mut(&of) {
            counts.given += answers;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyMonth, Counts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// Records the free answers (counts, filter options) of every key since the last call. Returns when
    /// they are durable, or keeps them for the next call if the state cannot be written. Every five
    /// seconds it also records the numbers of requests. [`maintain`](Service::maintain) calls it once a second, and
    /// before [`close`](Service::close).
    ///
    /// Cost: a commit shared with concurrent charges, or nothing if there is nothing new. Needs a tokio
    /// runtime.
    pub async fn record_free_answers(&self) {
        let mut recording = JoinSet::new();
        for (of, answers) in self.0.free_answers.start_recording() {
            let service = self.clone();
            recording.spawn(async move { service.record(of, answers).await });
        }
        recording.join_all().await;
        if self.0.activity.is_recording_due() {
            let service = self.clone();
            // A failed join would mean that recording has panicked, which the log then shows.
            let _ = tokio::task::spawn_blocking(move || service.record_requests()).await;
        }
    }

    async fn record(&self, of: KeyMonth, answers: u64) {
        let charge = Charge {
            key: of.0,
            month: of.1,
            day: self.0.state.now().date(),
            counter: Counter::FreeAnswers,
            units: answers,
            // The quota was checked when the answer was reserved.
            quota: None,
            kept: None,
            guard: None,
            arrival: None,
        };
        let deadline = Instant::now() + self.0.limits.request_time;
        match self.0.writer.charge(charge, deadline).await {
            // If uncertain, counting too little is better than counting twice.
            Ok(_) | Err(ChargeError::Uncertain) => self.0.free_answers.settle(of, answers),
            Err(error) => {
                tracing::warn!(?error, "free answers are kept to be recorded later");
                self.0.free_answers.keep(of, answers);
            }
        }
    }
}

#[cfg(test)]
mod tests;
