//! A receiver of webhooks in the process of a test.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::net::TcpListener;

use super::deliver::lock;
use super::{WebhookOptions, WebhookRules};

/// An event as the receiver has it.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A receiver and what it answers next: an empty list is 200.
#[derive(Clone, Default)]
pub(super) struct Receiver {
    events: Arc<Mutex<Vec<Received>>>,
    pub(super) answers: Arc<Mutex<VecDeque<u16>>>,
}

impl Received {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(super) fn id(&self) -> String {
        self.header("webhook-id")
    }

    pub(super) fn header(&self, name: &str) -> String {
        let value = self.headers.get(name).expect(name);
        value.to_str().expect("a text").to_owned()
    }

    /// The ids of its matches and their signals.
    pub(super) fn matches(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let body = self.json();
        let matches = body["data"]["matches"].as_array().expect("matches").iter();
        matches
            .map(|found| (text(&found["id"]), text(&found["signal"]["id"])))
            .collect()
    }
}

impl Receiver {
    pub(super) async fn listen(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let routes = Router::new().fallback(receive).with_state(self);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(routes.clone());
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(serving);
            }
        });
        format!("http://{address}/in")
    }

    pub(super) fn answer(&self, statuses: &[u16]) {
        lock(&self.answers).extend(statuses);
    }

    pub(super) fn take(&self) -> Vec<Received> {
        std::mem::take(&mut *lock(&self.events))
    }
}

async fn receive(Shared(receiver): Shared<Receiver>, headers: HeaderMap, body: Bytes) -> Response {
    lock(&receiver.events).push(Received { headers, body });
    let status = lock(&receiver.answers).pop_front().unwrap_or(200);
    match status {
        0 => std::future::pending().await,
        302 => (StatusCode::FOUND, [("location", "/in")]).into_response(),
        503 => (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "100000")]).into_response(),
        status => StatusCode::from_u16(status)
            .expect("a status")
            .into_response(),
    }
}

pub(super) fn options() -> WebhookOptions {
    let mut rules = WebhookRules::default();
    rules.allowed.push("127.0.0.0/8".parse().expect("a range"));
    rules.http = true;
    WebhookOptions {
        rules,
        ..WebhookOptions::default()
    }
}
