//! `POST /mcp`: one message per request, answered under the key of its sender.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::header::{
    self, ACCEPT, CACHE_CONTROL, CONTENT_TYPE, EXPECT, HeaderName, HeaderValue, ORIGIN,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value};

use super::arguments::{self, ToolTarget};
use super::compact::{CallUsage, EndpointResult};
use super::message::{self, ClientMessage, RpcError, RpcRequest};
use super::outcome::ToolOutcome;
use super::protocol::{self, Dispatch, Era, Transport};
use super::tools::Tool;
use crate::answer::Price;
use crate::call::{Call, Caller};
use crate::cors;
use crate::deadline::Deadline;
use crate::endpoint::Endpoint;
use crate::handled::{Handled, Note};
use crate::limits::{MCP_DRAIN_TIME, MCP_DRAINED_BYTES_MAX, MCP_MESSAGE_BYTES_MAX};
use crate::problem::Problem;
use crate::service::ServiceCore;
use crate::{
    aggregates, asking, changes, charging, companies, details, hints, options, request, search,
};
use signaldex::json::Rendering;

type Headers = Vec<(HeaderName, HeaderValue)>;

/// The answer to a message.
struct McpReply {
    status: StatusCode,
    headers: Headers,
    price: Option<Price>,
    body: Vec<u8>,
    note: Note<'static>,
}

/// Answers a request to the endpoint. The answer is always a JSON-RPC message or has no body.
pub(crate) async fn answer_post(
    service: &Arc<ServiceCore>,
    parts: &Parts,
    mut body: Body,
    caller: &mut Caller,
) -> Handled<'static> {
    let deadline = Deadline::after(service.limits.request_time);
    let reply = reply(service, parts, &mut body, caller, &deadline).await;
    let reply = reply.unwrap_or_else(|error| McpReply::of_error(&error, None));
    let is_body_read = body.is_end_stream();
    if !is_body_read && !parts.headers.contains_key(EXPECT) {
        // A client that is still sending would miss the answer if the connection were closed now.
        let _ = tokio::time::timeout(MCP_DRAIN_TIME, drain(&mut body)).await;
    }
    reply.into_handled(service, is_body_read)
}

async fn reply(
    service: &Arc<ServiceCore>,
    parts: &Parts,
    body: &mut Body,
    caller: &mut Caller,
    deadline: &Deadline,
) -> Result<McpReply, RpcError> {
    let request_id = caller.request_id.clone();
    let refused = |problem: Problem| RpcError::of_problem(&problem, &request_id);
    request::check(parts).map_err(refused)?;
    let origins = service.origins.get();
    if let Some(preflight) = origins.and_then(|origins| origins.preflight(parts, &cors::MCP)) {
        return Ok(McpReply::without_body(preflight.status, preflight.headers));
    }
    let is_allowed = origins.is_some_and(|origins| origins.allow(&parts.headers));
    check_head(parts, is_allowed)?;
    request::refuse_parameters(parts.uri.query()).map_err(refused)?;
    let call = match Call::identify(service, parts, caller, deadline).await {
        // With a known key, the error is sent under the id of the message, which clients expect.
        Err(problem) if caller.key.is_some() => Err(problem),
        call => Ok(call.map_err(refused)?),
    };
    let bytes = deadline.bound(async { Ok(read(body).await) }).await;
    let bytes = bytes.map_err(refused)??;
    let permit = service.in_flight.try_acquire();
    let problem = match (call, &permit) {
        (Ok(call), Ok(_)) => return Ok(reply_to_message(call, &bytes).await),
        (Ok(_), Err(_)) => Problem::too_many_requests(),
        (Err(problem), _) => problem,
    };
    let id = message::id_of(&bytes);
    Ok(McpReply::of_error(&refused(problem), id.as_ref()))
}

/// Refuses requests that cannot hold a message, by their headers.
fn check_head(parts: &Parts, is_origin_allowed: bool) -> Result<(), RpcError> {
    let refuse = |status, message: &str| Err(RpcError::of_status(status, message));
    if parts.method != Method::POST {
        return refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "Only POST is allowed; there are no streams and no sessions.",
        );
    }
    // Otherwise, any web page could reach a service on the machine of its reader.
    if parts.headers.contains_key(ORIGIN) && !is_origin_allowed {
        return refuse(
            StatusCode::FORBIDDEN,
            "Web pages of this origin are not allowed to call this service; the operator can allow the origin.",
        );
    }
    let is_json = |value: &HeaderValue| {
        let essence = value.as_bytes().split(|&byte| byte == b';').next();
        essence.is_some_and(|essence| {
            essence
                .trim_ascii()
                .eq_ignore_ascii_case(b"application/json")
        })
    };
    if !parts.headers.get(CONTENT_TYPE).is_some_and(is_json) {
        return refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type has to be application/json.",
        );
    }
    if !accepts_json(&parts.headers) {
        return refuse(
            StatusCode::NOT_ACCEPTABLE,
            "Accept has to allow application/json.",
        );
    }
    Ok(())
}

