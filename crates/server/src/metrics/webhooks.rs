//! Metrics of webhooks.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the time of an attempt, in seconds: networks take milliseconds, and none takes more than 15 s.
const TIME_BOUNDS: [f64; 8] = [0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0];

/// The outcomes of attempts.
const ACCEPTED: &str = "accepted";
const FAILED: &str = "failed";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// The metrics of webhooks.
#[derive(Debug)]
pub(crate) struct WebhookMetrics {
    attempts: Family<OutcomeLabels, Counter>,
    seconds: Histogram,
    pub(crate) disabled: Counter,
    pub(crate) under_way: Gauge,
    pub(crate) is_sending: Gauge,
}

impl WebhookMetrics {
    pub(super) fn new() -> WebhookMetrics {
        let attempts = Family::<OutcomeLabels, Counter>::default();
        // An increase is seen only of what was there before.
        for outcome in [ACCEPTED, FAILED] {
            let _ = attempts.get_or_create(&OutcomeLabels { outcome });
        }
        WebhookMetrics {
            attempts,
            seconds: Histogram::new(TIME_BOUNDS),
            disabled: Counter::default(),
            under_way: Gauge::default(),
            is_sending: Gauge::default(),
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "webhook_attempts",
            "Attempts to deliver to webhooks, by outcome",
            self.attempts.clone(),
        );
        registry.register(
            "webhook_attempt_seconds",
            "Time of an attempt to deliver to a webhook",
            self.seconds.clone(),
        );
        registry.register(
            "webhooks_disabled",
            "Webhooks disabled after their last attempt or by status 410",
            self.disabled.clone(),
        );
        registry.register(
            "webhook_attempts_under_way",
            "Searches whose matches are being sent to webhooks",
            self.under_way.clone(),
        );
        registry.register(
            "webhook_lease_held",
            "1 while this process is the one that delivers to webhooks",
            self.is_sending.clone(),
        );
    }

    /// Counts an attempt.
    pub(crate) fn attempted(&self, is_accepted: bool, time: Duration) {
        let outcome = if is_accepted { ACCEPTED } else { FAILED };
        self.attempts
            .get_or_create(&OutcomeLabels { outcome })
            .inc();
        self.seconds.observe(time.as_secs_f64());
    }
}
