//! Routes requests by path and method, and adds the headers that all responses share.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    self, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::any;

use super::activity::Answered;
use super::answer::Answer;
use super::call::{Call, Caller};
use super::deadline::Deadline;
use super::endpoint::{ENDPOINTS, Endpoint, EndpointDescription};
use super::handled::{Handled, Note};
use super::keyring::Rate;
use super::problem::{Problem, ProblemCode};
use super::service::{Service, ServiceCore};
use super::{
    aggregates, changes, companies, compression, cors, details, export, hints, mcp, options, pages,
    reference, request, saved_searches, search,
};

/// The `Allow` header of every endpoint.
const ALLOW: HeaderValue = HeaderValue::from_static("GET, HEAD");

/// What a request asks for: an endpoint, and the variable segment of its path.
type AskedEndpoint<'p> = (&'static EndpointDescription, &'p str);

impl Service {
    /// A router to nest under a path or to merge with other routes: `/api/v1/...` and the pages without a
    /// key. Unknown paths are left to the host.
    ///
    /// Links, the OpenAPI document and the types of problems follow the path of [`Router::nest`], which must
    /// not have parameters. A host that authenticates requests itself inserts a
    /// [`Principal`](super::Principal) into the extensions of each.
    pub fn router(&self) -> Router {
        let endpoints = ENDPOINTS.iter().filter(|known| match known.endpoint {
            Endpoint::Root => false,
            Endpoint::Mcp => self.0.limits.mcp,
            _ => true,
        });
        let router = endpoints.fold(Router::new(), |router, known| {
            router.route(known.path, any(answer_request))
        });
        router.with_state(self.clone())
    }

    /// A router for a service with an address of its own: as [`router`](Self::router), but `/` redirects to
    /// the API reference, and unknown paths are answered 404 with a problem body. It cannot be merged with
    /// a router that has a fallback.
    pub fn catch_all_router(&self) -> Router {
        Router::new()
            .fallback(answer_request)
            .with_state(self.clone())
    }
}

async fn answer_request(State(service): State<Service>, request: Request) -> Response {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let shared = &service.0;
    let asked = asked(shared, parts.uri.path());
    let is_mcp = asked.is_some_and(|(known, _)| known.endpoint == Endpoint::Mcp);
    shared.metrics.in_flight.inc();
    let mut caller = Caller {
        request_id: request_id(),
        ..Caller::default()
    };
    let handled = if is_mcp {
        mcp::answer_post(shared, &parts, body, &mut caller).await
    } else {
        handle(shared, &parts, asked, &mut caller).await
    };
    shared.metrics.in_flight.dec();
    let Handled {
        mut response,
        note,
        is_body_read,
    } = handled;
    compression::compress(&shared.unsent, &parts.headers, &mut response).await;
    if let Some(deprecation) = shared.deprecation.get() {
        let headers = response.headers_mut();
        deprecation.mark(request::base(&parts), parts.uri.path(), headers);
    }
    finish(&mut response, &parts, &caller, is_body_read);
    if let Some(origins) = shared.origins.get() {
        origins.mark(&parts.headers, response.headers_mut());
    }
    let time = started.elapsed();
    log(shared, &parts, &caller, &note, time);
    if is_mcp || asked.is_some_and(|(known, _)| known.scope.is_some()) {
        let answered = Answered {
            key: caller.key.as_ref().map_or(0, |key| key.record.number),
            request_id: caller.request_id,
            endpoint: note.endpoint,
            status: note.status.as_u16(),
            code: note.code,
            time,
            charged: note.charged,
            query: note.query.as_deref(),
        };
        let at = shared.state.now();
        shared.activity.note(&answered, at);
        if let Some(log) = &shared.request_log {
            log.push(answered.logged(at, shared.limits.show_parameters));
        }
    }
    response
}

/// The endpoint of a path, if this service has it.
fn asked<'p>(service: &ServiceCore, path: &'p str) -> Option<AskedEndpoint<'p>> {
    let is_served =
        |known: &EndpointDescription| known.endpoint != Endpoint::Mcp || service.limits.mcp;
    Endpoint::of(path).filter(|(known, _)| is_served(known))
}

/// Counts an answer in the metrics and logs it.
fn log(service: &ServiceCore, parts: &Parts, caller: &Caller, note: &Note<'_>, time: Duration) {
    let (endpoint, status) = (note.endpoint, note.status.as_u16());
    service.metrics.answered(endpoint, status, time);
    let key = caller.key.as_ref().map(|key| &key.record);
    tracing::info!(
        request_id = caller.request_id,
        key = key.map(|key| key.id.as_str()),
        key_hint = key.and_then(|key| key.hint.as_deref()),
        method = %parts.method,
        endpoint,
        status,
        microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        "answered"
    );
}

/// Answers a request to any endpoint of the API.
async fn handle<'p>(
    service: &Arc<ServiceCore>,
    parts: &'p Parts,
    asked: Option<AskedEndpoint<'p>>,
    caller: &mut Caller,
) -> Handled<'p> {
    let result = answer_in_time(service, parts, asked, caller).await;
    let code = result.as_ref().err().map(|problem| problem.code.as_str());
    let price = result.as_ref().ok().and_then(|answer| answer.price);
    let response = match result {
        Ok(answer) => response_of(answer),
        Err(problem) => response_of_problem(&problem, parts, &caller.request_id),
    };
    let note = Note {
        endpoint: asked.map_or("unknown", |(known, _)| known.name),
        status: response.status(),
        code,
        query: parts.uri.query().map(Cow::from),
        charged: price.map_or(0, |price| price.charged),
    };
    Handled {
        response,
        note,
        is_body_read: false,
    }
}

