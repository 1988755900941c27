//! Metrics: counters and gauges in the text format of Prometheus.

mod cluster;
mod following;
mod process;
mod webhooks;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// Upper bounds of latencies in seconds: index work takes microseconds, a commit milliseconds.
const LATENCY_BOUNDS: [f64; 12] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    endpoint: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LatencyLabels {
    endpoint: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CounterLabels {
    counter: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QuotaLabels {
    counter: &'static str,
    percent: u64,
}

/// Every metric.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    latencies: Family<LatencyLabels, Histogram>,
    charged: Family<CounterLabels, Counter>,
    quota_alerts: Family<QuotaLabels, Counter>,
    pub(crate) rows_checked: Counter,
    pub(crate) replays: Counter,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) connections_too_slow: Counter,
    pub(crate) unsent_bytes: Gauge<u64, AtomicU64>,
    pub(crate) unsent_refused: Counter,
    pub(crate) charge_queue: Gauge,
    pub(crate) charge_thread_failures: Counter,
    kept_bytes: Gauge<u64, AtomicU64>,
    kept_bytes_max: Gauge<u64, AtomicU64>,
    pub(crate) state_reads_waiting: Gauge,
    pub(crate) state_reads_refused: Counter,
    pub(crate) exports_under_way: Gauge,
    pub(crate) exports_broken_off: Counter,
    pub(crate) expensive_queries: Counter,
    pub(crate) expensive_queries_refused: Counter,
    pub(crate) log_lines_dropped: Counter,
    pub(crate) request_log_dropped: Counter,
    pub(crate) generation: Gauge<u64, AtomicU64>,
    pub(crate) index_damaged: Gauge,
    pub(crate) webhooks: webhooks::WebhookMetrics,
    pub(crate) following: following::FollowMetrics,
    pub(crate) cluster: cluster::ClusterMetrics,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let latencies =
            Family::<LatencyLabels, Histogram, fn() -> Histogram>::new_with_constructor(|| {
                Histogram::new(LATENCY_BOUNDS)
            });
        let metrics = Metrics {
            registry: Mutex::default(),
            requests: Family::default(),
            latencies,
            charged: Family::default(),
            quota_alerts: Family::default(),
            rows_checked: Counter::default(),
            replays: Counter::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            connections_too_slow: Counter::default(),
            unsent_bytes: Gauge::default(),
            unsent_refused: Counter::default(),
            charge_queue: Gauge::default(),
            charge_thread_failures: Counter::default(),
            kept_bytes: Gauge::default(),
            kept_bytes_max: Gauge::default(),
            state_reads_waiting: Gauge::default(),
            state_reads_refused: Counter::default(),
            exports_under_way: Gauge::default(),
            exports_broken_off: Counter::default(),
            expensive_queries: Counter::default(),
            expensive_queries_refused: Counter::default(),
            log_lines_dropped: Counter::default(),
            request_log_dropped: Counter::default(),
            generation: Gauge::default(),
            index_damaged: Gauge::default(),
            webhooks: webhooks::WebhookMetrics::new(),
            following: following::FollowMetrics::default(),
            cluster: cluster::ClusterMetrics::default(),
        };
        // An increase is seen only of what was there before.
        for counter in super::metering::Counter::ALL.map(super::metering::Counter::as_str) {
            for percent in super::state::TOLD_AT {
                let labels = QuotaLabels { counter, percent };
                let _ = metrics.quota_alerts.get_or_create(&labels);
            }
        }
        metrics.register();
        metrics
    }

    fn register(&self) {
        let mut all = Registry::default();
        all.register_collector(Box::new(process::Process));
        let registry = all.sub_registry_with_prefix("signaldex");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of the program", version);
        self.register_requests(registry);
        self.register_work(registry);
        self.following.register(registry);
        self.cluster.register(registry);
        self.webhooks.register(registry);
        if let Ok(mut current) = self.registry.lock() {
            *current = all;
        }
    }

    fn register_requests(&self, registry: &mut Registry) {
        registry.register(
            "requests",
            "Answers, by endpoint and status",
            self.requests.clone(),
        );
        registry.register(
            "request_seconds",
            "Time to an answer's first byte, by endpoint and class of status",
            self.latencies.clone(),
        );
        registry.register(
            "requests_in_flight",
            "Requests under way",
            self.in_flight.clone(),
        );
        registry.register("connections", "Connections open", self.connections.clone());
        registry.register(
            "connections_refused",
            "Connections over the bound",
            self.connections_refused.clone(),
        );
        registry.register(
            "connections_too_slow",
            "Connections ended because their clients read too slowly",
            self.connections_too_slow.clone(),
        );
        registry.register(
            "unsent_bytes",
            "Bytes of answers that are not sent yet",
            self.unsent_bytes.clone(),
        );
        registry.register(
            "unsent_refused",
            "Answers refused because too many bytes are not sent yet",
            self.unsent_refused.clone(),
        );
    }

    fn register_work(&self, registry: &mut Registry) {
        registry.register(
            "charged_units",
            "Units charged, by counter",
            self.charged.clone(),
        );
        registry.register(
            "quota_alerts",
            "Quotas of which a key has used a part, by counter and percent",
            self.quota_alerts.clone(),
        );
        registry.register(
            "rows_checked",
            "Rows checked individually",
            self.rows_checked.clone(),
        );
        registry.register(
            "replays",
            "Answers repeated for an idempotency key",
            self.replays.clone(),
        );
        registry.register(
            "charge_queue",
            "Charges waiting for a commit",
            self.charge_queue.clone(),
        );
        registry.register(
            "charge_thread_failures",
            "Failures of the thread that writes charges; it is restarted each time",
            self.charge_thread_failures.clone(),
        );
        registry.register(
            "kept_bytes",
            "Bytes kept for idempotency keys, in the state file",
            self.kept_bytes.clone(),
        );
        registry.register(
            "kept_bytes_max",
            "Bytes that may be kept for idempotency keys",
            self.kept_bytes_max.clone(),
        );
        registry.register(
            "state_reads_waiting",
            "Reads of the state that wait for a thread",
            self.state_reads_waiting.clone(),
        );
        registry.register(
            "state_reads_refused",
            "Reads of the state that did not end in time",
            self.state_reads_refused.clone(),
        );
        registry.register(
            "exports_under_way",
            "Exports under way",
            self.exports_under_way.clone(),
        );
        registry.register(
            "exports_broken_off",
            "Exports that ended before their last signal",
            self.exports_broken_off.clone(),
        );
        registry.register(
            "expensive_queries",
            "Queries for the pool of expensive ones",
            self.expensive_queries.clone(),
        );
        registry.register(
            "expensive_queries_refused",
            "Expensive queries that did not get their turn",
            self.expensive_queries_refused.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Log lines that could not be written",
            self.log_lines_dropped.clone(),
        );
        registry.register(
            "request_log_dropped",
            "Requests that could not be written to their log",
            self.request_log_dropped.clone(),
        );
        registry.register(
            "snapshot_generation",
            "Generation of the snapshot",
            self.generation.clone(),
        );
        registry.register(
            "index_damaged",
            "1 while a file of the index is known to be damaged or was overwritten",
            self.index_damaged.clone(),
        );
    }

    /// Sets how many bytes are kept for idempotency keys, and how many may be.
    pub(crate) fn set_kept(&self, bytes: u64, bytes_max: u64) {
        self.kept_bytes.set(bytes);
        self.kept_bytes_max.set(bytes_max);
    }

    pub(crate) fn answered(&self, endpoint: &'static str, status: u16, time: Duration) {
        self.requests
            .get_or_create(&RequestLabels { endpoint, status })
            .inc();
        let class = class_of(status);
        self.latencies
            .get_or_create(&LatencyLabels { endpoint, class })
            .observe(time.as_secs_f64());
    }

    /// Counts that a key has used a part of a quota.
    pub(crate) fn quota_reached(&self, counter: super::metering::Counter, percent: u64) {
        let counter = counter.as_str();
        self.quota_alerts
            .get_or_create(&QuotaLabels { counter, percent })
            .inc();
    }

    /// Sets the number of units that this process has charged.
    pub(crate) fn charged(&self, counter: super::metering::Counter, units: u64) {
        self.charged
            .get_or_create(&CounterLabels {
                counter: counter.as_str(),
            })
            .inner()
            .store(units, Ordering::Relaxed);
    }

    /// All metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if let Ok(registry) = self.registry.lock() {
            // Writing to a string cannot fail.
            let _ = encode(&mut text, &registry);
        }
        text
    }
}

/// The class of a status. Refusals take microseconds, and would hide what answers take.
fn class_of(status: u16) -> &'static str {
    match status {
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
        _ => "1xx",
    }
}
