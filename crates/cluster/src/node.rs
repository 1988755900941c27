//! A node: it holds shards, answers other nodes, and answers clients by querying all of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use time::Date;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::asking::Asker;
use super::coordinator::Coordinator;
use super::loaded_shards::LoadedShards;
use super::loader::Loader;
use super::members::Members;
use super::nodes::Nodes;
use super::peer::PeerFailure;
use super::reports::Reports;
use super::security::Security;
use super::settings::ClusterSettings;
use super::worker::Worker;
use signaldex::replicate::{Background, Store};
use signaldex::{Error, Filter, Query, Result};
use signaldex_server::corpus::Corpus;
use signaldex_server::{Limits, Service, State, StateError, Today};

/// Time limit of a health check.
const LOOK_TIME: Duration = Duration::from_secs(1);

/// Clients' queries under way at once, for each core: enough to wait for others, and few enough to be
/// answered within a fraction of a second.
const QUERIES_PER_CORE: usize = 8;

/// Options of a node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The directory of the node's copies.
    pub cache: PathBuf,
    /// The deadline of a query to the nodes.
    pub deadline: Duration,
    /// How long to wait for a node before other replicas are queried, too.
    pub first_attempt_timeout: Duration,
    /// The interval of health checks and checks of the store.
    pub interval: Duration,
    /// Concurrent queries of clients. As many again may wait; further ones are refused.
    pub queries_max: usize,
    /// How long a query may wait.
    pub queue_time: Duration,
}

impl NodeOptions {
    /// A deadline of two seconds, other replicas and a look after half of one, and 8 queries for each core.
    pub fn new(cache: impl Into<PathBuf>) -> NodeOptions {
        NodeOptions {
            cache: cache.into(),
            deadline: Duration::from_secs(2),
            first_attempt_timeout: Duration::from_millis(500),
            interval: Duration::from_millis(500),
            queries_max: QUERIES_PER_CORE * available_parallelism().map_or(1, usize::from),
            queue_time: Duration::from_millis(250),
        }
    }
}

/// A running node of a cluster, stopped on drop.
pub struct Node {
    coordinator: Arc<Coordinator>,
    worker: JoinHandle<Error>,
    watches: Vec<JoinHandle<()>>,
    reports: Arc<Reports>,
    _loading: Background,
}

impl Node {
    /// Starts a node and its worker on a listener. Existing copies in the cache are served immediately, even if the
    /// store is unavailable; without copies, it waits for the store.
    ///
    /// # Errors
    /// The name is not in the cluster's file, the certificate is not valid for the node's address, the cache cannot be
    /// used, or there is neither a copy nor a published generation that can be loaded.
    ///
    /// Cost: that of opening a replica for each shard that the node holds.
    pub async fn start(
        settings: ClusterSettings,
        name: &str,
        listener: TcpListener,
        security: Security,
        options: NodeOptions,
    ) -> Result<Node> {
        let own = settings.index_of(name)?;
        let (names, addresses): (Vec<String>, Vec<String>) = settings
            .nodes
            .iter()
            .map(|node| (node.name.clone(), node.address.clone()))
            .unzip();
        let store = Store::open(&settings.store)?;
        let loaded = LoadedShards::default();
        let worker = Worker::new(loaded.clone());
        let nodes = Nodes::new(&addresses, &security, own, worker.clone())?;
        let reports = Arc::new(Reports::default());
        let mut loader = Loader::new(
            settings,
            own,
            store,
            options.cache.clone(),
            loaded.clone(),
            Arc::clone(&reports),
        )?;
        let has_copies = loader.load_first().await?;
        let members = Arc::new(Members::new(own, names, loaded));
        let asker = Asker {
            nodes,
            members: Arc::clone(&members),
            deadline: options.deadline,
            first_attempt: options.first_attempt_timeout.min(options.deadline),
        };
        let coordinator = Coordinator::new(asker, options.queries_max, options.queue_time);
        let coordinator = Arc::new(coordinator);
        let watch = |node| {
            let (coordinator, members) = (Arc::clone(&coordinator), Arc::clone(&members));
            tokio::spawn(watch(coordinator, members, node, options.interval))
        };
        let others = (0..addresses.len()).filter(|&node| node != own);
        Ok(Node {
            watches: others.map(watch).collect(),
            worker: tokio::spawn(serve(worker, listener, security)),
            _loading: loader.start(members, options.interval, options.deadline * 2, !has_copies)?,
            coordinator,
            reports,
        })
    }

    /// The API over the whole corpus.
    ///
    /// # Errors
    /// As [`Service::new`].
    pub fn service(
        &self,
        state: State,
        today: Today,
        limits: Limits,
    ) -> Result<Service, StateError> {
        let service = Service::over(self.coordinator.clone(), state, today, limits)?;
        self.reports.add(service.clone());
        Ok(service)
    }

    /// Waits until the node can no longer answer other nodes, and returns the reason: its listener is broken, or its
    /// worker has panicked. Restart the node then, because others count it as dead.
    pub async fn stopped(mut self) -> Error {
        let stopped = (&mut self.worker).await;
        stopped.unwrap_or_else(|error| Error::missing(format!("the worker has ended: {error}")))
    }

    /// How connections between nodes are secured; [`Security::read_again`] replaces the certificate.
    pub fn security(&self) -> Security {
        self.coordinator.nodes().security().clone()
    }

    /// The number of rows received from other nodes so far.
    pub fn rows_received(&self) -> u64 {
        self.coordinator.rows_received()
    }

    /// The shards without a live node; `None` if there are none.
    pub fn error(&self) -> Option<String> {
        self.coordinator.error()
    }

    /// Explains a query: the query to each node, and how the answers are merged.
    ///
    /// # Errors
    /// A shard has no live node.
    pub fn explain(&self, query: &Query, today: Date) -> Result<String> {
        self.coordinator.explain(query, today)
    }

    /// Explains counting facets.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_facets(&self, filter: &Filter, today: Date) -> Result<String> {
        self.coordinator.explain_facets(filter, today)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.worker.abort();
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

async fn serve(worker: Worker, listener: TcpListener, security: Security) -> Error {
    let error = worker.serve(listener, security).await;
    tracing::error!(%error, "the worker has stopped");
    error
}

/// Checks the health of another node and its loaded shards. Uses a connection of its own, so that queries cannot
/// delay it; if it falls silent, the next check opens another.
async fn watch(
    coordinator: Arc<Coordinator>,
    members: Arc<Members>,
    node: usize,
    interval: Duration,
) {
    let mut connection = None;
    loop {
        let look = coordinator.nodes().loaded_shards(node, &mut connection);
        match tokio::time::timeout(LOOK_TIME, look).await {
            Ok(Ok(held)) => members.answered(node, held),
            Ok(Err(PeerFailure::Dead(error))) => members.died(node, &error.to_string()),
            Ok(Err(_)) | Err(_) => {
                // The other connections are probably broken, too.
                coordinator.nodes().forget_idle(node);
                members.missed(node);
            }
        }
        tokio::time::sleep(interval).await;
    }
}
