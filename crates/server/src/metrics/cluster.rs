//! Metrics of a cluster: its nodes, its shards, and the questions between nodes.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::corpus::ClusterStatus;

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

/// The metrics of a cluster; those of nodes have no sample elsewhere.
#[derive(Debug, Default)]
pub(crate) struct ClusterMetrics {
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

impl ClusterMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
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
    pub(crate) fn set(&self, cluster: &ClusterStatus) {
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
}
