//! What comes to a worker's port, checked before the engine reads it.
//!
//! The engine trusts everyone who reaches it: it decodes any plan, puts any operator above it and
//! allocates as much as a request says. So each request is decoded here first, within a limit of
//! bytes, and refused unless it is one that a coordinator of this program sends. What the decoded
//! plan computes is then checked by [`accepted`](super::accepted).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use axum::body::{Body as Buffered, BodyDataStream, Bytes, to_bytes};
use datafusion_proto::protobuf::PhysicalPlanNode;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use futures_util::{StreamExt, stream};
use prost::Message;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::NamedService;

use crate::cluster::generation::SHARDS_MAX;

/// The longest message, in bytes: a plan around a question around the longest query string, with
/// room for letters that fold into several.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 19;

/// The longest request to run a plan, in bytes: it has numbers only.
const RUN_BYTES_MAX: usize = 1 << 10;

/// The bytes before a message: whether it is compressed, and its length.
const FRAME_BYTES: usize = 5;

/// What is said of a plan with any other operator.
pub(super) const OPERATORS: &str =
    "a worker runs plans of only SignalsExec, AggregateExec and LocalLimitExec";

/// A service whose requests are checked first.
#[derive(Clone)]
pub(super) struct Checked<S>(pub(super) S);

impl<S: NamedService> NamedService for Checked<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Checked<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        // The service that was polled ready is the one to call; its clone waits for its own turn.
        let clone = self.0.clone();
        let mut ready = std::mem::replace(&mut self.0, clone);
        Box::pin(async move {
            let peer = request.extensions().get::<SocketAddr>().copied();
            match checked(request).await {
                Ok(request) => ready.call(request).await,
                Err(status) => {
                    let reason = status.message();
                    tracing::warn!(?peer, reason, "a request to the worker is refused");
                    Ok(status.into_http())
                }
            }
        })
    }
}

/// The same request, where it may be answered.
async fn checked(request: http::Request<Body>) -> Result<http::Request<Body>, Status> {
    let (head, body) = request.into_parts();
    let method = head.uri.path().rsplit('/').next().unwrap_or_default();
    let body = match method {
        "CoordinatorChannel" => checked_plan(body).await?,
        "ExecuteTask" => checked_run(body).await?,
        "GetWorkerInfo" => body,
        _ => return Err(Status::unimplemented("the worker has no such method")),
    };
    Ok(http::Request::from_parts(head, body))
}

/// Checks the message with which a coordinator's channel begins; what follows is passed on.
async fn checked_plan(body: Body) -> Result<Body, Status> {
    let mut rest = Buffered::new(body).into_data_stream();
    let mut begun = Vec::new();
    let message = loop {
        match frame(&begun, MESSAGE_BYTES_MAX)? {
            Some(message) => break message,
            None => begun.extend_from_slice(&next(&mut rest).await?),
        }
    };
    SetPlan::first(message)?.check()?;
    let whole = stream::once(async { Ok::<_, axum::Error>(Bytes::from(begun)) }).chain(rest);
    Ok(Body::new(Buffered::from_stream(whole)))
}

async fn checked_run(body: Body) -> Result<Body, Status> {
    let bytes = to_bytes(Buffered::new(body), RUN_BYTES_MAX).await;
    let bytes = bytes.map_err(|error| malformed(&error))?;
    let message = frame(&bytes, RUN_BYTES_MAX)?;
    let run = Run::decode(message.ok_or_else(|| malformed(&"it ends early"))?);
    run.map_err(|error| malformed(&error))?.check()?;
    Ok(Body::new(Buffered::from(bytes)))
}

async fn next(stream: &mut BodyDataStream) -> Result<Bytes, Status> {
    let bytes = stream.next().await;
    let bytes = bytes.ok_or_else(|| malformed(&"it ends early"))?;
    bytes.map_err(|error| malformed(&error))
}

