//! What the dashboard and the metrics show of the nodes.

use super::{Members, Standing};
use crate::generation::PublishedShard;
use signaldex_server::corpus::{ClusterStatus, NodeStatus, ShardStatus};

impl Members {
    /// The nodes, and who holds which shard of the generation that is served.
    pub(crate) fn status(&self) -> ClusterStatus {
        let (served, held) = (self.view().generation, self.loaded.all());
        let manifest = held.get(&served).map(|held| &held.manifest);
        let mut others = self.lock().clone();
        if let Some(own) = others.get_mut(self.own) {
            own.held = Some(self.loaded.report());
        }
        let shards = manifest.map(|manifest| &manifest.shards[..]);
        let shards = (0..).zip(shards.unwrap_or_default());
        let shard = |(number, published): (u32, &PublishedShard)| ShardStatus {
            signals: published.signals,
            bytes: published.bytes,
            nodes: (0..others.len())
                .filter(|&node| others[node].holds(served, number))
                .map(|node| self.name(node).to_owned())
                .collect(),
        };
        ClusterStatus {
            shards: shards.map(shard).collect(),
            nodes: (0..)
                .zip(&others)
                .map(|(node, standing)| self.node_status(node, standing, served))
                .collect(),
            certificate_error: None,
        }
    }

    fn node_status(&self, node: usize, standing: &Standing, served: u64) -> NodeStatus {
        let held = standing.held.as_ref();
        let shards = held.and_then(|held| held.get(&served));
        let newest = held.and_then(|held| held.keys().next_back());
        NodeStatus {
            name: self.name(node).to_owned(),
            is_own: node == self.own,
            is_alive: held.is_some(),
            is_slow: standing.is_slow,
            answered: standing.answered_at.map(|at| at.elapsed()),
            newest: newest.copied().unwrap_or(0),
            shards: shards.map_or(0, Vec::len),
            error: standing.error.clone(),
        }
    }
}
