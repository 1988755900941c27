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
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::Shards;
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

/// Serves until the future is dropped.
pub(super) async fn serve(listener: TcpListener, security: Security, worker: Worker) -> Result<()> {
    let mut server = Server::builder().tcp_nodelay(true);
    if let Some(tls) = security.server_tls() {
        server = server.tls_config(tls).map_err(|error| failed(&error))?;
    }
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = server
        .add_service(worker.into_worker_server())
        .serve_with_incoming(incoming);
    served.await.map_err(|error| failed(&error))
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
