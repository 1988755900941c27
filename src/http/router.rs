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
use super::keyring::Rate;
use super::keys::Scope;
use super::problem::{Code, Problem};
use super::service::{Service, Shared};
use super::{changes, cors, details, export, mcp, options, pages, reference, request, search};

/// The `Allow` header of every endpoint.
const ALLOW: HeaderValue = HeaderValue::from_static("GET, HEAD");

/// Path patterns of the router, except `/`. [`Endpoint::of`] matches the path again.
const PATHS: [&str; 11] = [
    "/api/v1/signals",
    "/api/v1/signals/{id}",
    "/api/v1/companies/{slug}",
    "/api/v1/filter-options",
    "/api/v1/changes",
    "/api/v1/export",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/docs",
    "/docs/{page}",
];

/// The path of the tools for agents.
const MCP_PATH: &str = "/mcp";

/// The endpoint of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint<'p> {
    Signals,
    Signal(&'p str),
    Company(&'p str),
    FilterOptions,
    Changes,
    Export,
    Health,
    Ready,
    OpenApi,
    Root,
    /// A page of the API reference.
    Docs(&'static str),
}

/// An answered request.
pub(super) struct Handled<'p> {
    pub(super) response: Response,
    pub(super) note: Note<'p>,
    /// Whether the whole request has been read from the connection.
    pub(super) is_body_read: bool,
}

/// What metrics, the log and the dashboard record of a request.
pub(super) struct Note<'p> {
    pub(super) endpoint: &'static str,
    pub(super) status: StatusCode,
    /// The problem code, if the request was refused.
    pub(super) code: Option<&'static str>,
    pub(super) query: Option<Cow<'p, str>>,
}

impl Note<'_> {
    pub(super) fn of_status(status: StatusCode) -> Note<'static> {
        Note {
            endpoint: "unknown",
            status,
            code: None,
            query: None,
        }
    }
}

impl Service {
    /// A router to nest under a path or to merge with other routes: `/api/v1/...` and the pages without a
    /// key. Unknown paths are left to the host.
    ///
    /// Links, the OpenAPI document and the types of problems follow the path of [`Router::nest`], which must
    /// not have parameters. A host that authenticates requests itself inserts a
    /// [`Principal`](super::Principal) into the extensions of each.
    pub fn router(&self) -> Router {
        let mcp = self.0.limits.mcp.then_some(MCP_PATH);
        let endpoints = PATHS.into_iter().chain(mcp);
        let endpoints = endpoints.fold(Router::new(), |router, path| {
            router.route(path, any(answer))
        });
        endpoints.with_state(self.clone())
    }

    /// A router for a service with an address of its own: as [`router`](Self::router), but `/` redirects to
    /// the API reference, and unknown paths are answered 404 with a problem body. It cannot be merged with
    /// a router that has a fallback.
    pub fn catch_all_router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }
}

async fn answer(State(service): State<Service>, request: Request) -> Response {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let shared = &service.0;
    let endpoint = Endpoint::of(parts.uri.path());
    let is_mcp = shared.limits.mcp && parts.uri.path() == MCP_PATH;
    shared.metrics.in_flight.inc();
    let mut caller = Caller {
        request_id: request_id(),
        ..Caller::default()
    };
    let handled = if is_mcp {
        mcp::answer(shared, &parts, body, &mut caller).await
    } else {
        handle(shared, &parts, endpoint, &mut caller).await
    };
    shared.metrics.in_flight.dec();
    let Handled {
        mut response,
        note,
        is_body_read,
    } = handled;
    finish(&mut response, &parts, &caller, is_body_read);
    if let Some(origins) = shared.origins.get() {
        origins.mark(&parts.headers, response.headers_mut());
    }
    let time = started.elapsed();
    log(shared, &parts, &caller, &note, time);
    if is_mcp || endpoint.is_some_and(Endpoint::needs_key) {
        let answered = Answered {
            key: caller.key.as_ref().map_or(0, |key| key.record.number),
            request_id: caller.request_id,
            endpoint: note.endpoint,
            status: note.status.as_u16(),
            code: note.code,
            time,
            charged: units_charged(&response),
            query: note.query.as_deref(),
        };
        shared.activity.note(answered, shared.state.now());
    }
    response
}

/// Counts an answer in the metrics and logs it.
fn log(service: &Shared, parts: &Parts, caller: &Caller, note: &Note<'_>, time: Duration) {
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

/// The units charged for an answer, from its headers.
fn units_charged(response: &Response) -> u64 {
    let units = response.headers().get(search::CHARGED);
    let units = units.and_then(|units| units.to_str().ok());
    units.and_then(|units| units.parse().ok()).unwrap_or(0)
}

/// Answers a request to any endpoint of the API.
async fn handle<'p>(
    service: &Arc<Shared>,
    parts: &'p Parts,
    endpoint: Option<Endpoint<'p>>,
    caller: &mut Caller,
) -> Handled<'p> {
    let result = answer_in_time(service, parts, endpoint, caller).await;
    let code = result.as_ref().err().map(|problem| problem.code.as_str());
    let response = match result {
        Ok(answer) => response_of(answer),
        Err(problem) => response_of_problem(&problem, parts, &caller.request_id),
    };
    let note = Note {
        endpoint: endpoint.map_or("unknown", Endpoint::name),
        status: response.status(),
        code,
        query: parts.uri.query().map(Cow::from),
    };
    Handled {
        response,
        note,
        is_body_read: false,
    }
}

