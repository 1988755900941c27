//! The shards of one generation as statements of SQL see them: those of this node, and by node those elsewhere.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result as EngineResult, exec_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::{Stream, StreamExt, stream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::engine::{OWN_RELEASE, Peer, PeerFailure, ScanMessage};
use super::members::{Members, NodeTask};
use super::nodes::Nodes;
use signaldex::{Error, Result, Snapshot};

/// Batches that wait for their reader.
const BATCHES_AHEAD: usize = 2;

/// All shards of one generation; [`Node::shards`](crate::Node::shards) makes it.
#[derive(Clone)]
pub struct NodeShards {
    /// The generation.
    pub generation: u64,
    /// The shards that this node answers for.
    pub here: Vec<Arc<Snapshot>>,
    /// All others.
    pub elsewhere: Vec<ShardsElsewhere>,
}

/// Shards that another node is asked about.
#[derive(Clone)]
pub struct ShardsElsewhere {
    name: String,
    node: String,
    asked: ScanMessage,
    peer: Arc<Peer>,
    runtime: Handle,
}

impl NodeShards {
    pub(super) fn new(members: &Members, nodes: &Nodes, runtime: &Handle) -> Result<NodeShards> {
        let generation = members.view().generation;
        let tasks = members.assign_scans(generation).map_err(Error::missing)?;
        let mut shards = NodeShards {
            generation,
            here: Vec::new(),
            elsewhere: Vec::new(),
        };
        for task in tasks {
            if task.node == members.own() {
                shards.here = nodes.own_shards(generation, &task.shards)?;
            } else {
                let elsewhere = ShardsElsewhere::new(members, nodes, generation, task, runtime)?;
                shards.elsewhere.push(elsewhere);
            }
        }
        Ok(shards)
    }
}

impl ShardsElsewhere {
    fn new(
        members: &Members,
        nodes: &Nodes,
        generation: u64,
        task: NodeTask,
        runtime: &Handle,
    ) -> Result<ShardsElsewhere> {
        let node = members.name(task.node);
        let peer = nodes.peer(task.node);
        let peer = peer.ok_or_else(|| Error::missing(format!("node {node} has no address yet")))?;
        let address = members.address(task.node);
        let numbers: Vec<String> = task.shards.iter().map(u32::to_string).collect();
        Ok(ShardsElsewhere {
            name: format!(
                "node {node} at {address}: shards {} of generation {generation}",
                numbers.join(", ")
            ),
            node,
            asked: ScanMessage {
                release: Some(OWN_RELEASE.to_owned()),
                generation: Some(generation),
                shards: task.shards,
                ..ScanMessage::default()
            },
            peer,
            runtime: runtime.clone(),
        })
    }

    /// The node, its address, the shards and their generation, in words.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rows of a scan, of these columns, for a reader who waits so long. The node is asked once they are taken, over a
    /// connection that ends with the stream. An error names the node; nothing is asked again.
    pub fn rows(
        &self,
        scan: Vec<u8>,
        schema: SchemaRef,
        left: Duration,
    ) -> SendableRecordBatchStream {
        let (shards, columns) = (self.clone(), Arc::clone(&schema));
        let asked = ScanMessage {
            scan: Some(scan),
            milliseconds_left: u64::try_from(left.as_millis()).ok(),
            ..self.asked.clone()
        };
        let rows = stream::once(async move { shards.received(asked, columns) });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.flatten()))
    }

    /// What a task of the node's own threads receives: those of a statement may be computing for long.
    fn received(
        self,
        asked: ScanMessage,
        schema: SchemaRef,
    ) -> impl Stream<Item = EngineResult<RecordBatch>> + Send {
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let (runtime, mut task) = (self.runtime.clone(), JoinSet::new());
        task.spawn_on(self.receive(asked, schema, sender), &runtime);
        stream::unfold(Some((batches, task)), |receiving| async move {
            let (mut batches, mut task) = receiving?;
            match batches.recv().await {
                Some(Ok(batch)) => Some((Ok(batch), Some((batches, task)))),
                Some(Err(error)) => Some((Err(error), None)),
                // The end, unless the task has panicked.
                None => match task.join_next().await {
                    Some(Ok(())) => None,
                    _ => Some((Err(exec_datafusion_err!("a scan has ended early")), None)),
                },
            }
        })
    }

    async fn receive(
        self,
        asked: ScanMessage,
        schema: SchemaRef,
        sender: mpsc::Sender<EngineResult<RecordBatch>>,
    ) {
        let failed = |error: DataFusionError| {
            let reason = error.strip_backtrace();
            let named = Error::missing(format!("node {}: {reason}", self.node));
            Err(DataFusionError::External(Box::new(named)))
        };
        let mut rows = match self.peer.scan(asked, schema).await.map_err(in_words) {
            Ok(rows) => rows,
            Err(error) => {
                let _ = sender.send(failed(error)).await;
                return;
            }
        };
        // Ends with the rows, at an error, or when nobody takes them.
        while let Some(batch) = rows.next().await {
            let batch = batch.or_else(failed);
            let has_failed = batch.is_err();
            if sender.send(batch).await.is_err() || has_failed {
                return;
            }
        }
    }
}

fn in_words(failure: PeerFailure) -> DataFusionError {
    match failure {
        PeerFailure::Dead(error) | PeerFailure::Broken(error) => {
            exec_datafusion_err!("it cannot be reached: {error}")
        }
        PeerFailure::Refused(_, reason) => exec_datafusion_err!("{reason}"),
    }
}

impl fmt::Debug for NodeShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeShards")
            .field("generation", &self.generation)
            .field("here", &self.here.len())
            .field("elsewhere", &self.elsewhere)
            .finish()
    }
}

impl fmt::Debug for ShardsElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
