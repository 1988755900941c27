//! Free answers: counts and filter options, counted by key and month but not billed.
//!
//! They are gathered in memory and recorded once a second with the charges of that time, so that
//! none waits for a commit. A process that is killed loses at most those of its last second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::UtcDateTime;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use super::metering::{Counter, Month};
use super::service::Service;
use super::state::{Charge, ChargeError};

/// How often what was gathered is recorded.
const RECORD_INTERVAL: Duration = Duration::from_secs(1);

/// The number of a key, and a month.
type KeyMonth = (i64, Month);

/// Answers that are not recorded yet. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeAnswers(Arc<Mutex<HashMap<KeyMonth, Counts>>>);

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Under way, given, or being recorded; at least 1.
    unrecorded: u64,
    /// Of those, given and not yet being recorded.
    given: u64,
}

/// A free answer under way. Dropped before it is given, it does not count.
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
    /// Takes an answer, and says how many of the key and month are unrecorded with it.
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

    /// All that were given since the last call. Each number has to be settled or given again.
    fn start_recording(&self) -> Vec<(KeyMonth, u64)> {
        let mut gathered = self.lock();
        let given = gathered
            .iter_mut()
            .map(|(&of, counts)| (of, std::mem::take(&mut counts.given)));
        given.filter(|(_, given)| *given > 0).collect()
    }

    /// Some answers are recorded, or were not given.
    fn settle(&self, of: KeyMonth, answers: u64) {
        let mut gathered = self.lock();
        if let Some(counts) = gathered.get_mut(&of) {
            counts.unrecorded = counts.unrecorded.saturating_sub(answers);
            if counts.unrecorded == 0 {
                gathered.remove(&of);
            }
        }
    }

    /// Some answers could not be recorded and are kept.
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
    /// Records the free answers (counts, filter options) of every key since the last call, and returns
    /// when they are durable, or are kept for the next call because the state cannot be written. Every
    /// five seconds it also records how many requests were answered. Call it once a second, and before [`close`](Service::close); [`Server`](super::Server) does both.
    ///
    /// Cost: the commits that charges of the same time share; none where there is nothing new. Needs
    /// a tokio runtime.
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
            day: UtcDateTime::now().date(),
            counter: Counter::FreeAnswers,
            units: answers,
            // The quota was asked when the answer was taken.
            quota: None,
            kept: None,
            guard: None,
        };
        let deadline = Instant::now() + self.0.limits.request_time;
        match self.0.writer.charge(charge, deadline).await {
            // What is uncertain is rather not counted than counted twice.
            Ok(_) | Err(ChargeError::Uncertain) => self.0.free_answers.settle(of, answers),
            Err(error) => {
                tracing::warn!(?error, "free answers are kept to be recorded later");
                self.0.free_answers.keep(of, answers);
            }
        }
    }
}

/// Records free answers once a second, and once more when `stop` is sent or dropped.
pub(super) async fn record_all(service: Service, mut stop: oneshot::Receiver<()>) {
    let mut tick = tokio::time::interval(RECORD_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_over = false;
    while !is_over {
        tokio::select! {
            _ = tick.tick() => {}
            _ = &mut stop => is_over = true,
        }
        service.record_free_answers().await;
    }
}

#[cfg(test)]
mod tests;
