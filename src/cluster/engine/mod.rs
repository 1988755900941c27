//! The engine: what of the cluster is done by Apache DataFusion and datafusion-distributed.
//!
//! ```text
//! leaf         one operator of ours: shards of a node, asked one question     runs on the workers
//! plans        leaf -> partial sums -> network -> merge or final sums         made by coordinators
//! channels     a connection to each node, and who of a query has answered
//! worker       the gRPC server
//! requests     what may be sent to it       accepted  what it may compute
//! connections  sockets between nodes        security  TLS of both sides
//! columns      answers as columns and back
//! ```
//!
//! No other module knows the engine's names. It is young and changes; what the rest of the cluster
//! wants of it is [`Engine::ask`] and [`Engine::serve_worker`].

mod accepted;
mod channels;
mod columns;
mod connections;
mod leaf;
mod plans;
mod requests;
mod security;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use datafusion::common::exec_err;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion_distributed::RouteTasksEvent;
use datafusion_distributed::{
    DistributedExt, RouteTasksEventResponse, SessionStateBuilderExt, Worker, display_plan_ascii,
};
use futures_util::TryStreamExt;
use tokio::net::TcpListener;

use self::channels::{Channels, Watched, Watcher};
use self::leaf::LeafCodec;
use self::plans::{Planned, Planner};
use super::question::{Answer, Question, Wanted};
use crate::Result;

pub use self::security::Security;

/// What a worker asks of its node.
pub(super) trait Shards: Send + Sync + 'static {
    /// What a shard answers, or why it cannot.
    fn answer(&self, question: &Question, shard: u32) -> Result<Answer>;
}

/// The part of a question that goes to one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// The index of the node in the list of nodes.
    pub(super) node: usize,
    pub(super) shards: Vec<u32>,
}

/// What a coordinator asks with. Clones share connections.
#[derive(Clone)]
pub(super) struct Engine {
    session: SessionState,
    channels: Channels,
    own: Own,
    worker: Worker,
    rows_received: Arc<AtomicU64>,
}

/// The node that asks, which may hold what it asks for.
#[derive(Clone)]
pub(super) struct Own {
    /// Its index in the list of nodes.
    pub(super) node: usize,
    pub(super) shards: Arc<dyn Shards>,
}

/// Why a question was not answered.
#[derive(Debug)]
pub(super) struct Failure {
    /// The nodes that failed or did not answer in time.
    pub(super) nodes: Vec<usize>,
    pub(super) reason: String,
}

impl Engine {
    /// An engine that reaches the nodes at these addresses.
    ///
    /// # Errors
    /// An address cannot be used, or other nodes would refuse the certificate at the node's own.
    pub(super) fn new(addresses: &[String], security: &Security, own: Own) -> Result<Engine> {
        if let Some(address) = addresses.get(own.node) {
            security.check_address(address)?;
        }
        let session = SessionStateBuilder::new()
            .with_query_planner(Arc::new(Planner))
            .with_distributed_planner()
            .with_distributed_user_codec(LeafCodec::default())
            .with_distributed_route_tasks_handler(route)
            .with_distributed_compression(None)
            .and_then(|builder| builder.with_distributed_metrics_collection(false))
            .map_err(unusable)?
            .build();
        Ok(Engine {
            session,
            channels: Channels::new(addresses, security)?,
            worker: worker::worker(Arc::clone(&own.shards))?,
            own,
            rows_received: Arc::default(),
        })
    }

    /// Runs the plans of other nodes until the future is dropped.
    ///
    /// # Errors
    /// The listener fails.
    pub(super) fn serve_worker(
        &self,
        listener: TcpListener,
        security: Security,
    ) -> impl Future<Output = Result<()>> + use<> {
        worker::serve(listener, security, self.worker.clone())
    }

    /// Asks these nodes, and merges what they answer.
    ///
    /// # Errors
    /// A node failed, or not all have answered in time.
    pub(super) async fn ask(
        &self,
        question: &Arc<Question>,
        tasks: &[Task],
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        let rows = match question.wanted {
            Wanted::LoadedShards => Arc::default(),
            _ => Arc::clone(&self.rows_received),
        };
        let watched = Arc::new(Watched::new(tasks, rows));
        let asked = async {
            tokio::select! {
                biased;
                answer = self.ask_watched(question, tasks, &watched) => answer,
                () = watched.failed() => exec_err!("a node has failed"),
            }
        };
        let reason = match tokio::time::timeout(timeout, asked).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("not all nodes have answered within {timeout:?}"),
        };
        Err(Failure {
            nodes: watched.failed_nodes(),
            reason,
        })
    }

    async fn ask_watched(
        &self,
        question: &Arc<Question>,
        tasks: &[Task],
        watched: &Arc<Watched>,
    ) -> datafusion::common::Result<Answer> {
        let mut session = self.session.clone();
        let watcher = Watcher {
            channels: self.channels.clone(),
            own: (self.own.node, self.worker.clone()),
            watched: Arc::clone(watched),
        };
        session
            .config_mut()
            .set_distributed_channel_resolver(watcher);
        let plan = self.plan(&mut session, question, tasks).await?;
        let stream = execute_stream(plan, session.task_ctx())?;
        let batches = stream.try_collect().await?;
        columns::answer_of(question.kind(), batches)
    }

    async fn plan(
        &self,
        session: &mut SessionState,
        question: &Arc<Question>,
        tasks: &[Task],
    ) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
        let addresses = self.channels.addresses();
        let planned = Planned::new(question, tasks, addresses, &self.own)?;
        session.config_mut().set_extension(Arc::new(planned));
        let planner = Arc::clone(session.query_planner());
        planner
            .create_physical_plan(&plans::nothing(), session)
            .await
    }

    /// Rows that nodes have sent over the network so far to answer clients.
    pub(super) fn rows_received(&self) -> u64 {
        self.rows_received.load(Ordering::Relaxed)
    }

    /// The plan of a question as the engine draws it.
    pub(super) async fn explain(&self, question: &Arc<Question>, tasks: &[Task]) -> Result<String> {
        let mut session = self.session.clone();
        let plan = self.plan(&mut session, question, tasks).await;
        plan.map(|plan| display_plan_ascii(plan.as_ref(), false))
            .map_err(unusable)
    }
}

/// Sends each task where its shards are.
fn route(
    event: RouteTasksEvent<'_>,
) -> Option<datafusion::common::Result<RouteTasksEventResponse>> {
    let planned = event.task_ctx.session_config().get_extension::<Planned>()?;
    Some(Ok(RouteTasksEventResponse::new(planned.addresses())))
}

fn unusable(error: datafusion::error::DataFusionError) -> crate::Error {
    crate::Error::invalid(format!("the cluster's engine cannot be used: {error}"))
}
