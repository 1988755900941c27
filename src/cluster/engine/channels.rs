//! Connections to the nodes, and who of a query has answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    ChannelResolver, CoordinatorToWorkerMsg, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, Worker, WorkerChannel, WorkerToCoordinatorMsg,
};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::Notify;
use tonic::transport::Endpoint;
use url::Url;

use super::Task;
use super::connections::{Connector, Refusals};
use super::security::Security;
use super::worker::OwnChannel;
use crate::error::quoted;
use crate::{Error, Result as OurResult};

/// How long making a connection may take.
const CONNECT_TIME: Duration = Duration::from_secs(1);

/// Connections to all nodes, made when they are first needed and again when they break.
#[derive(Clone)]
pub(super) struct Channels(Arc<Nodes>);

struct Nodes {
    addresses: Vec<Url>,
    channels: Vec<BoxCloneSyncChannel>,
}

impl Channels {
    pub(super) fn new(addresses: &[String], security: &Security) -> OurResult<Channels> {
        let mut nodes = Nodes {
            addresses: Vec::new(),
            channels: Vec::new(),
        };
        let refusals = Arc::new(Refusals::default());
        for address in addresses {
            // The scheme says nothing of TLS, which is the connector's part.
            let endpoint = Endpoint::from_shared(format!("http://{address}"))
                .map_err(|error| unusable(address, &error))?
                .connect_timeout(CONNECT_TIME);
            let connector = Connector {
                address: address.as_str().into(),
                tls: security.client_tls(),
                refusals: Arc::clone(&refusals),
            };
            let url = Url::parse(&endpoint.uri().to_string());
            nodes
                .addresses
                .push(url.map_err(|error| unusable(address, &error))?);
            // Connecting needs a runtime only when the first request is sent.
            nodes.channels.push(BoxCloneSyncChannel::new(
                endpoint.connect_with_connector_lazy(connector),
            ));
        }
        Ok(Channels(Arc::new(nodes)))
    }

    pub(super) fn addresses(&self) -> &[Url] {
        &self.0.addresses
    }

    fn node_of(&self, address: &Url) -> Option<usize> {
        self.0.addresses.iter().position(|known| known == address)
    }
}

fn unusable(address: &str, error: &dyn std::error::Error) -> Error {
    let address = quoted(address);
    Error::invalid(format!(
        "nodes: the address {address} cannot be used: {error}"
    ))
}

/// Who of a query has answered: the library says only that something is missing or wrong.
pub(super) struct Watched {
    standings: Mutex<HashMap<usize, Standing>>,
    /// Told when a node has failed: the library itself would go on waiting for the others.
    failure: Notify,
    rows_received: Arc<AtomicU64>,
}

/// How far a node has come.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    /// Streams that have begun and not answered yet.
    waiting: usize,
    /// Streams that are expected to begin.
    expected: usize,
    failed: bool,
}

impl Watched {
    pub(super) fn new(tasks: &[Task], rows_received: Arc<AtomicU64>) -> Watched {
        let mut standings: HashMap<usize, Standing> = HashMap::new();
        for task in tasks {
            standings.entry(task.node).or_default().expected = 1;
        }
        Watched {
            standings: Mutex::new(standings),
            failure: Notify::new(),
            rows_received,
        }
    }

    /// The nodes that failed, or where none did, those that have not answered.
    pub(super) fn failed_nodes(&self) -> Vec<usize> {
        let standings = self.lock();
        let of = |is_meant: &dyn Fn(&Standing) -> bool| -> Vec<usize> {
            let meant = standings.iter().filter(|(_, standing)| is_meant(standing));
            meant.map(|(&node, _)| node).collect()
        };
        let failed = of(&|standing| standing.failed);
        if failed.is_empty() {
            of(&|standing| standing.waiting > 0 || standing.expected > 0)
        } else {
            failed
        }
    }

    /// Ends when a node has failed.
    pub(super) async fn failed(&self) {
        self.failure.notified().await;
    }

