//! A node: it holds shards, answers other nodes, and answers clients by querying all of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::available_parallelism;
use std::time::Duration;

use time::Date;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::announcement::Announcement;
use super::arrivals::Arrivals;
use super::asking::{Asker, Hedging};
use super::connections::Tcp;
use super::coordinator::Coordinator;
use super::engine::{self, ENGINE_RELEASE, MESSAGES_VERSION, OWN_RELEASE};
use super::error::{ClusterError, ClusterResult};
use super::gossip::{Gossip, GossipSettings};
use super::known_nodes::{KnownNode, KnownNodes};
use super::leases::Leases;
use super::loaded_shards::LoadedShards;
use super::loader::Loader;
use super::manifest_cache::ManifestCache;
use super::members::{FirstNodes, Members};
use super::node_shards::NodeShards;
use super::nodes::{Nodes, Peers};
use super::reports::Reports;
use super::security::Security;
use super::settings::{ClusterSettings, Membership, NodeSettings, check_address};
use super::shard_scanner::ShardScanner;
use super::worker::Worker;
use signaldex::query::CompanyQuery;
use signaldex::replicate::{Background, Store};
use signaldex::{AggregateQuery, Error, Filter, Query};
use signaldex_server::corpus::Corpus;
use signaldex_server::{Limits, Service, State, StateError, Today};

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
    /// The interval of checks of the store.
    pub interval: Duration,
    /// Concurrent queries of clients. As many again may wait; further ones are refused.
    pub queries_max: usize,
    /// How long a query may wait.
    pub queue_time: Duration,
    /// Where others reach the worker, `host:port`, where the file of the cluster names seeds; by default the address of the
    /// listener.
    pub advertised: Option<String>,
    /// Where the node stands: replicas of a shard are placed in different zones.
    pub zone: Option<String>,
    /// How long a dead node keeps its place where the file of the cluster names seeds.
    pub forget_after: Duration,
    /// Runs scans of SQL for statements at other nodes. Without it the node takes none.
    pub scanner: Option<Arc<dyn ShardScanner>>,
}

impl NodeOptions {
    /// A deadline of two seconds, other replicas and a check of the store after half of one, 8 queries for each core, and a
    /// place for a dead node for a quarter of an hour.
    pub fn new(cache: impl Into<PathBuf>) -> NodeOptions {
        NodeOptions {
            cache: cache.into(),
            deadline: Duration::from_secs(2),
            first_attempt_timeout: Duration::from_millis(500),
            interval: Duration::from_millis(500),
            queries_max: QUERIES_PER_CORE * available_parallelism().map_or(1, usize::from),
            queue_time: Duration::from_millis(250),
            advertised: None,
            zone: None,
            forget_after: Duration::from_secs(900),
            scanner: None,
        }
    }
}

/// A running node of a cluster, stopped on drop.
pub struct Node {
    coordinator: Arc<Coordinator>,
    runtime: Handle,
    worker: Serving,
    gossip: Gossip,
    gossip_ended: oneshot::Receiver<Error>,
    reports: Arc<Reports>,
    _loading: Background,
}

/// Reads the shards that a node knows.
#[derive(Clone)]
pub struct NodeReader {
    coordinator: Arc<Coordinator>,
    /// The threads of the node.
    runtime: Handle,
}

/// The worker at its port, until this is dropped.
struct Serving(JoinHandle<Error>);

