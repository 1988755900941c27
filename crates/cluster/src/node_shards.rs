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

use super::coordinator::Coordinator;
use super::engine::{OWN_RELEASE, PeerFailure, ScanMessage};
use super::leases::Lease;
use super::members::NodeTask;
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
    /// The index of the node.
    node: usize,
    asked: ScanMessage,
    coordinator: Arc<Coordinator>,
    runtime: Handle,
}

/// Keeps a generation at all nodes until it is dropped, for an hour at most.
pub struct KeptShards {
    _lease: Option<Lease>,
}

impl NodeShards {
    pub(super) fn new(coordinator: &Arc<Coordinator>, runtime: &Handle) -> Result<NodeShards> {
        let (members, nodes) = (coordinator.members(), coordinator.nodes());
        let generation = members.view().generation;
        let tasks = members.assign_scans(generation, None, &[]);
        let mut shards = NodeShards {
            generation,
            here: Vec::new(),
            elsewhere: Vec::new(),
        };
        for task in tasks.map_err(Error::missing)? {
            if task.node == members.own() {
                shards.here = nodes.own_shards(generation, &task.shards)?;
            } else {
                let elsewhere = ShardsElsewhere::new(coordinator, generation, task, runtime)?;
                shards.elsewhere.push(elsewhere);
            }
        }
        Ok(shards)
    }
}

impl ShardsElsewhere {
    fn new(
        coordinator: &Arc<Coordinator>,
        generation: u64,
        task: NodeTask,
        runtime: &Handle,
    ) -> Result<ShardsElsewhere> {
        let members = coordinator.members();
        let node = members.name(task.node);
        if coordinator.nodes().peer(task.node).is_none() {
            return Err(Error::missing(format!("node {node} has no address yet")));
        }
        let address = members.address(task.node);
        let numbers: Vec<String> = task.shards.iter().map(u32::to_string).collect();
        Ok(ShardsElsewhere {
            name: format!(
                "node {node} at {address}: shards {} of generation {generation}",
                numbers.join(", ")
            ),
            node: task.node,
            asked: ScanMessage {
                release: Some(OWN_RELEASE.to_owned()),
                generation: Some(generation),
                shards: task.shards,
                ..ScanMessage::default()
            },
            coordinator: Arc::clone(coordinator),
            runtime: runtime.clone(),
        })
    }

    /// Keeps the generation at all nodes, as exports do, for a statement that may ask for rows late. Where exports and
    /// statements of two other generations are under way, it is kept only as long as a node keeps what it has served.
    pub fn keep(&self) -> KeptShards {
        let generation = self.asked.generation.unwrap_or_default();
        KeptShards {
            _lease: self.coordinator.lease(generation),
        }
    }

    /// The node, its address, the shards and their generation, in words.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rows of a scan, of these columns, for a reader who waits so long. The node is asked once they are taken, over a
    /// connection that ends with the stream. Where it fails before its first row, and another node holds all these shards,
    /// that one is asked. An error names the node.
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
        let mut tried = Vec::new();
        let mut next = Some(self.node);
        let mut failed = None;
        // Each turn asks another node.
        while let Some(node) = next {
            tried.push(node);
            let (asked, schema) = (asked.clone(), Arc::clone(&schema));
            match self.send_rows(node, asked, schema, &sender).await {
                Ok(()) => return,
                Err(ScanFailure { error, has_rows }) => {
                    next = (!has_rows).then(|| self.replica(&tried)).flatten();
                    // What is wrong with a scan is said by the first.
                    failed.get_or_insert_with(|| self.named(node, &error));
                }
            }
        }
        if let Some(failed) = failed {
            let _ = sender.send(Err(failed)).await;
        }
    }

    /// Sends the rows of a node, until they end or nobody takes them.
    async fn send_rows(
        &self,
        node: usize,
        asked: ScanMessage,
        schema: SchemaRef,
        sender: &mpsc::Sender<EngineResult<RecordBatch>>,
    ) -> std::result::Result<(), ScanFailure> {
        let mut has_rows = false;
        let failed = |error, has_rows| ScanFailure { error, has_rows };
        let peer = self.coordinator.nodes().peer(node);
        let peer = peer.ok_or_else(|| failed(exec_datafusion_err!("it has no address"), false))?;
        let rows = peer.scan(asked, schema).await.map_err(in_words);
        let mut rows = rows.map_err(|error| failed(error, false))?;
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(|error| failed(error, has_rows))?;
            has_rows = true;
            if sender.send(Ok(batch)).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Another node that holds all these shards and takes scans. One node, so that its rows have their order.
    fn replica(&self, tried: &[usize]) -> Option<usize> {
        let members = self.coordinator.members();
        let generation = self.asked.generation.unwrap_or_default();
        let tasks = members.assign_scans(generation, Some(&self.asked.shards), tried);
        match &tasks.ok()?[..] {
            [task] if task.node != members.own() => Some(task.node),
            _ => None,
        }
    }

    fn named(&self, node: usize, error: &DataFusionError) -> DataFusionError {
        let (node, reason) = (
            self.coordinator.members().name(node),
            error.strip_backtrace(),
        );
        let named = Error::missing(format!("node {node}: {reason}"));
        DataFusionError::External(Box::new(named))
    }
}

/// Why the rows of a node have not all come.
struct ScanFailure {
    error: DataFusionError,
    /// Whether some have.
    has_rows: bool,
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

impl fmt::Debug for KeptShards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptShards").finish_non_exhaustive()
    }
}
