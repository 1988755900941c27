//! Sends questions to nodes by index; to the own node without the network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::answer::{HeldShards, ShardAnswer};
use super::connections::{Connection, Refusals};
use super::messages::{ReplyStatus, message};
use super::peer::{Peer, PeerFailure};
use super::question::{Question, ShardRequest};
use super::security::Security;
use super::worker::Worker;
use signaldex::Result;

/// The nodes of a cluster from one of them.
pub(super) struct Nodes {
    own: usize,
    worker: Worker,
    security: Security,
    /// By index.
    peers: Vec<Peer>,
    rows_received: AtomicU64,
}

impl Nodes {
    /// # Errors
    /// Other nodes would refuse the certificate at the node's own address.
    pub(super) fn new(
        addresses: &[String],
        security: &Security,
        own: usize,
        worker: Worker,
    ) -> Result<Nodes> {
        if let Some(address) = addresses.get(own) {
            security.check_address(address)?;
        }
        let refusals = Arc::new(Refusals::default());
        let peer = |address: &String| Peer::new(address, security, &refusals);
        Ok(Nodes {
            own,
            worker,
            security: security.clone(),
            peers: addresses.iter().map(peer).collect(),
            rows_received: AtomicU64::new(0),
        })
    }

    /// Sends a question to a node.
    pub(super) async fn ask(
        &self,
        node: usize,
        question: &Question,
    ) -> Result<ShardAnswer, PeerFailure> {
        if node == self.own {
            let answer = self.worker.answer(question).await;
            return answer.map_err(|refusal| PeerFailure::Refused(refusal.status, refusal.reason));
        }
        let answer = self.peers[node].ask(&encoded(question)?).await?;
        let rows = answer.row_count() as u64;
        self.rows_received.fetch_add(rows, Ordering::Relaxed);
        Ok(answer)
    }

    /// Requests the loaded shards of another node over a separate connection.
    pub(super) async fn loaded_shards(
        &self,
        node: usize,
        kept: &mut Option<Connection>,
    ) -> Result<HeldShards, PeerFailure> {
        let question = Question {
            generation: 0,
            shards: Vec::new(),
            wanted: Arc::new(ShardRequest::LoadedShards),
        };
        match self.peers[node]
            .ask_over(kept, &encoded(&question)?)
            .await?
        {
            ShardAnswer::LoadedShards(held) => Ok(held),
            _ => Err(PeerFailure::Refused(
                ReplyStatus::Failed,
                "it answered a different question".to_owned(),
            )),
        }
    }

    /// How connections are secured.
    pub(super) fn security(&self) -> &Security {
        &self.security
    }

    /// Closes the unused connections to a node.
    pub(super) fn forget_idle(&self, node: usize) {
        self.peers[node].forget_idle();
    }

    /// The number of rows received from other nodes so far.
    pub(super) fn rows_received(&self) -> u64 {
        self.rows_received.load(Ordering::Relaxed)
    }
}

fn encoded(question: &Question) -> Result<Vec<u8>, PeerFailure> {
    let bytes = question.encode();
    let bytes =
        bytes.map_err(|error| PeerFailure::Refused(ReplyStatus::Invalid, error.to_string()))?;
    Ok(message(|output| output.extend(bytes)))
}
