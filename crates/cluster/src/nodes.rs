//! Sends questions to nodes by index; to the own node without the network.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::answer::ShardAnswer;
use super::connections::{Connector, Network, Refusals};
use super::engine::{Peer, PeerFailure};
use super::question::Question;
use super::security::Security;
use super::worker::Worker;
use signaldex::{Result, Snapshot};

/// The nodes of a cluster from one of them.
pub(super) struct Nodes {
    own: usize,
    worker: Worker,
    peers: Peers,
    rows_received: AtomicU64,
}

/// The other nodes, by index. Clones share them.
#[derive(Clone)]
pub(super) struct Peers(Arc<PeersState>);

struct PeersState {
    network: Arc<dyn Network>,
    security: Security,
    refusals: Arc<Refusals>,
    /// `None` for this node, and for those without an address.
    nodes: ArcSwap<Vec<Option<Arc<Peer>>>>,
    /// Locked while one is set.
    setting: Mutex<()>,
}

impl Peers {
    /// No nodes yet.
    pub(super) fn new(network: Arc<dyn Network>, security: &Security) -> Peers {
        Peers(Arc::new(PeersState {
            network,
            security: security.clone(),
            refusals: Arc::default(),
            nodes: ArcSwap::default(),
            setting: Mutex::default(),
        }))
    }

    /// Sets the address of a node. Questions under way to a former one go on.
    pub(super) fn set(&self, node: usize, address: &str) {
        let _setting = self
            .0
            .setting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut nodes = Vec::clone(&self.0.nodes.load());
        if nodes.len() <= node {
            nodes.resize(node + 1, None);
        }
        nodes[node] = Some(Arc::new(Peer::new(Connector {
            address: address.to_owned(),
            network: Arc::clone(&self.0.network),
            security: self.0.security.clone(),
            refusals: Arc::clone(&self.0.refusals),
        })));
        self.0.nodes.store(Arc::new(nodes));
    }

    fn get(&self, node: usize) -> Option<Arc<Peer>> {
        self.0.nodes.load().get(node).cloned().flatten()
    }
}

impl Nodes {
    pub(super) fn new(own: usize, worker: Worker, peers: Peers) -> Nodes {
        Nodes {
            own,
            worker,
            peers,
            rows_received: AtomicU64::new(0),
        }
    }

    /// Sends a question to a node, for a client who waits so long.
    pub(super) async fn ask(
        &self,
        node: usize,
        question: &Question,
        left: Duration,
    ) -> std::result::Result<ShardAnswer, PeerFailure> {
        if node == self.own {
            let answer = self.worker.answer(question).await;
            return answer.map_err(|refusal| PeerFailure::Refused(refusal.status, refusal.reason));
        }
        let unknown = || PeerFailure::Broken(io::ErrorKind::AddrNotAvailable.into());
        let peer = self.peers.get(node).ok_or_else(unknown)?;
        let answer = peer.ask(question, left).await?;
        let rows = answer.row_count() as u64;
        self.rows_received.fetch_add(rows, Ordering::Relaxed);
        Ok(answer)
    }

    /// The plans on other nodes: the index of each node, the age of its plan, and the questions under way.
    pub(super) fn plans(&self) -> Vec<(usize, Duration, usize)> {
        let peers = self.peers.0.nodes.load();
        let plans = peers.iter().enumerate().filter_map(|(node, peer)| {
            let (age, questions) = peer.as_ref()?.plan_status()?;
            Some((node, age, questions))
        });
        plans.collect()
    }

    /// How many questions of nodes this one's worker has refused.
    pub(super) fn shed(&self) -> u64 {
        self.worker.shed()
    }

    /// Shards of this node.
    ///
    /// # Errors
    /// As [`Worker::snapshots`].
    pub(super) fn own_shards(&self, generation: u64, shards: &[u32]) -> Result<Vec<Arc<Snapshot>>> {
        self.worker.snapshots(generation, shards)
    }

    /// Another node.
    pub(super) fn peer(&self, node: usize) -> Option<Arc<Peer>> {
        self.peers.get(node)
    }

    /// How connections are secured.
    pub(super) fn security(&self) -> &Security {
        &self.peers.0.security
    }

    /// The number of rows received from other nodes so far.
    pub(super) fn rows_received(&self) -> u64 {
        self.rows_received.load(Ordering::Relaxed)
    }
}
