//! Metrics: counters and gauges in the text format of Prometheus.

mod process;
mod webhooks;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::corpus::ClusterStatus;

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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    node: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeInfoLabels {
    node: String,
    zone: String,
    release: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: String,
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
    followed_generation: Gauge<u64, AtomicU64>,
    follow_reported: Gauge<u64, AtomicU64>,
    follow_failing: Gauge,
    follow_errors: Counter,
    fetched_objects: Counter,
    fetched_bytes: Counter,
    node_alive: Family<NodeLabels, Gauge>,
    node_generation: Family<NodeLabels, Gauge<u64, AtomicU64>>,
    node_info: Family<NodeInfoLabels, Gauge>,
    shards_unavailable: Gauge,
    certificate_refused: Family<ReasonLabels, Gauge>,
    plan_age: Family<NodeLabels, Gauge<u64, AtomicU64>>,
    questions: Family<NodeLabels, Gauge<u64, AtomicU64>>,
    questions_retried: Counter,
    questions_hedged: Counter,
    questions_shed: Counter,
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
            followed_generation: Gauge::default(),
            follow_reported: Gauge::default(),
            follow_failing: Gauge::default(),
            follow_errors: Counter::default(),
            fetched_objects: Counter::default(),
            fetched_bytes: Counter::default(),
            node_alive: Family::default(),
            node_generation: Family::default(),
            node_info: Family::default(),
            shards_unavailable: Gauge::default(),
            certificate_refused: Family::default(),
            plan_age: Family::default(),
            questions: Family::default(),
            questions_retried: Counter::default(),
            questions_hedged: Counter::default(),
            questions_shed: Counter::default(),
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
        self.register_following(registry);
        self.register_cluster(registry);
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

    fn register_following(&self, registry: &mut Registry) {
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

    fn register_cluster(&self, registry: &mut Registry) {
        registry.register(
            "cluster_node_alive",
            "Whether a node answers this one; 1 for itself",
            self.node_alive.clone(),
        );
        registry.register(
            "cluster_node_generation",
            "Newest generation that a node holds, 0 while it does not answer",
            self.node_generation.clone(),
        );
        registry.register(
            "cluster_node_info",
            "The zone and the release of a node, always 1",
            self.node_info.clone(),
        );
        registry.register(
            "cluster_shards_unavailable",
            "Shards that no node answers for",
            self.shards_unavailable.clone(),
        );
        registry.register(
            "cluster_certificate_refused",
            "1 while the node uses its former certificate, because the files of the new one were refused",
            self.certificate_refused.clone(),
        );
        registry.register(
            "cluster_plan_age_seconds",
            "Age of the plan over which this node asks another",
            self.plan_age.clone(),
        );
        registry.register(
            "cluster_questions",
            "Questions that wait for the answer of a node",
            self.questions.clone(),
        );
        registry.register(
            "cluster_questions_retried",
            "Questions asked again after a failure",
            self.questions_retried.clone(),
        );
        registry.register(
            "cluster_questions_hedged",
            "Questions asked of replicas as well, because a node was slow",
            self.questions_hedged.clone(),
        );
        registry.register(
            "cluster_shed",
            "Queries of clients and questions of nodes refused because too much was under way",
            self.questions_shed.clone(),
        );
    }

    /// Sets what is known of the nodes of a cluster.
    pub(crate) fn of_cluster(&self, cluster: &ClusterStatus) {
        // Nodes come and go, and change both.
        self.node_alive.clear();
        self.node_generation.clear();
        self.node_info.clear();
        for node in &cluster.nodes {
            let labels = NodeLabels {
                node: node.name.clone(),
            };
            let alive = self.node_alive.get_or_create(&labels);
            alive.set(node.is_alive.into());
            let generation = self.node_generation.get_or_create(&labels);
            generation.set(node.newest);
            let labels = NodeInfoLabels {
                node: node.name.clone(),
                zone: node.zone.clone(),
                release: node.release.clone(),
            };
            self.node_info.get_or_create(&labels).set(1);
        }
        let shards = cluster.shards.iter();
        let unavailable = shards.filter(|shard| shard.nodes.is_empty()).count();
        self.shards_unavailable
            .set(i64::try_from(unavailable).unwrap_or(i64::MAX));
        self.of_plans(cluster);
        self.certificate_refused.clear();
        if let Some(reason) = &cluster.certificate_error {
            let labels = ReasonLabels {
                reason: reason.clone(),
            };
            self.certificate_refused.get_or_create(&labels).set(1);
        }
    }

    fn of_plans(&self, cluster: &ClusterStatus) {
        self.plan_age.clear();
        self.questions.clear();
        for plan in &cluster.plans {
            let labels = NodeLabels {
                node: plan.node.clone(),
            };
            let age = self.plan_age.get_or_create(&labels);
            age.set(plan.age.as_secs());
            let questions = self.questions.get_or_create(&labels);
            questions.set(plan.questions as u64);
        }
        for (counter, total) in [
            (&self.questions_retried, cluster.retried),
            (&self.questions_hedged, cluster.hedged),
            (&self.questions_shed, cluster.shed),
        ] {
            counter.inc_by(total.saturating_sub(counter.get()));
        }
    }

    /// Sets how many bytes are kept for idempotency keys, and how many may be.
    pub(crate) fn set_kept(&self, bytes: u64, bytes_max: u64) {
        self.kept_bytes.set(bytes);
        self.kept_bytes_max.set(bytes_max);
    }

    pub(crate) fn followed(&self, report: &super::follow_report::Following) {
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