async fn answer_in_time(
    service: &Arc<Shared>,
    parts: &Parts,
    endpoint: Option<Endpoint<'_>>,
    caller: &mut Caller,
) -> Result<Answer, Problem> {
    request::check(parts)?;
    let endpoint = endpoint.ok_or_else(|| {
        let base = request::base(parts);
        let detail = format!("There is no such path; {base}/docs lists those that there are.");
        Problem::new(Code::NotFound, detail)
    })?;
    let origins = service.origins.get();
    if let Some(answer) = origins.and_then(|origins| origins.preflight(parts, &cors::API)) {
        return Ok(answer);
    }
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(Problem::new(
            Code::MethodNotAllowed,
            "Only GET and HEAD are allowed.",
        ));
    }
    if request::has_body(&parts.headers) {
        return Err(Problem::new(Code::InvalidRequest, "A request has no body."));
    }
    // Health checks are never refused for load: a supervisor would take the process for a broken one.
    let permit = match endpoint {
        Endpoint::Health | Endpoint::Ready => None,
        _ => Some(service.in_flight.try_acquire()),
    };
    let Ok(_permit) = permit.transpose() else {
        return Err(Problem::too_many_requests());
    };
    let deadline = Deadline::after(service.limits.request_time);
    let answer = endpoint.answer(service, parts, caller, &deadline);
    deadline.bound(answer).await
}

impl<'p> Endpoint<'p> {
    fn of(path: &'p str) -> Option<Endpoint<'p>> {
        let segment = |text: &'p str| (!text.is_empty() && !text.contains('/')).then_some(text);
        match path {
            "/api/v1/signals" => Some(Endpoint::Signals),
            "/api/v1/filter-options" => Some(Endpoint::FilterOptions),
            "/api/v1/changes" => Some(Endpoint::Changes),
            "/api/v1/export" => Some(Endpoint::Export),
            "/healthz" => Some(Endpoint::Health),
            "/readyz" => Some(Endpoint::Ready),
            "/openapi.json" => Some(Endpoint::OpenApi),
            "/" => Some(Endpoint::Root),
            "/docs" => Some(Endpoint::Docs(reference::index())),
            _ => {
                if let Some(id) = path.strip_prefix("/api/v1/signals/") {
                    segment(id).map(Endpoint::Signal)
                } else if let Some(slug) = path.strip_prefix("/api/v1/companies/") {
                    segment(slug).map(Endpoint::Company)
                } else {
                    let slug = path.strip_prefix("/docs/")?;
                    reference::page(slug).map(Endpoint::Docs)
                }
            }
        }
    }

    /// Whether the endpoint needs a key.
    fn needs_key(self) -> bool {
        matches!(
            self,
            Endpoint::Signals
                | Endpoint::Signal(_)
                | Endpoint::Company(_)
                | Endpoint::FilterOptions
                | Endpoint::Changes
                | Endpoint::Export
        )
    }

    /// The name of the endpoint in metrics and logs.
    fn name(self) -> &'static str {
        match self {
            Endpoint::Signals => "search",
            Endpoint::Signal(_) => "signal",
            Endpoint::Company(_) => "company",
            Endpoint::FilterOptions => "filter-options",
            Endpoint::Changes => "changes",
            Endpoint::Export => "export",
            Endpoint::Health => "health",
            Endpoint::Ready => "ready",
            Endpoint::OpenApi => "openapi",
            Endpoint::Root => "root",
            Endpoint::Docs(_) => "docs",
        }
    }

    async fn answer(
        self,
        service: &Arc<Shared>,
        parts: &Parts,
        caller: &mut Caller,
        deadline: &Deadline,
    ) -> Result<Answer, Problem> {
        let mut call = async |scope| Call::authorize(service, parts, scope, caller, deadline).await;
        match self {
            Endpoint::Signals => search::answer(&call(Scope::SignalsRead).await?).await,
            Endpoint::Signal(id) => details::signal(&call(Scope::SignalsRead).await?, id).await,
            Endpoint::Company(slug) => {
                details::company(&call(Scope::CompaniesRead).await?, slug).await
            }
            Endpoint::FilterOptions => options::answer(&call(Scope::SignalsRead).await?).await,
            Endpoint::Changes => changes::answer(&call(Scope::SignalsRead).await?).await,
            Endpoint::Export => export::answer(&call(Scope::SignalsRead).await?).await,
            Endpoint::Health => pages::health(parts),
            Endpoint::Ready => pages::ready(service, parts).await,
            Endpoint::OpenApi => pages::openapi(parts),
            Endpoint::Root => pages::root(parts),
            Endpoint::Docs(html) => pages::docs(service, parts, html),
        }
    }
}

fn response_of(answer: Answer) -> Response {
    let mut response = Response::new(answer.body);
    *response.status_mut() = answer.status;
    response.headers_mut().extend(answer.headers);
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
        Code::Unauthorized => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Code::MethodNotAllowed => {
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
