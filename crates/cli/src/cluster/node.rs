//! The options of `serve` for a node of a cluster.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "sql")]
use signaldex_cluster::NodeReader;
use signaldex_cluster::{ClusterSettings, Node, NodeOptions, Security, ShardScanner};
use signaldex_server::{Limits, Service, State, Today};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Failure;
use crate::service::parse_seconds;

/// A node of a cluster, which holds part of a corpus.
#[derive(Debug, clap::Args)]
pub(crate) struct ClusterOptions {
    /// Serve the cluster that this file describes instead of DIR, as the node of --node
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "directory",
        requires = "node",
        env = "SIGNALDEX_CLUSTER"
    )]
    cluster: Option<PathBuf>,
    /// The name of this node: one in the cluster's file, or any that no other node has where the file names seeds
    #[arg(
        long,
        value_name = "NAME",
        requires = "cluster",
        env = "SIGNALDEX_NODE"
    )]
    node: Option<String>,
    /// The directory of this node's copies
    #[arg(
        long,
        value_name = "DIR",
        default_value = "signaldex-shards",
        env = "SIGNALDEX_SHARD_CACHE"
    )]
    shard_cache: PathBuf,
    /// The address on which this node answers the others; by default its address in the cluster's file, or else
    /// --advertise-addr
    #[arg(long, value_name = "ADDR", env = "SIGNALDEX_WORKER_ADDR")]
    worker_addr: Option<SocketAddr>,
    /// Where the others reach it, where the cluster's file names seeds; by default --worker-addr
    #[arg(long, value_name = "HOST:PORT", env = "SIGNALDEX_ADVERTISE_ADDR")]
    advertise_addr: Option<String>,
    /// Where this node stands: replicas of a shard are placed in different zones where there are enough
    #[arg(long, value_name = "NAME", value_parser = parse_zone, env = "SIGNALDEX_ZONE")]
    zone: Option<String>,
    /// Seconds after which other nodes load the shards of one that is gone, where the cluster's file names seeds
    #[arg(long, value_name = "SECONDS", default_value = "900", value_parser = parse_seconds, env = "SIGNALDEX_FORGET_NODE_AFTER")]
    forget_node_after: Duration,
    /// The certificate that this node presents to others, PEM; SIGHUP makes the node read it, its key and --worker-ca
    /// again
    #[arg(
        long,
        value_name = "FILE",
        requires_all = ["worker_key", "worker_ca"],
        env = "SIGNALDEX_WORKER_CERT"
    )]
    worker_cert: Option<PathBuf>,
    /// The private key of the certificate, PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "worker_cert",
        env = "SIGNALDEX_WORKER_KEY"
    )]
    worker_key: Option<PathBuf>,
    /// The certificate authority that has signed the certificates of all nodes, PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "worker_cert",
        env = "SIGNALDEX_WORKER_CA"
    )]
    worker_ca: Option<PathBuf>,
    /// Answer other nodes without TLS on an address that is not local: any client that can reach it can
    /// read everything
    #[arg(long, env = "SIGNALDEX_INSECURE_WORKER")]
    insecure_worker: bool,
    /// Time limit for a query to the nodes, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds, env = "SIGNALDEX_QUERY_DEADLINE")]
    query_deadline: Duration,
    /// Seconds after which unanswered shards are also queried at other replicas
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = parse_seconds, env = "SIGNALDEX_FIRST_ATTEMPT_TIMEOUT")]
    first_attempt_timeout: Duration,
    /// Seconds between checks of the store
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = parse_seconds, env = "SIGNALDEX_CLUSTER_INTERVAL")]
    cluster_interval: Duration,
    /// Concurrent queries of clients, by default 8 per core; as many again may wait, further ones are
    /// answered 503
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), env = "SIGNALDEX_MAX_QUERIES")]
    max_queries: Option<u16>,
    /// Seconds that a query may wait
    #[arg(long, value_name = "SECONDS", default_value = "0.25", value_parser = parse_seconds, env = "SIGNALDEX_QUEUE_TIMEOUT")]
    queue_timeout: Duration,
}

