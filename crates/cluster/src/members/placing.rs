//! Which nodes are to hold which shards, computed once for each number of shards.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::known_nodes::KnownNode;
use crate::placement::holders;

/// The places of shards among the known nodes, alive or not.
#[derive(Debug, Default)]
pub(crate) struct Placing {
    own: usize,
    replicas: usize,
    /// The indices of the nodes that are known, and the nodes.
    pub(super) nodes: Vec<(usize, KnownNode)>,
    /// By number of shards.
    computed: Mutex<HashMap<u32, Arc<Vec<Vec<usize>>>>>,
}

/// Numbers of shards that are remembered: that of the corpus, and former ones.
const COMPUTED_MAX: usize = 4;

impl Placing {
    pub(super) fn new(own: usize, replicas: usize, nodes: Vec<(usize, KnownNode)>) -> Placing {
        Placing {
            own,
            replicas,
            nodes,
            computed: Mutex::default(),
        }
    }

    /// The nodes of each shard, first choice first.
    pub(super) fn of(&self, shards: u32) -> Arc<Vec<Vec<usize>>> {
        let mut computed = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = computed.get(&shards) {
            return Arc::clone(found);
        }
        if computed.len() >= COMPUTED_MAX {
            computed.clear();
        }
        let nodes = self.nodes.iter().map(|(_, node)| node);
        let nodes: Vec<(&str, &str)> = nodes
            .map(|node| (node.name.as_str(), node.zone.as_str()))
            .collect();
        let index = |node: usize| self.nodes[node].0;
        let of_shard = |shard| holders(shard, shards, &nodes, self.replicas);
        let places = (0..shards).map(|shard| of_shard(shard).into_iter().map(index).collect());
        let places = Arc::new(places.collect());
        computed.insert(shards, Arc::clone(&places));
        places
    }

    /// Whether this node is to hold a shard.
    pub(crate) fn is_own(&self, shard: u32, shards: u32) -> bool {
        let places = self.of(shards);
        let nodes = places.get(shard as usize);
        nodes.is_some_and(|nodes| nodes.contains(&self.own))
    }
}
