//! Metrics of following an object store.

use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::follow_report::Following;

/// The metrics of following a store; all zero where none is followed.
#[derive(Debug, Default)]
pub(crate) struct FollowMetrics {
    followed_generation: Gauge<u64, AtomicU64>,
    follow_reported: Gauge<u64, AtomicU64>,
    follow_failing: Gauge,
    follow_errors: Counter,
    fetched_objects: Counter,
    fetched_bytes: Counter,
}

impl FollowMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "followed_generation",
            "Newest generation known to be published, where a store is followed",
            self.followed_generation.clone(),
        );
        registry.register(
            "follow_reported_timestamp_seconds",
            "When the store was last checked, in seconds since 1970",
            self.follow_reported.clone(),
        );
        registry.register(
            "follow_failing",
            "1 while the newest generation cannot be loaded",
            self.follow_failing.clone(),
        );
        registry.register(
            "follow_errors",
            "Attempts to follow the store that failed",
            self.follow_errors.clone(),
        );
        registry.register(
            "fetched_objects",
            "Objects fetched from the store",
            self.fetched_objects.clone(),
        );
        registry.register(
            "fetched_bytes",
            "Bytes fetched from the store",
            self.fetched_bytes.clone(),
        );
    }

    /// Adds what a look at the store has found.
    pub(crate) fn followed(&self, report: &Following) {
        let is_failing = report.error.is_some();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        self.follow_reported
            .set(now.map_or(0, |time| time.as_secs()));
        self.followed_generation.set(report.newest);
        self.follow_failing.set(is_failing.into());
        self.follow_errors.inc_by(is_failing.into());
        self.fetched_objects.inc_by(report.objects_fetched);
        self.fetched_bytes.inc_by(report.bytes_fetched);
    }
}