impl Node {
    /// Starts a node and its worker on a listener: it joins the cluster and loads its shards. Existing copies in the cache
    /// are served immediately, even if the store is unavailable; without copies, it waits for the store.
    ///
    /// # Errors
    /// The name is not in the cluster's file, or a node of that name is alive, a seed belongs to another cluster, the
    /// certificate is not valid for the node's address, the cache cannot be used, or there is neither a copy nor a
    /// published generation that can be loaded.
    ///
    /// Cost: that of opening a replica for each shard that the node holds, after a second in which it gets to know the
    /// others, and three where none of the seeds answers.
    pub async fn start(
        settings: ClusterSettings,
        name: &str,
        listener: TcpListener,
        security: Security,
        options: NodeOptions,
    ) -> ClusterResult<Node> {
        let address = advertised(&settings, name, &listener, &options)?;
        security.check_address(&address)?;
        let store = Store::open(&settings.store)?;
        let loaded = LoadedShards::default();
        let leases = Leases::default();
        let worker = Worker::new(loaded.clone(), options.scanner.clone());
        let announcement = Announcement {
            address,
            zone: options.zone.clone().unwrap_or_default(),
            release: OWN_RELEASE.to_owned(),
            engine: ENGINE_RELEASE.to_owned(),
            messages: MESSAGES_VERSION.to_owned(),
            has_sql: options.scanner.is_some(),
            ..Announcement::default()
        };
        let known = KnownNodes::in_directory(&options.cache);
        let first = first_nodes(&settings, name, &announcement, &known);
        let peers = Peers::new(Arc::new(Tcp), &security);
        let others = (1..).zip(&first.others);
        for (node, (_, address)) in others.filter(|(_, (_, address))| !address.is_empty()) {
            peers.set(node, address);
        }
        let forget_after = match &settings.membership {
            Membership::Listed(_) => None,
            Membership::Seeds { .. } => Some(options.forget_after),
        };
        let members = Members::new(first, settings.replicas, forget_after, loaded.clone());
        let members = Arc::new(members);
        let reports = Arc::new(Reports::default());
        let mut loader = Loader::new(
            Arc::clone(&members),
            store.clone(),
            options.cache.clone(),
            loaded.clone(),
            leases.clone(),
            Arc::clone(&reports),
        )?;
        let (arrivals, arriving) = Arrivals::channel();
        let serving = serve(worker.clone(), listener, security.clone(), arrivals);
        let serving = Serving(tokio::spawn(serving));
        let gossip = GossipSettings {
            name: name.to_owned(),
            announcement,
            membership: settings.membership,
            forget_after: options.forget_after,
            security,
            loaded: loaded.clone(),
            leases: leases.clone(),
            members: Arc::clone(&members),
            peers: peers.clone(),
            known,
        };
        let (gossip, gossip_ended) = Gossip::start(gossip, arriving).await?;
        let has_copies = loader.load_first().await?;
        members.refresh();
        let asker = Asker {
            nodes: Nodes::new(members.own(), worker, peers),
            members,
            deadline: options.deadline,
            hedging: Hedging::new(),
            first_attempt: options.first_attempt_timeout.min(options.deadline),
            retried: AtomicU64::new(0),
            hedged: AtomicU64::new(0),
        };
        let manifests = ManifestCache::new(store, loaded);
        let (queries, queue) = (options.queries_max, options.queue_time);
        let coordinator = Coordinator::new(asker, manifests, leases, queries, queue);
        Ok(Node {
            coordinator: Arc::new(coordinator),
            runtime: Handle::current(),
            worker: serving,
            gossip,
            gossip_ended,
            _loading: loader.start(options.interval, options.deadline * 2, !has_copies)?,
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

    /// Waits until the node can no longer answer other nodes, and returns the reason: its listener is broken, its worker has
    /// panicked, or another node of its name is alive. Restart the node then, because others count it as dead.
    pub async fn stopped(mut self) -> ClusterError {
        let reason = tokio::select! {
            stopped = &mut self.worker.0 => stopped.unwrap_or_else(|error| {
                Error::missing(format!("the worker has ended: {error}"))
            }),
            ended = &mut self.gossip_ended => ended.unwrap_or_else(|_| {
                Error::missing("gossip between nodes has ended")
            }),
        };
        ClusterError::ended(reason)
    }

    /// Says goodbye: the other nodes ask this one no more, while it goes on answering. Ready when they know, after half a
    /// second at most. Call it before the node is dropped; otherwise the others notice that when it no longer answers.
    pub fn leave(&self) -> impl Future<Output = ()> + Send + use<> {
        self.gossip.leave()
    }

    /// What reads the shards of the generation that is served, for a statement of SQL. It stays usable while the node
    /// lives, as long as other nodes keep that generation.
    ///
    /// # Errors
    /// A shard has no live node that takes scans: those that hold it were started without SQL, or are of another release;
    /// the message names them. Or a file of a shard was overwritten.
    pub fn shards(&self) -> ClusterResult<NodeShards> {
        self.reader().shards()
    }

    /// A handle for [`shards`](Self::shards). The node ends without waiting for it.
    pub fn reader(&self) -> NodeReader {
        NodeReader {
            coordinator: Arc::clone(&self.coordinator),
            runtime: self.runtime.clone(),
        }
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
    pub fn explain(&self, query: &Query, today: Date) -> ClusterResult<String> {
        Ok(self.coordinator.explain(query, today)?)
    }

    /// Explains counting facets.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_facets(&self, filter: &Filter, today: Date) -> ClusterResult<String> {
        Ok(self.coordinator.explain_facets(filter, today)?)
    }

    /// Explains figures in groups.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_aggregate(&self, query: &AggregateQuery, today: Date) -> ClusterResult<String> {
        Ok(self.coordinator.explain_aggregate(query, today)?)
    }

    /// Explains a query for companies.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub fn explain_companies(&self, query: &CompanyQuery, today: Date) -> ClusterResult<String> {
        Ok(self.coordinator.explain_companies(query, today)?)
    }
}

impl NodeReader {
    /// As [`Node::shards`].
    ///
    /// # Errors
    /// As [`Node::shards`].
    pub fn shards(&self) -> ClusterResult<NodeShards> {
        Ok(NodeShards::new(&self.coordinator, &self.runtime)?)
    }
}

impl std::fmt::Debug for NodeReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeReader").finish_non_exhaustive()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(
    worker: Worker,
    listener: TcpListener,
    security: Security,
    arrivals: Arrivals,
) -> Error {
    let error = engine::serve(worker, listener, security, arrivals).await;
    tracing::error!(%error, "the worker has stopped");
    error
}