    fn fail(&self, node: usize, error: &DataFusionError) {
        tracing::debug!(node, %error, "a node has failed");
        self.change(node, |standing| standing.failed = true);
        self.failure.notify_one();
    }

    fn change(&self, node: usize, change: impl FnOnce(&mut Standing)) {
        change(self.lock().entry(node).or_default());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Standing>> {
        self.standings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connections as one query uses them.
pub(super) struct Watcher {
    pub(super) channels: Channels,
    /// The node that asks, and its worker.
    pub(super) own: (usize, Worker),
    pub(super) watched: Arc<Watched>,
}

#[async_trait]
impl ChannelResolver for Watcher {
    async fn get_worker_client_for_url(&self, address: &Url) -> Result<Box<dyn WorkerChannel>> {
        let Some(node) = self.channels.node_of(address) else {
            return exec_err!("there is no node at {address}");
        };
        let is_own = node == self.own.0;
        Ok(Box::new(WatchedChannel {
            client: if is_own {
                Box::new(OwnChannel(self.own.1.clone()))
            } else {
                create_worker_client(self.channels.0.channels[node].clone())
            },
            watched: Arc::clone(&self.watched),
            node,
            is_own,
        }))
    }
}

/// A connection whose answers are noted.
struct WatchedChannel {
    client: Box<dyn WorkerChannel>,
    watched: Arc<Watched>,
    node: usize,
    /// Whether there is no network between.
    is_own: bool,
}

#[async_trait]
impl WorkerChannel for WatchedChannel {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<BoxStream<'static, Result<WorkerToCoordinatorMsg>>> {
        let channel = self
            .client
            .coordinator_channel(headers, request, messages, metrics, context);
        let answer = channel.await;
        answer.inspect_err(|error| self.watched.fail(self.node, error))
    }

    async fn execute_task(
        &mut self,
        headers: HeaderMap,
        request: ExecuteTaskRequest,
        metrics: ExecutionPlanMetricsSet,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<BoxStream<'static, Result<RecordBatch>>>> {
        let streams = self
            .client
            .execute_task(headers, request, metrics, context)
            .await;
        let streams = streams.inspect_err(|error| self.watched.fail(self.node, error))?;
        self.watched.change(self.node, |standing| {
            standing.expected = 0;
            standing.waiting += streams.len();
        });
        let rows_received = if self.is_own {
            Arc::default()
        } else {
            Arc::clone(&self.watched.rows_received)
        };
        let watch = |stream| {
            let (watched, rows_received) = (Arc::clone(&self.watched), Arc::clone(&rows_received));
            noted(stream, watched, rows_received, self.node)
        };
        Ok(streams.into_iter().map(watch).collect())
    }

    async fn get_worker_info(
        &mut self,
        request: GetWorkerInfoRequest,
    ) -> Result<GetWorkerInfoResponse> {
        self.client.get_worker_info(request).await
    }
}

/// Notes the first that comes of a stream, or its end: the rest follows at once, or is an error.
fn noted(
    stream: BoxStream<'static, Result<RecordBatch>>,
    watched: Arc<Watched>,
    rows_received: Arc<AtomicU64>,
    node: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    let has_answered = AtomicBool::new(false);
    let note = Arc::new(move |is_failed: bool| {
        let is_first = !has_answered.swap(true, Ordering::Relaxed);
        watched.change(node, |standing| {
            standing.failed |= is_failed;
            standing.waiting = standing.waiting.saturating_sub(usize::from(is_first));
        });
    });
    let end = Arc::clone(&note);
    let end = stream::poll_fn(move |_| {
        end(false);
        Poll::Ready(None)
    });
    stream
        .inspect(move |item| {
            let rows = item.as_ref().map_or(0, RecordBatch::num_rows);
            rows_received.fetch_add(rows as u64, Ordering::Relaxed);
            note(item.is_err());
        })
        .chain(end)
        .boxed()
}