/// The first message in these bytes; `None` where not all of it is there.
fn frame(bytes: &[u8], bytes_max: usize) -> Result<Option<&[u8]>, Status> {
    let Some((head, rest)) = bytes.split_first_chunk::<FRAME_BYTES>() else {
        return Ok(None);
    };
    let [compressed, length @ ..] = *head;
    let length = u32::from_be_bytes(length) as usize;
    if compressed != 0 {
        return Err(malformed(&"it is compressed"));
    }
    if length > bytes_max {
        return Err(Status::resource_exhausted(format!(
            "a message has {length} bytes; at most {bytes_max} are allowed"
        )));
    }
    Ok(rest.get(..length))
}

fn malformed(reason: &dyn std::fmt::Display) -> Status {
    Status::invalid_argument(format!("the request is malformed: {reason}"))
}

/// What of the first message is checked: the engine's `CoordinatorToWorkerMsg`.
#[derive(Clone, PartialEq, Message)]
struct FromCoordinator {
    #[prost(message, optional, tag = "1")]
    set_plan: Option<SetPlan>,
}

/// The engine's `SetPlanRequest`.
#[derive(Clone, PartialEq, Message)]
struct SetPlan {
    #[prost(bytes = "vec", tag = "3")]
    plan: Vec<u8>,
    /// For each of these the engine allocates as many queues as it says.
    #[prost(message, repeated, tag = "4")]
    feeds: Vec<Ignored>,
}

/// A message of which nothing matters but that it is there.
#[derive(Clone, Copy, PartialEq, Message)]
struct Ignored {}

impl SetPlan {
    fn first(message: &[u8]) -> Result<SetPlan, Status> {
        let message = FromCoordinator::decode(message).map_err(|error| malformed(&error))?;
        let plan = message.set_plan;
        plan.ok_or_else(|| malformed(&"it does not begin with a plan"))
    }

    fn check(&self) -> Result<(), Status> {
        if !self.feeds.is_empty() {
            return Err(Status::permission_denied(
                "the request declares feeds of work, which no plan of a worker has",
            ));
        }
        let plan = PhysicalPlanNode::decode(self.plan.as_slice());
        check_operators(&plan.map_err(|error| malformed(&error))?)
    }
}

/// Refuses operators of others before they are decoded. The recursion ends: the decoder of messages
/// bounds how deep they are.
fn check_operators(plan: &PhysicalPlanNode) -> Result<(), Status> {
    let input = match &plan.physical_plan_type {
        Some(PhysicalPlanType::Extension(leaf)) if leaf.inputs.is_empty() => return Ok(()),
        Some(PhysicalPlanType::Aggregate(aggregate)) => &aggregate.input,
        Some(PhysicalPlanType::LocalLimit(limit)) => &limit.input,
        _ => return Err(Status::permission_denied(OPERATORS)),
    };
    match input {
        Some(input) => check_operators(input),
        None => Err(malformed(&"an operator has no input")),
    }
}

/// What is checked of the engine's `ExecuteTaskRequest`.
#[derive(Clone, PartialEq, Message)]
struct Run {
    #[prost(uint64, tag = "2")]
    start: u64,
    #[prost(uint64, tag = "3")]
    end: u64,
    #[prost(message, optional, tag = "7")]
    broadcast: Option<Ignored>,
    #[prost(message, optional, tag = "8")]
    repartition: Option<Ignored>,
}

impl Run {
    fn check(&self) -> Result<(), Status> {
        if self.broadcast.is_some() || self.repartition.is_some() {
            return Err(Status::permission_denied(
                "the request puts an operator above the plan, which no coordinator does",
            ));
        }
        let (start, end) = (self.start, self.end);
        if start > end || end > u64::from(SHARDS_MAX) {
            return Err(Status::invalid_argument(format!(
                "partitions {start} to {end} are not allowed; a plan has at most {SHARDS_MAX}"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