/// Where others reach the worker.
fn advertised(
    settings: &ClusterSettings,
    name: &str,
    listener: &TcpListener,
    options: &NodeOptions,
) -> ClusterResult<String> {
    match (settings.address_of(name)?, &options.advertised) {
        (Some(in_file), None) => return Ok(in_file.to_owned()),
        (Some(in_file), Some(_)) => {
            return Err(Error::invalid(format!(
                "advertise-addr: the file of the cluster says already that others reach this node at {in_file}; leave it out"
            ))
            .into());
        }
        (None, Some(address)) => {
            check_address("advertise-addr", address)?;
            return Ok(address.clone());
        }
        (None, None) => {}
    }
    let address = listener.local_addr();
    let address = address.map_err(|error| Error::io("find the worker's address", error))?;
    if address.ip().is_unspecified() {
        return Err(Error::invalid(format!(
            "advertise-addr: other nodes cannot connect to {address}, at which the worker listens; say where they reach it"
        ))
        .into());
    }
    Ok(address.to_string())
}

/// The nodes that are known before others tell: those of the file of the cluster, or those that were known last.
fn first_nodes(
    settings: &ClusterSettings,
    name: &str,
    announcement: &Announcement,
    known: &KnownNodes,
) -> FirstNodes {
    let known = known.read();
    let others: Vec<(KnownNode, String)> = match &settings.membership {
        Membership::Listed(nodes) => {
            let node = |node: &NodeSettings| {
                let known = known.iter().find(|known| known.name == node.name);
                let zone = known.map_or_else(String::new, |known| known.zone.clone());
                let name = node.name.clone();
                (KnownNode { name, zone }, node.address.clone())
            };
            let others = nodes.iter().filter(|node| node.name != name);
            others.map(node).collect()
        }
        Membership::Seeds { .. } => {
            let others = known.into_iter().filter(|node| node.name != name);
            others.map(|node| (node, String::new())).collect()
        }
    };
    FirstNodes {
        own: KnownNode {
            name: name.to_owned(),
            zone: announcement.zone.clone(),
        },
        announcement: announcement.clone(),
        others,
    }
}