async fn answer_in_time(
    service: &Arc<ServiceCore>,
    parts: &Parts,
    asked: Option<AskedEndpoint<'_>>,
    caller: &mut Caller,
) -> Result<Answer, Problem> {
    request::check(parts)?;
    let (known, segment) = asked.ok_or_else(|| no_such_path(parts))?;
    let origins = service.origins.get();
    if let Some(answer) = origins.and_then(|origins| origins.preflight(parts, &cors::API)) {
        return Ok(answer);
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(Problem::new(
            ProblemCode::MethodNotAllowed,
            "Only GET and HEAD are allowed.",
        ));
    }
    if request::has_body(&parts.headers) {
        return Err(Problem::new(
            ProblemCode::InvalidRequest,
            "A request has no body.",
        ));
    }
    // Health checks are never refused for load: a supervisor would take the process for a broken one.
    let permit = match known.endpoint {
        Endpoint::Health | Endpoint::Ready => None,
        _ => Some(service.in_flight.try_acquire()),
    };
    let Ok(_permit) = permit.transpose() else {
        return Err(Problem::too_many_requests());
    };
    let deadline = Deadline::after(service.limits.request_time);
    let answer = ask(service, parts, (known, segment), caller, &deadline);
    deadline.bound(answer).await
}

async fn ask(
    service: &Arc<ServiceCore>,
    parts: &Parts,
    (known, segment): AskedEndpoint<'_>,
    caller: &mut Caller,
    deadline: &Deadline,
) -> Result<Answer, Problem> {
    let mut call = async || Call::authorize(service, parts, known.scope, caller, deadline).await;
    match known.endpoint {
        Endpoint::Signals => search::page_or_count(&call().await?).await,
        Endpoint::Signal => details::signal(&call().await?, segment).await,
        Endpoint::Company => details::company(&call().await?, segment).await,
        Endpoint::Companies => companies::page_or_count(&call().await?).await,
        Endpoint::FilterOptions => options::filter_options(&call().await?).await,
        Endpoint::Changes => changes::changes(&call().await?).await,
        Endpoint::Export => export::export(&call().await?).await,
        Endpoint::Aggregates => aggregates::aggregates(&call().await?).await,
        Endpoint::SavedSearches => saved_searches::list(&call().await?).await,
        Endpoint::Matches => saved_searches::matches(&call().await?, segment).await,
        Endpoint::Health => pages::health(parts),
        Endpoint::Ready => pages::ready(service, parts).await,
        Endpoint::OpenApi => pages::openapi(parts),
        Endpoint::Root => pages::root(parts),
        Endpoint::Docs => pages::docs(service, parts, reference::index()),
        Endpoint::DocsPage => {
            let page = reference::page(segment).ok_or_else(|| no_such_path(parts))?;
            pages::docs(service, parts, page)
        }
        // Answered before, since its errors are messages of its protocol.
        Endpoint::Mcp => Err(no_such_path(parts)),
    }
}

fn no_such_path(parts: &Parts) -> Problem {
    let detail = format!(
        "This path does not exist; {}/docs lists the paths.",
        request::base(parts)
    );
    Problem::new(ProblemCode::NotFound, detail)
}

fn response_of(answer: Answer) -> Response {
    let mut response = Response::new(answer.body);
    *response.status_mut() = answer.status;
    response.headers_mut().extend(answer.headers);
    if let Some(price) = answer.price {
        price.write(response.headers_mut());
    }
    let hints = hints::value(&answer.hints).and_then(|value| value.try_into().ok());
    let hints = hints.map(|value: HeaderValue| (hints::HEADER, value));
    response.headers_mut().extend(hints);
    response
}

fn response_of_problem(problem: &Problem, parts: &Parts, request_id: &str) -> Response {
    let body = problem.body(request::base(parts), request_id);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = problem.code.status();
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    match problem.code {
        ProblemCode::Unauthorized => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        ProblemCode::MethodNotAllowed => {
            headers.insert(header::ALLOW, ALLOW);
        }
        _ => {}
    }
    if let Some(seconds) = problem.retry_after_seconds {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Adds the common headers and drops the body for HEAD. Closes the connection if the request's body is
/// unread.
fn finish(response: &mut Response, parts: &Parts, caller: &Caller, is_body_read: bool) {
    if let Ok(id) = HeaderValue::from_str(&caller.request_id) {
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-request-id"), id);
    }
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if let Some(rate) = caller.rate {
        add_rate(response, rate);
    }
    let leaves_body = !is_body_read && request::has_body(&parts.headers);
    if leaves_body || parts.headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if parts.method == Method::HEAD {
        let length = axum::body::HttpBody::size_hint(response.body()).exact();
        // A body of unknown length stays, so that the headers equal those of a GET; it is never read.
        if let Some(length) = length {
            if response.status() != StatusCode::NOT_MODIFIED {
                response
                    .headers_mut()
                    .insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
            *response.body_mut() = Body::empty();
        }
    }
}

fn add_rate(response: &mut Response, rate: Rate) {
    let policy = format!("\"key\";q={};w={}", rate.burst, rate.window_seconds);
    let reset = rate
        .retry_after_seconds
        .unwrap_or(u64::from(rate.window_seconds));
    let standing = format!("\"key\";r={};t={reset}", rate.remaining);
    for (name, value) in [("ratelimit-policy", policy), ("ratelimit", standing)] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
}

/// A random id, unique with overwhelming probability.
fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static START: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let start = START.get_or_init(|| {
        let mut bytes = [0; 4];
        // Without random bytes, ids are still unique within the process.
        let _ = getrandom::fill(&mut bytes);
        u32::from_le_bytes(bytes)
    });
    format!("{start:08x}{:010x}", NEXT.fetch_add(1, Ordering::Relaxed))
}