fn accepts_json(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().peekable();
    let is_json = |range: &str| {
        let essence = range.split(';').next().unwrap_or_default().trim();
        ["application/json", "application/*", "*/*"]
            .contains(&essence.to_ascii_lowercase().as_str())
    };
    accepted.peek().is_none()
        || accepted.any(|value| {
            value
                .to_str()
                .is_ok_and(|value| value.split(',').any(is_json))
        })
}

/// Reads the whole body, unless it is too long.
async fn read(body: &mut Body) -> Result<Vec<u8>, RpcError> {
    let too_long = || {
        let message = format!("A message has at most {MCP_MESSAGE_BYTES_MAX} bytes.");
        RpcError::of_status(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if body.size_hint().lower() > MCP_MESSAGE_BYTES_MAX as u64 {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    while let Some(data) = next_data(body).await {
        let data = data
            .map_err(|_| RpcError::of_status(StatusCode::BAD_REQUEST, "The body ended early."))?;
        if bytes.len() + data.len() > MCP_MESSAGE_BYTES_MAX {
            return Err(too_long());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Reads and drops a body, up to a limit.
async fn drain(body: &mut Body) {
    let mut left = MCP_DRAINED_BYTES_MAX;
    while let Some(Ok(data)) = next_data(body).await {
        match left.checked_sub(data.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The next bytes of a body; `None` at its end.
async fn next_data(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            // Frames without data are trailers, which are ignored.
            Ok(frame) => match frame.into_data() {
                Ok(data) => return Some(Ok(data)),
                Err(_) => continue,
            },
            Err(error) => return Some(Err(error)),
        }
    }
}

async fn reply_to_message(call: Call<'_>, bytes: &[u8]) -> McpReply {
    match message::parse(bytes) {
        Ok(ClientMessage::Request(request)) => reply_to_request(call, request).await,
        Ok(ClientMessage::Notification) => McpReply::without_body(StatusCode::ACCEPTED, Vec::new()),
        Err((id, error)) => McpReply::of_error(&error, id.as_ref()),
    }
}

async fn reply_to_request(call: Call<'_>, request: RpcRequest) -> McpReply {
    let id = request.id.clone();
    let era = match protocol::era_of(&request, Transport::Http(&call.parts.headers)) {
        Ok(era) => era,
        Err(error) => return McpReply::of_error(&error, Some(&id)),
    };
    match protocol::dispatch(request, era) {
        Ok(Dispatch::Result(result)) => McpReply::of_result(message::result_message(&id, &result)),
        Ok(Dispatch::Call(tool, arguments)) => call_tool(call, tool, &arguments, &id, era).await,
        Err(error) => {
            let reply = McpReply::of_error(&error, Some(&id));
            // Clients of earlier revisions read errors only if the status is 200.
            let status = if era == Era::Handshake {
                StatusCode::OK
            } else {
                reply.status
            };
            McpReply { status, ..reply }
        }
    }
}

/// Answers a tool call. Errors of the endpoint become results, too, so that the model can read them.
async fn call_tool(
    call: Call<'_>,
    tool: Tool,
    arguments: &Map<String, Value>,
    id: &Value,
    era: Era,
) -> McpReply {
    let (deadline, request_id) = (call.deadline, call.request_id.clone());
    let target = arguments::target(tool, arguments);
    let query = target.as_ref().ok().map(|target| target.query.clone());
    let asked = match &target {
        Ok(target) => deadline.bound(ask(call, tool, target)).await,
        Err(problem) => Err(problem.clone()),
    };
    let mut note = Note {
        endpoint: tool.recorded_name(),
        query: query.map(Into::into),
        ..Note::of_status(StatusCode::OK)
    };
    let (outcome, price) = match asked {
        Ok((outcome, price)) => (outcome, Some(price)),
        Err(problem) => {
            note.status = problem.code.status();
            note.code = Some(problem.code.as_str());
            let logged = note.status.is_server_error().then_some(request_id.as_str());
            (ToolOutcome::of_problem(&problem, logged), None)
        }
    };
    note.charged = price.map_or(0, |price| price.charged);
    let reply = McpReply::of_result(message::result_message(id, &outcome.result(era)));
    McpReply {
        price,
        note,
        ..reply
    }
}

/// Calls the endpoint of a tool, as a client of the API would.
async fn ask(
    call: Call<'_>,
    tool: Tool,
    target: &ToolTarget,
) -> Result<(ToolOutcome, Price), Problem> {
    call.check_scope(tool.endpoint().scope)?;
    let parts = target.parts(tool)?;
    let mut call = call.with_parts(&parts);
    call.wanted_rendering = Rendering::Short;
    let (found, hints, price) = find(&call, tool, target).await?;
    let usage = usage(&call, tool, price).await;
    let outcome = ToolOutcome::of_found(tool, target, (&found, &hints), Some(usage))?;
    Ok((outcome, price))
}

/// What the endpoint of a tool finds, the hints for it, and what it charges.
async fn find(
    call: &Call<'_>,
    tool: Tool,
    target: &ToolTarget,
) -> Result<(EndpointResult, Vec<String>, Price), Problem> {
    let answer = match tool {
        Tool::Search => search::page_or_count(call).await,
        Tool::Count => {
            let query = Arc::new(search::parse(call)?);
            let view = asking::trusted_view(call).await?;
            let count = search::count(call, &view, query.filter()).await?;
            let hints = hints::find(call, &view, &query, count == 0).await;
            return Ok((EndpointResult::Count(count), hints, Price::FREE));
        }
        Tool::Options => {
            let (options, free) = options::find(call).await?;
            charging::count_free(call, free);
            let found = EndpointResult::Options(Box::new(options));
            return Ok((found, Vec::new(), Price::FREE));
        }
        Tool::Signal => details::signal(call, &target.segment).await,
        Tool::Company => details::company(call, &target.segment).await,
        Tool::Changes => changes::changes(call).await,
        Tool::Aggregate => aggregates::aggregates(call).await,
        Tool::Companies => companies::page_or_count(call).await,
    }?;
    let body = to_bytes(answer.body, usize::MAX).await;
    let body = body.map_err(|error| Problem::internal(&error))?;
    Ok((
        EndpointResult::Body(body.into()),
        answer.hints,
        answer.price.unwrap_or(Price::FREE),
    ))
}

/// The usage of a call: its price, and the units left of the key's quota.
async fn usage(call: &Call<'_>, tool: Tool, price: Price) -> CallUsage {
    let remaining = match price.remaining {
        Some(remaining) => Some(remaining),
        // The answer may already be paid for, so failing to read the quota is not an error.
        None => charging::unused(call, tool.counter()).await.ok().flatten(),
    };
    CallUsage {
        charged: price.charged,
        unit: tool.counter().as_str(),
        remaining,
        replayed: price.is_replayed,
    }
}

impl McpReply {
    fn without_body(status: StatusCode, headers: Headers) -> McpReply {
        McpReply {
            status,
            headers,
            price: None,
            body: Vec::new(),
            note: Note {
                endpoint: Endpoint::Mcp.description().name,
                ..Note::of_status(status)
            },
        }
    }

    fn of_result(body: Vec<u8>) -> McpReply {
        McpReply {
            body,
            ..McpReply::without_body(StatusCode::OK, Vec::new())
        }
    }

    fn of_error(error: &RpcError, id: Option<&Value>) -> McpReply {
        let mut reply = McpReply::without_body(error.status, Vec::new());
        reply.body = error.to_message(id);
        reply.note.code = Some(error.name());
        let header = match error.status {
            StatusCode::UNAUTHORIZED => Some((header::WWW_AUTHENTICATE, "Bearer")),
            StatusCode::METHOD_NOT_ALLOWED => Some((header::ALLOW, "POST")),
            _ => None,
        };
        let header = header.map(|(name, value)| (name, HeaderValue::from_static(value)));
        reply.headers.extend(header);
        if let Some(seconds) = error.retry_after_seconds {
            reply.headers.push((header::RETRY_AFTER, seconds.into()));
        }
        reply
    }

    fn into_handled(self, service: &ServiceCore, is_body_read: bool) -> Handled<'static> {
        let has_body = !self.body.is_empty();
        let mut response = Response::new(Body::from(service.unsent.hold(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.extend(
            self.headers
                .into_iter()
                .map(|(name, value)| (Some(name), value)),
        );
        if let Some(price) = self.price {
            price.write(headers);
        }
        if has_body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Handled {
            response,
            note: self.note,
            is_body_read,
        }
    }
}
