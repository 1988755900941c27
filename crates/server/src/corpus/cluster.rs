//! What a node of a cluster knows of all nodes and shards, for the dashboard and the metrics.

use std::time::Duration;

/// The nodes and the shards of the generation that is served.
#[derive(Debug, Default)]
pub struct ClusterStatus {
    /// By name.
    pub nodes: Vec<NodeStatus>,
    /// By number.
    pub shards: Vec<ShardStatus>,
    /// Why the node that reports uses its former certificate instead of the one in its files; `None` if it does not.
    pub certificate_error: Option<String>,
    /// The plans of the node that reports on others.
    pub plans: Vec<PlanStatus>,
    /// Questions that were asked again after a failure, since the node that reports started.
    pub retried: u64,
    /// Questions that were asked of replicas as well, because a node was slow.
    pub hedged: u64,
    /// Queries of clients, and questions of nodes, that were refused because too much was under way.
    pub shed: u64,
}

/// A standing plan, over which one node asks another.
#[derive(Debug)]
pub struct PlanStatus {
    /// The name of the node that is asked.
    pub node: String,
    /// How long ago it was started.
    pub age: Duration,
    /// Questions that wait for their answers.
    pub questions: usize,
}

/// A node, as the one that reports sees it.
#[derive(Debug)]
pub struct NodeStatus {
    /// The name of its configuration.
    pub name: String,
    /// Where it stands; empty if it does not say.
    pub zone: String,
    /// The release of its program; empty until it has said.
    pub release: String,
    /// Whether it is the node that reports.
    pub is_own: bool,
    /// Whether it answers.
    pub is_alive: bool,
    /// Whether others are asked first until the next signs of life.
    pub is_slow: bool,
    /// How long ago it last gave a sign of life; `None` for the node that reports, and for one that never did.
    pub answered: Option<Duration>,
    /// The newest generation that it holds; 0 where it holds none or counts as dead.
    pub newest: u64,
    /// How many shards of the generation that is served it holds.
    pub shards: usize,
    /// Why it counts as dead.
    pub error: Option<String>,
}

/// A shard of the generation that is served.
#[derive(Debug)]
pub struct ShardStatus {
    /// The number of its signals.
    pub signals: u64,
    /// The size of its files.
    pub bytes: u64,
    /// The names of the nodes that can be asked for it.
    pub nodes: Vec<String>,
}
