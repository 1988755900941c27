//! What the dashboard and the metrics show of the nodes.

use std::sync::atomic::Ordering;

use super::Members;
use super::standing::Standing;
use crate::generation::PublishedShard;
use signaldex_server::corpus::{ClusterStatus, NodeStatus, ShardStatus};

impl Members {
    /// The nodes, and who holds which shard of the generation that is served.
    pub(crate) fn status(&self) -> ClusterStatus {
        let (served, held, table) = (
            self.view().generation,
            self.loaded.all(),
            self.table.load_full(),
        );
        let manifest = held.get(&served).map(|held| &held.manifest);
        let shards = manifest.map(|manifest| &manifest.shards[..]);
        let shards = (0..).zip(shards.unwrap_or_default());
        let holders = |number| {
            let generation = table.generations.get(&served);
            generation.map_or(&[][..], |generation| generation.holders(number))
        };
        let shard = |(number, published): (u32, &PublishedShard)| ShardStatus {
            signals: published.signals,
            bytes: published.bytes,
            nodes: holders(number)
                .iter()
                .map(|&node| self.name(node))
                .collect(),
        };
        let nodes = self.lock();
        let known = nodes.iter().enumerate().filter(|(_, node)| node.is_known);
        let known = known.map(|(index, node)| self.node_status(index, node, served));
        let mut known: Vec<NodeStatus> = known.collect();
        known.sort_by(|a, b| a.name.cmp(&b.name));
        ClusterStatus {
            shards: shards.map(shard).collect(),
            nodes: known,
            ..ClusterStatus::default()
        }
    }

    fn node_status(&self, index: usize, standing: &Standing, served: u64) -> NodeStatus {
        let is_own = index == self.own;
        let is_alive = is_own || standing.is_alive();
        let own = is_own.then(|| self.loaded.report());
        let held = own.as_ref().unwrap_or(&standing.announcement.held);
        let held = Some(held).filter(|_| is_alive);
        let shards = held.and_then(|held| held.get(&served));
        let newest = held.and_then(|held| held.keys().next_back());
        NodeStatus {
            name: standing.name.clone(),
            zone: standing.zone.clone(),
            release: standing.announcement.release.clone(),
            is_own,
            is_alive,
            is_slow: standing.is_slow.load(Ordering::Relaxed),
            answered: standing.heard_at.map(|at| at.elapsed()),
            newest: newest.copied().unwrap_or(0),
            shards: shards.map_or(0, Vec::len),
            error: standing.error.clone(),
        }
    }
}
