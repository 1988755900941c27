//! Records what is counted in memory: free answers, and numbers of requests with their series.

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::free_answers::KeyMonth;
use super::metering::Counter;
use super::service::Service;
use super::state::{Charge, ChargeError, QuotaAlert};

/// Counts in a transaction: some milliseconds' worth.
const RECORDED_AT_ONCE: usize = 500;

impl Service {
    /// Records the free answers (counts, filter options, aggregates) of every key since the last call. Returns when
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

    /// Records the numbers of requests since the last call, some at a time, so that charges wait for none of the
    /// transactions long. What cannot be written is kept for the next call. Blocks.
    pub(super) fn record_requests(&self) {
        let now = self.0.state.now();
        let mut unrecorded = self.0.activity.take_unrecorded();
        while !unrecorded.is_empty() {
            let after = unrecorded.split_off(unrecorded.len().min(RECORDED_AT_ONCE));
            match self.0.state.record_requests(&unrecorded, now) {
                Ok(alerts) => alerts.iter().for_each(|alert| self.tell(alert)),
                Err(error) => {
                    tracing::warn!(
                        error = format_args!("{error:#}"),
                        "counts of requests are kept to be recorded later"
                    );
                    unrecorded.extend(after);
                    return self.0.activity.keep(unrecorded);
                }
            }
            unrecorded = after;
        }
    }

    /// Tells the operator that a key has used a part of a quota.
    fn tell(&self, alert: &QuotaAlert) {
        self.0.metrics.quota_reached(alert.counter, alert.percent);
        tracing::warn!(
            key = alert.key_id,
            key_hint = alert.hint.as_deref(),
            counter = alert.counter.as_str(),
            month = %alert.month,
            percent = alert.percent,
            used = alert.used,
            quota = alert.quota,
            "a key has used a part of its quota"
        );
    }
}
