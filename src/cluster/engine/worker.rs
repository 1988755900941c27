//! The worker of a node: a gRPC server that runs the plans of coordinators on the node's shards.

use std::sync::Arc;

use datafusion_distributed::{DistributedExt, Worker, WorkerQueryContext};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use super::Shards;
use super::leaf::LeafCodec;
use super::security::Security;
use crate::{Error, Result};

/// Serves until the future is dropped.
///
/// # Errors
/// The certificate cannot be used, or the listener fails.
pub(in crate::cluster) async fn serve_worker(
    listener: TcpListener,
    security: Security,
    shards: Arc<dyn Shards>,
) -> Result<()> {
    let codec = LeafCodec::answering(shards);
    let worker = Worker::from_session_builder(move |context: WorkerQueryContext| {
        let session = context.builder.with_distributed_user_codec(codec.clone());
        async move { Ok(session.build()) }
    });
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

fn failed(error: &dyn std::error::Error) -> Error {
    Error::invalid(format!("the worker cannot be served: {error}"))
}
