//! What a node of a cluster knows of all nodes and shards, for the dashboard and the metrics.

use std::time::Duration;

/// The nodes and the shards of the generation that is served.
#[derive(Debug, Default)]
pub(crate) struct ClusterStatus {
    pub(crate) nodes: Vec<NodeStatus>,
    /// By number.
    pub(crate) shards: Vec<ShardStatus>,
}

/// A node, as the one that reports sees it.
#[derive(Debug)]
pub(crate) struct NodeStatus {
    pub(crate) name: String,
    /// Whether it is the node that reports.
    pub(crate) is_own: bool,
    pub(crate) is_alive: bool,
    /// Whether others are asked first until it answers the next look.
    pub(crate) is_slow: bool,
    /// How long ago it last answered a look; `None` for the node that reports, and for one that never did.
    pub(crate) answered: Option<Duration>,
    /// The newest generation that it holds; 0 where it holds none or counts as dead.
    pub(crate) newest: u64,
    /// How many shards of the generation that is served it holds.
    pub(crate) shards: usize,
    /// Why it counts as dead.
    pub(crate) error: Option<String>,
}

/// A shard of the generation that is served.
#[derive(Debug)]
pub(crate) struct ShardStatus {
    pub(crate) signals: u64,
    pub(crate) bytes: u64,
    /// The names of the nodes that can be asked for it.
    pub(crate) nodes: Vec<String>,
}
