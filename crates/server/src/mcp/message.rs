//! Messages of JSON-RPC 2.0: parsing requests, writing results and errors.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::problem::{Problem, ProblemCode};

pub(super) const PARSE_ERROR: i64 = -32_700;
pub(super) const INVALID_REQUEST: i64 = -32_600;
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
pub(super) const INVALID_PARAMS: i64 = -32_602;

/// A message from a client.
#[derive(Debug)]
pub(super) enum ClientMessage {
    Request(RpcRequest),
    /// A message without an answer.
    Notification,
}

/// A request, which must be answered.
#[derive(Debug)]
pub(super) struct RpcRequest {
    /// A text or a whole number.
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

/// An error answer to a message.
#[derive(Debug)]
pub(super) struct RpcError {
    /// A code of JSON-RPC or of the protocol, or the HTTP status if the request is refused before its message
    /// is parsed.
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
    /// The HTTP status.
    pub(super) status: StatusCode,
    pub(super) retry_after_seconds: Option<u64>,
}

/// An error, with the id of the request if it could be parsed.
pub(super) type Unreadable = (Option<Value>, RpcError);

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
            status: StatusCode::BAD_REQUEST,
            retry_after_seconds: None,
        }
    }

    /// An error whose code is the HTTP status.
    pub(super) fn of_status(status: StatusCode, message: impl Into<String>) -> RpcError {
        RpcError {
            status,
            ..RpcError::new(status.as_u16().into(), message)
        }
    }

    /// An error from a problem of the whole request, such as a missing key.
    pub(super) fn of_problem(problem: &Problem, request_id: &str) -> RpcError {
        let mut message = problem.detail.clone();
        for error in &problem.errors {
            message.push(' ');
            message.push_str(&error.message);
        }
        RpcError {
            data: Some(json!({"code": problem.code.as_str(), "requestId": request_id})),
            retry_after_seconds: problem.retry_after_seconds,
            ..RpcError::of_status(problem.code.status(), message)
        }
    }

    /// The problem code for the dashboard and the log.
    pub(super) fn name(&self) -> &'static str {
        let of_status = ProblemCode::ALL
            .iter()
            .find(|code| code.status() == self.status);
        of_status.map_or(ProblemCode::InvalidRequest.as_str(), |code| code.as_str())
    }

    /// The complete message, without an id if that of the request could not be parsed.
    pub(super) fn to_message(&self, id: Option<&Value>) -> Vec<u8> {
        let error = RpcErrorBody {
            code: self.code,
            message: &self.message,
            data: self.data.as_ref(),
        };
        let message = RpcMessage::<RawValue> {
            jsonrpc: "2.0",
            id,
            result: None,
            error: Some(error),
        };
        serde_json::to_vec(&message).unwrap_or_default()
    }
}

/// The message with a result.
pub(super) fn result_message(id: &Value, result: &impl Serialize) -> Vec<u8> {
    let message = RpcMessage {
        jsonrpc: "2.0",
        id: Some(id),
        result: Some(result),
        error: None,
    };
    // Serialising maps with text keys, texts and numbers cannot fail.
    serde_json::to_vec(&message).unwrap_or_default()
}

#[derive(Serialize)]
struct RpcMessage<'a, R: Serialize + ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a R>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcErrorBody<'a>>,
}

#[derive(Serialize)]
struct RpcErrorBody<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
}

/// Parses one message.
///
/// # Errors
/// It is not JSON, or neither a request nor a notification.
pub(super) fn parse(bytes: &[u8]) -> Result<ClientMessage, Unreadable> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("The message is not JSON: {error}.");
        (None, RpcError::new(PARSE_ERROR, message))
    })?;
    let invalid = |id: Option<&Value>, message: &str| {
        let id = id.cloned();
        (id, RpcError::new(INVALID_REQUEST, message))
    };
    let mut members = match value {
        Value::Object(members) => members,
        Value::Array(_) => {
            let message = "Batches are not part of the protocol; send each message by itself.";
            return Err(invalid(None, message));
        }
        _ => return Err(invalid(None, "A message is a JSON object.")),
    };
    let id = members.remove("id");
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(invalid(None, "id has to be a string or an integer."));
    }
    if members.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(invalid(id.as_ref(), "jsonrpc has to be \"2.0\"."));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        let message = if members.contains_key("result") || members.contains_key("error") {
            "A server accepts requests and notifications, but no responses."
        } else {
            "method has to be a string."
        };
        return Err(invalid(id.as_ref(), message));
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            let error = RpcError::new(INVALID_PARAMS, "params has to be an object.");
            return Err((id, error));
        }
    };
    Ok(match id {
        None => ClientMessage::Notification,
        Some(id) => ClientMessage::Request(RpcRequest { id, method, params }),
    })
}

/// The id of a message, if it has one.
pub(super) fn id_of(bytes: &[u8]) -> Option<Value> {
    match parse(bytes) {
        Ok(ClientMessage::Request(request)) => Some(request.id),
        Ok(ClientMessage::Notification) => None,
        Err((id, _)) => id,
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

#[cfg(test)]
mod tests;
