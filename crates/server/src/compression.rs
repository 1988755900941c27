//! gzip: which clients get it, and how the bodies of answers are compressed.
//!
//! What is kept under idempotency keys, and all entity tags, know nothing of it.

use std::io::Write;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Frame;

use super::unsent::Unsent;

/// A higher level takes twice the time for a sixth of the bytes.
const LEVEL: Compression = Compression::fast();
/// A shorter body is sent as it is: what is saved fits into the packets that it takes anyway.
const BYTES_MIN: u64 = 8 * 1024;
/// Bytes that are compressed before other requests have their turn: less than a millisecond.
const STEP_BYTES: usize = 64 * 1024;

/// Compresses the body of a successful answer if its client accepts that and it is worth it.
pub(super) async fn compress(unsent: &Unsent, request: &HeaderMap, response: &mut Response) {
    if !matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED) {
        return;
    }
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    let length = response.body().size_hint().exact();
    if length.is_some_and(|length| length < BYTES_MIN) || !accepts_gzip(request) {
        return;
    }
    let plain = mem::take(response.body_mut());
    let compressed = match length {
        // The compressor's state is larger than most pages, so it is not kept until a slow client has read one.
        Some(_) => Body::from(unsent.hold(whole(plain).await)),
        None => Body::new(GzipBody::of(plain)),
    };
    *response.body_mut() = compressed;
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
}

/// Whether a client prefers gzip (RFC 9110, section 12.5.3). A weight that cannot be read counts as 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let codings: Vec<(&str, f32)> = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(weighted)
        .collect();
    let weight = |names: &[&str]| {
        let mut codings = codings.iter();
        let is_named = |coding: &str| names.iter().any(|name| coding.eq_ignore_ascii_case(name));
        let found = codings.find(|(coding, _)| is_named(coding));
        found.map(|&(_, weight)| weight)
    };
    let gzip = weight(&["gzip", "x-gzip"]).or_else(|| weight(&["*"]));
    let identity = weight(&["identity"]).unwrap_or(0.0);
    gzip.is_some_and(|gzip| gzip > 0.0 && gzip >= identity)
}

/// A coding with its weight.
fn weighted(coding: &str) -> (&str, f32) {
    let mut parts = coding.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| {
        let (name, weight) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then_some(weight)
    });
    let weight = weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
    (name, weight)
}

fn encoder() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), LEVEL)
}

/// Compresses a body of known length, which is in memory, so that reading it cannot fail.
async fn whole(body: Body) -> Vec<u8> {
    let plain = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut encoder = encoder();
    for step in plain.chunks(STEP_BYTES) {
        // Memory can be written to.
        let _ = encoder.write_all(step);
        tokio::task::yield_now().await;
    }
    encoder.finish().unwrap_or_default()
}

/// A body that is compressed as it comes. Before it waits or fails, what has come is sent on, so that a
/// client loses nothing of what it was charged.
struct GzipBody {
    body: Body,
    /// `None` when the end has been sent.
    encoder: Option<GzEncoder<Vec<u8>>>,
    /// What has come and is not compressed yet.
    pending: Bytes,
    /// Whether the compressor holds back what it was given.
    is_holding: bool,
    /// Why the body has failed, until that is passed on.
    failed: Option<axum::Error>,
}

/// What a poll of a body finds.
type BodyPoll = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

impl GzipBody {
    fn of(body: Body) -> GzipBody {
        GzipBody {
            body,
            encoder: Some(encoder()),
            pending: Bytes::new(),
            is_holding: false,
            failed: None,
        }
    }

    /// Compresses a step of what has come. Returns what it became, if that is ready.
    fn step(&mut self) -> Option<Bytes> {
        let step = self.pending.split_to(self.pending.len().min(STEP_BYTES));
        let encoder = self.encoder.as_mut()?;
        // Memory can be written to.
        let _ = encoder.write_all(&step);
        self.is_holding = true;
        let ready = mem::take(encoder.get_mut());
        (!ready.is_empty()).then(|| ready.into())
    }

    /// What the compressor holds back, if it does.
    fn flush(&mut self) -> Option<Bytes> {
        let encoder = self.encoder.as_mut().filter(|_| self.is_holding)?;
        self.is_holding = false;
        let _ = encoder.flush();
        Some(mem::take(encoder.get_mut()).into())
    }

    /// The end of the compressed body; once.
    fn finish(&mut self) -> Option<Bytes> {
        let rest = self.encoder.take()?.finish();
        Some(rest.unwrap_or_default().into())
    }
}

impl HttpBody for GzipBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> BodyPoll {
        if let Some(error) = self.failed.take() {
            self.encoder = None;
            return Poll::Ready(Some(Err(error)));
        }
        // At each turn, everything before `pending` is compressed.
        loop {
            if self.encoder.is_none() {
                return Poll::Ready(None);
            }
            if !self.pending.is_empty() {
                match self.step() {
                    Some(ready) => return frame(Some(ready)),
                    None => continue,
                }
            }
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(next))) => {
                    self.pending = next.into_data().unwrap_or_default();
                }
                Poll::Ready(None) => return frame(self.finish()),
                Poll::Ready(Some(Err(error))) => match self.flush() {
                    Some(held) => {
                        self.failed = Some(error);
                        return frame(Some(held));
                    }
                    None => {
                        self.encoder = None;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                Poll::Pending => match self.flush() {
                    Some(held) => return frame(Some(held)),
                    None => return Poll::Pending,
                },
            }
        }
    }
}

fn frame(bytes: Option<Bytes>) -> BodyPoll {
    Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
}

#[cfg(test)]
mod tests;
