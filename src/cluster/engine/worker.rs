//! The worker of a node: a gRPC server that runs the plans of coordinators on the node's shards.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::HeaderMap;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result as EngineResult;
use datafusion::execution::TaskContext;
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

use super::Shards;
use super::connections::accept;
use super::leaf::LeafCodec;
use super::security::Security;
use crate::{Error, Result};

/// What runs plans on these shards.
pub(super) fn worker(shards: Arc<dyn Shards>) -> Worker {
    let codec = LeafCodec::answering(shards);
    Worker::from_session_builder(move |context: WorkerQueryContext| {
        let session = context.builder.with_distributed_user_codec(codec.clone());
        async move { Ok(session.build()) }
    })
}

/// Serves until the future is dropped, or nothing can be accepted any more.
pub(super) async fn serve(listener: TcpListener, security: Security, worker: Worker) -> Result<()> {
    let (accepted, connections) = mpsc::channel(1);
    let connections = stream::unfold(connections, |mut connections| async {
        let connection = connections.recv().await?;
        Some((Ok::<_, std::io::Error>(connection), connections))
    });
    let server = Server::builder().add_service(worker.into_worker_server());
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