/// Chooses the cryptography provider of the process: rustls panics if crates enable two and none is chosen.
/// TLS between nodes and HTTPS to object stores each enable one.
pub(crate) fn install_crypto_provider() {
    // Fails only if a provider has already been chosen.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A started node that does not serve clients yet.
pub(crate) struct StartedNode(Node);

impl ClusterOptions {
    /// Whether this process is a node of a cluster.
    pub(crate) fn are_given(&self) -> bool {
        self.cluster.is_some()
    }

    /// Whether the node has a certificate, which SIGHUP replaces.
    pub(crate) fn has_certificate(&self) -> bool {
        self.worker_cert.is_some()
    }

    /// Starts the node and loads its shards, if the options are given.
    pub(crate) async fn open(
        &self,
        scanner: Option<Arc<dyn ShardScanner>>,
    ) -> Result<Option<StartedNode>, Failure> {
        let (Some(file), Some(name)) = (&self.cluster, &self.node) else {
            return Ok(None);
        };
        let settings = ClusterSettings::read(file)?;
        let in_file = settings.address_of(name)?;
        let address = match (self.worker_addr, in_file.or(self.advertise_addr.as_deref())) {
            (Some(address), _) => address,
            (None, Some(address)) => resolved(address).await?,
            (None, None) => {
                return Err("the cluster's file does not say where this node listens for the others: give it \
                            --worker-addr"
                    .into());
            }
        };
        let security = self.security()?;
        security.check(address, self.insecure_worker)?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| {
            format!("cannot listen on {address}: {error}; --worker-addr takes another address")
        })?;
        let default = NodeOptions::new(&self.shard_cache);
        let options = NodeOptions {
            deadline: self.query_deadline,
            first_attempt_timeout: self.first_attempt_timeout,
            interval: self.cluster_interval,
            queries_max: self.max_queries.map_or(default.queries_max, usize::from),
            queue_time: self.queue_timeout,
            advertised: self.advertise_addr.clone(),
            zone: self.zone.clone(),
            forget_after: self.forget_node_after,
            scanner,
            ..default
        };
        let node = Node::start(settings, name, listener, security.clone(), options).await?;
        if self.has_certificate() {
            tokio::spawn(replace_certificate(security, signal(SignalKind::hangup())?));
        }
        Ok(Some(StartedNode(node)))
    }

    fn security(&self) -> Result<Security, Failure> {
        let files: [Option<&Path>; 3] = [
            self.worker_cert.as_deref(),
            self.worker_key.as_deref(),
            self.worker_ca.as_deref(),
        ];
        Ok(match files {
            [Some(certificate), Some(key), Some(authority)] => {
                Security::tls(certificate, key, authority)?
            }
            _ => Security::none(),
        })
    }
}

impl StartedNode {
    /// The API over the cluster. The node runs until this is dropped.
    pub(crate) fn service(
        &self,
        state: State,
        today: Today,
        limits: Limits,
    ) -> Result<Service, Failure> {
        Ok(self.0.service(state, today, limits)?)
    }

    /// What reads the shards of all nodes.
    #[cfg(feature = "sql")]
    pub(crate) fn reader(&self) -> NodeReader {
        self.0.reader()
    }

    /// Says goodbye to the other nodes. Ready when they know.
    pub(crate) fn leave(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.leave()
    }

    /// Waits until the node stops answering other nodes, and returns the reason.
    pub(crate) async fn stopped(self) -> Failure {
        self.0.stopped().await.into()
    }
}

/// Reads the files of the certificate again at each signal, and logs the outcome.
async fn replace_certificate(security: Security, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        match security.read_again() {
            Ok(()) => {
                tracing::warn!("new connections between nodes use the certificate as it is now")
            }
            Err(error) => tracing::error!(
                error = format_args!("{error:#}"),
                "the certificate is refused, and the former one stays in use"
            ),
        }
    }
}

/// A name as nodes have them.
fn parse_zone(text: &str) -> Result<String, String> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if (1..=64).contains(&text.len()) && text.chars().all(is_allowed) {
        return Ok(text.to_owned());
    }
    Err("use 1 to 64 letters, digits, -, _ and .".to_owned())
}

/// Resolves a host and port.
async fn resolved(address: &str) -> Result<SocketAddr, Failure> {
    let found = tokio::net::lookup_host(address).await;
    let found = found.map_err(|error| format!("{address:?} is not an address: {error}"))?;
    let first = found.into_iter().next();
    first.ok_or_else(|| format!("{address:?} has no address").into())
}
