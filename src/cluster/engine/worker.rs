//! The worker of a node: a gRPC server that runs the plans of coordinators on the node's shards.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::HeaderMap;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result as EngineResult;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::object_store::{
    DefaultObjectStoreRegistry, ObjectStoreRegistry, ObjectStoreUrl,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_distributed::{
    CoordinatorToWorkerMsg, DistributedExt, ExecuteTaskRequest, GetWorkerInfoRequest,
    GetWorkerInfoResponse, SetPlanRequest, Worker, WorkerChannel, WorkerQueryContext,
    WorkerToCoordinatorMsg,
};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tonic::transport::Server;

use super::connections::accept;
use super::leaf::LeafCodec;
use super::requests::{Checked, MESSAGE_BYTES_MAX};
use super::security::Security;
use super::{Shards, accepted};
use crate::{Error, Result};

/// The most memory, in bytes, of answers that a worker keeps for coordinators to read.
const MEMORY_MAX: usize = 1 << 30;

/// Rows of a batch, whatever a request says of it: the engine's own default.
const BATCH_ROWS: usize = 8_192;

/// What runs plans on these shards.
///
/// # Errors
/// The engine refuses its settings.
pub(super) fn worker(shards: Arc<dyn Shards>) -> Result<Worker> {
    let codec = LeafCodec::answering(shards);
    let worker = Worker::from_session_builder(move |context: WorkerQueryContext| {
        let session = session(context.builder, codec.clone());
        async move { Ok(session) }
    });
    Ok(worker.with_runtime_env(environment().map_err(|error| failed(&error))?))
}

/// A session that knows what the plans of coordinators need: no file formats, no tables, and one
/// function.
fn session(mut builder: SessionStateBuilder, codec: LeafCodec) -> SessionState {
    let config = builder.config().take().unwrap_or_default();
    builder
        .with_config(config.with_batch_size(BATCH_ROWS))
        .with_file_formats(Vec::new())
        .with_table_factories(Default::default())
        .with_table_function_list(Vec::new())
        .with_scalar_functions(Vec::new())
        .with_higher_order_functions(Vec::new())
        .with_window_functions(Vec::new())
        .with_aggregate_functions(vec![sum_udaf()])
        .with_distributed_user_codec(codec)
        .with_distributed_worker_plan_rewrite_handler(accepted::check)
        .build()
}

/// An environment without files: no object store, not even that of the local disk, and nowhere to
/// spill to.
fn environment() -> EngineResult<Arc<RuntimeEnv>> {
    let stores = DefaultObjectStoreRegistry::new();
    stores.deregister_store(ObjectStoreUrl::local_filesystem().as_ref())?;
    let no_disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    RuntimeEnvBuilder::new()
        .with_object_store_registry(Arc::new(stores))
        .with_disk_manager_builder(no_disk)
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(MEMORY_MAX)))
        .build_arc()
}

/// Serves until the future is dropped, or nothing can be accepted any more.
pub(super) async fn serve(listener: TcpListener, security: Security, worker: Worker) -> Result<()> {
    let (accepted, connections) = mpsc::channel(1);
    let connections = stream::unfold(connections, |mut connections| async {
        let connection = connections.recv().await?;
        Some((Ok::<_, std::io::Error>(connection), connections))
    });
    let service = worker
        .into_worker_server()
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    let server = Server::builder().add_service(Checked(service));
    let tls = security.server_tls().map(TlsAcceptor::from);
    tokio::select! {
        error = accept(listener, tls, accepted) => {
            Err(Error::io("accept connections of other nodes", error))
        }
        served = server.serve_with_incoming(connections) => served.map_err(|error| failed(&error)),
    }
}

/// The worker of the node that asks, which needs no network to be reached.
pub(super) struct OwnChannel(pub(super) Worker);

#[async_trait]
impl WorkerChannel for OwnChannel {
    async fn coordinator_channel(
        &mut self,
        headers: HeaderMap,
        request: SetPlanRequest,
        messages: BoxStream<'static, CoordinatorToWorkerMsg>,
        _: ExecutionPlanMetricsSet,
        _: &Arc<TaskContext>,
    ) -> EngineResult<BoxStream<'static, EngineResult<WorkerToCoordinatorMsg>>> {
        let messages = messages.map(Ok).boxed();
        self.0.coordinator_channel(headers, request, messages).await
    }

    async fn execute_task(
        &mut self,
        _: HeaderMap,
        request: ExecuteTaskRequest,
        _: ExecutionPlanMetricsSet,
        _: &Arc<TaskContext>,
    ) -> EngineResult<Vec<BoxStream<'static, EngineResult<RecordBatch>>>> {
        let (streams, _) = self.0.execute_task(request).await?;
        Ok(streams.into_iter().map(|stream| stream.boxed()).collect())
    }

    async fn get_worker_info(
        &mut self,
        _: GetWorkerInfoRequest,
    ) -> EngineResult<GetWorkerInfoResponse> {
        let version = self.0.version().to_owned();
        Ok(GetWorkerInfoResponse { version })
    }
}

fn failed(error: &dyn std::error::Error) -> Error {
    Error::invalid(format!("the worker cannot be served: {error}"))
}

#[cfg(test)]
mod tests;
