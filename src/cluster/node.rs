//! A node: it holds shards, answers other nodes, and answers clients by asking all of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use time::Date;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::coordinator::{Coordinator, Timeouts};
use super::engine::{Engine, Own, Security, Shards};
use super::loaded_shards::LoadedShards;
use super::loader::Loader;
use super::members::Members;
use super::question::{Answer, Question};
use super::settings::ClusterSettings;
use crate::corpus::Corpus;
use crate::http::{Limits, Service, State, StateError, Today};
use crate::replicate::{Background, Store};
use crate::{Error, Filter, Query, Result};

/// How a node behaves.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The directory of the node's copies.
    pub cache: PathBuf,
    /// What a query may take, its second try included.
    pub deadline: Duration,
    /// What its first try may take, before other replicas are asked.
    pub first_attempt_timeout: Duration,
    /// How often the node looks after the others and the store.
    pub interval: Duration,
}

impl NodeOptions {
    /// A deadline of two seconds, of which the first try has half of one, and a look every half.
    pub fn new(cache: impl Into<PathBuf>) -> NodeOptions {
        NodeOptions {
            cache: cache.into(),
            deadline: Duration::from_secs(2),
            first_attempt_timeout: Duration::from_millis(500),
            interval: Duration::from_millis(500),
        }
    }
}

/// A node of a cluster, until it is dropped.
pub struct Node {
    coordinator: Arc<Coordinator>,
    worker: JoinHandle<Error>,
    watches: Vec<JoinHandle<()>>,
    _loading: Background,
}

impl Node {
    /// Loads the shards that are the node's, and starts its worker on a listener.
    ///
    /// # Errors
    /// The name is not of the cluster, the certificate is not for the node's address, the store or
    /// the cache cannot be used, or nothing is published yet.
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
        let nodes = settings.nodes.len();
        let addresses = settings.nodes.iter().map(|node| node.address.clone());
        let addresses: Vec<String> = addresses.collect();
        let store = Store::open(&settings.store)?;
        let loaded = LoadedShards::default();
        let shards = Arc::new(loaded.clone());
        let engine = Engine::new(&addresses, &security, Own { node: own, shards })?;
        let served = engine.serve_worker(listener, security);
        let cache = options.cache;
        let mut loader = Loader::new(settings, own, store, cache, loaded.clone());
        loader.load_newest().await?;
        let members = Arc::new(Members::new(own, nodes, loaded.clone()));
        let timeouts = Timeouts {
            deadline: options.deadline,
            first_attempt: options.first_attempt_timeout.min(options.deadline),
        };
        let coordinator = Coordinator::new(engine, Arc::clone(&members), timeouts);
        let coordinator = Arc::new(coordinator);
        let worker = tokio::spawn(serve(served));
        let mut watches = Vec::new();
        for node in (0..nodes).filter(|&node| node != own) {
            let coordinator = Arc::clone(&coordinator);
            let members = Arc::clone(&members);
            let watch = watch(
                coordinator,
                members,
                node,
                options.interval,
                timeouts.first_attempt,
            );
            watches.push(tokio::spawn(watch));
        }
        Ok(Node {
            _loading: loader.start(members, options.interval, options.deadline * 2)?,
            coordinator,
            worker,
            watches,
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
        Service::over(self.coordinator.clone(), state, today, limits)
    }

    /// Waits until the node can no longer answer other nodes, and returns why: its listener is broken,
    /// or its worker has panicked. The node should then be ended and started anew, as others count
    /// its shards as lost.
    pub async fn stopped(mut self) -> Error {
        let stopped = (&mut self.worker).await;
        stopped.unwrap_or_else(|error| Error::missing(format!("the worker has ended: {error}")))
    }

    /// Rows that nodes have sent to this one over the network so far, to answer its clients.
    pub fn rows_received(&self) -> u64 {
        self.coordinator.rows_received()
    }

    /// The shards that no node can be asked for now; `None` where there is none.
    pub fn error(&self) -> Option<String> {
        self.coordinator.error()
    }

    /// How a query is answered: what runs on which node, as the engine draws it.
    ///
    /// # Errors
    /// A shard has no node that answers.
    pub async fn explain(&self, query: &Query, today: Date) -> Result<String> {
        self.coordinator.explain(query, today).await
    }

    /// How facets are counted, drawn likewise.
    ///
    /// # Errors
    /// As [`explain`](Self::explain).
    pub async fn explain_facets(&self, filter: &Filter, today: Date) -> Result<String> {
        self.coordinator.explain_facets(filter, today).await
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.worker.abort();
        self.watches.iter().for_each(JoinHandle::abort);
    }
}

impl Shards for LoadedShards {
    fn answer(&self, question: &Question, shard: u32) -> Result<Answer> {
        LoadedShards::answer(self, question, shard)
    }
}

async fn serve(served: impl Future<Output = Result<()>>) -> Error {
    let error = served
        .await
        .err()
        .unwrap_or_else(|| Error::missing("the listener has ended"));
    tracing::error!(%error, "the worker has stopped");
    error
}

/// Looks after another node: what it holds, and whether it answers.
async fn watch(
    coordinator: Arc<Coordinator>,
    members: Arc<Members>,
    node: usize,
    interval: Duration,
    timeout: Duration,
) {
    loop {
        let held = coordinator.loaded_shards_of(node, timeout).await;
        members.note(node, held);
        tokio::time::sleep(interval).await;
    }
}
