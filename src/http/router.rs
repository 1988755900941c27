//! One entrance for every request: path, method, key, rate limit, and the answer's headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    self, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName,
    HeaderValue,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use time::{Date, UtcDateTime};

use super::deadline::Deadline;
use super::keyring::{Key, Rate};
use super::keys::{KeyHash, Scope};
use super::metering::Month;
use super::problem::{Code, Problem};
use super::service::{Service, Shared};
use super::{details, options, pages, request, search};

/// The methods of every endpoint, as `Allow` writes them.
const ALLOW: HeaderValue = HeaderValue::from_static("GET, HEAD");

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint<'p> {
    Signals,
    Signal(&'p str),
    Company(&'p str),
    FilterOptions,
    Health,
    Ready,
    OpenApi,
    Docs,
}

/// A request of a known key to an endpoint that needs one.
pub(super) struct Call<'a> {
    pub(super) service: &'a Shared,
    pub(super) parts: &'a Parts,
    pub(super) key: Arc<Key>,
    pub(super) month: Month,
    pub(super) now: UtcDateTime,
    pub(super) deadline: &'a Deadline,
    /// The day that counts as today for every part of the answer.
    pub(super) today: Date,
}

/// An answer that is not an error.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Service {
    /// A router to mount: `/api/v1/...`, and beside it the pages that need no key.
    pub fn router(&self) -> Router {
        Router::new().fallback(answer).with_state(self.clone())
    }
}

impl Call<'_> {
    pub(super) fn is_head(&self) -> bool {
        self.parts.method == Method::HEAD
    }

    pub(super) fn query(&self) -> &str {
        self.parts.uri.query().unwrap_or_default()
    }
}

impl Answer {
    pub(super) fn new(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Answer {
            status: StatusCode::OK,
            body: body.into(),
            headers,
        }
    }

    pub(super) fn json(body: impl Into<Bytes>) -> Answer {
        Answer::new("application/json", body)
    }

    /// The client has the answer already.
    pub(super) fn not_modified() -> Answer {
        Answer {
            status: StatusCode::NOT_MODIFIED,
            body: Bytes::new(),
            headers: Vec::new(),
        }
    }

    /// Adds a header; a value that cannot be one is left out.
    pub(super) fn with(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Answer {
        if let Ok(value) = value.try_into() {
            self.headers.push((name, value));
        }
        self
    }
}

async fn answer(State(service): State<Service>, request: Request) -> Response {
    let started = Instant::now();
    let request_id = request_id();
    let (parts, _body) = request.into_parts();
    let endpoint = Endpoint::of(parts.uri.path());
    let shared = &*service.0;
    shared.metrics.in_flight.inc();
    let mut rate = None;
    let result = answer_in_time(shared, &parts, endpoint, &mut rate).await;
    shared.metrics.in_flight.dec();
    let mut response = match result {
        Ok(answer) => response_of(answer),
        Err(problem) => response_of_problem(&problem, &request_id),
    };
    finish(&mut response, &parts, rate, &request_id);
    let status = response.status().as_u16();
    let name = endpoint.map_or("unknown", Endpoint::name);
    let time = started.elapsed();
    shared.metrics.answered(name, status, time);
    tracing::info!(
        request_id,
        method = %parts.method,
        endpoint = name,
        status,
        microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        "answered"
    );
    response
}

async fn answer_in_time(
    service: &Shared,
    parts: &Parts,
    endpoint: Option<Endpoint<'_>>,
    rate: &mut Option<Rate>,
) -> Result<Answer, Problem> {
    request::check(parts)?;
    let endpoint = endpoint.ok_or_else(|| {
        let detail = "There is no such path; /docs lists those that there are.";
        Problem::new(Code::NotFound, detail)
    })?;
    if parts.method != Method::GET && parts.method != Method::HEAD {
        return Err(Problem::new(
            Code::MethodNotAllowed,
            "Only GET and HEAD are allowed.",
        ));
    }
    if request::has_body(&parts.headers) {
        return Err(Problem::new(Code::InvalidRequest, "A request has no body."));
    }
    let Ok(_permit) = service.in_flight.try_acquire() else {
        return Err(Problem::overloaded("Too many requests are under way."));
    };
    let deadline = Deadline::after(service.limits.request_time);
    let answer = endpoint.answer(service, parts, rate, &deadline);
    deadline.bound(answer).await
}

impl<'p> Endpoint<'p> {
    fn of(path: &'p str) -> Option<Endpoint<'p>> {
        let segment = |text: &'p str| (!text.is_empty() && !text.contains('/')).then_some(text);
        match path {
            "/api/v1/signals" => Some(Endpoint::Signals),
            "/api/v1/filter-options" => Some(Endpoint::FilterOptions),
            "/healthz" => Some(Endpoint::Health),
            "/readyz" => Some(Endpoint::Ready),
            "/openapi.json" => Some(Endpoint::OpenApi),
            "/docs" => Some(Endpoint::Docs),
            _ => match path.strip_prefix("/api/v1/signals/") {
                Some(id) => segment(id).map(Endpoint::Signal),
                None => path
                    .strip_prefix("/api/v1/companies/")
                    .and_then(segment)
                    .map(Endpoint::Company),
            },
        }
    }

    /// The endpoint as metrics and logs call it.
    fn name(self) -> &'static str {
        match self {
            Endpoint::Signals => "search",
            Endpoint::Signal(_) => "signal",
            Endpoint::Company(_) => "company",
            Endpoint::FilterOptions => "filter-options",
            Endpoint::Health => "health",
            Endpoint::Ready => "ready",
            Endpoint::OpenApi => "openapi",
            Endpoint::Docs => "docs",
        }
    }

    async fn answer(
        self,
        service: &Shared,
        parts: &Parts,
        rate: &mut Option<Rate>,
        deadline: &Deadline,
    ) -> Result<Answer, Problem> {
        let mut call = |scope| call(service, parts, scope, rate, deadline);
        match self {
            Endpoint::Signals => search::answer(&call(Scope::SignalsRead)?).await,
            Endpoint::Signal(id) => details::signal(&call(Scope::SignalsRead)?, id).await,
            Endpoint::Company(slug) => details::company(&call(Scope::CompaniesRead)?, slug).await,
            Endpoint::FilterOptions => options::answer(&call(Scope::SignalsRead)?).await,
            Endpoint::Health => pages::health(parts),
            Endpoint::Ready => pages::ready(service, parts),
            Endpoint::OpenApi => pages::openapi(parts),
            Endpoint::Docs => pages::docs(parts),
        }
    }
}

/// Finds out who asks, and whether they may.
fn call<'a>(
    service: &'a Shared,
    parts: &'a Parts,
    scope: Scope,
    rate: &mut Option<Rate>,
    deadline: &'a Deadline,
) -> Result<Call<'a>, Problem> {
    // The files are looked at again only where they were lost, which heals without a follower too.
    if service.state.is_lost() && service.state.check_files().is_err() {
        return Err(pages::state_is_lost());
    }
    let now = UtcDateTime::now();
    let unauthorized = || {
        Problem::new(
            Code::Unauthorized,
            "Send a valid key: Authorization: Bearer <API_KEY>.",
        )
    };
    let hash = presented_key(parts).ok_or_else(unauthorized)?;
    let key = service
        .keyring
        .find(&hash, &service.state)
        .map_err(|error| Problem::internal(&error))?;
    let key = key
        .filter(|key| key.record.is_valid_at(now))
        .ok_or_else(unauthorized)?;
    let standing = key.request();
    *rate = Some(standing);
    if let Some(seconds) = standing.retry_after_seconds {
        let problem = Problem::new(Code::RateLimited, "The key has sent too many requests.");
        return Err(problem.retry_after(seconds));
    }
    if !key.record.settings.scopes.contains(scope) {
        let detail = format!("The key lacks the scope {}.", scope.as_str());
        return Err(Problem::new(Code::Forbidden, detail));
    }
    Ok(Call {
        service,
        parts,
        key,
        month: Month::of(now),
        now,
        deadline,
        today: service.today_at(now),
    })
}

fn presented_key(parts: &Parts) -> Option<KeyHash> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("Bearer")
        .then(|| KeyHash::of_presented(key.trim_start()))?
}

fn response_of(answer: Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    response.headers_mut().extend(answer.headers);
    response
}

fn response_of_problem(problem: &Problem, request_id: &str) -> Response {
    let mut response = Response::new(Body::from(problem.body(request_id)));
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

/// What every answer has, and what a HEAD has not.
fn finish(response: &mut Response, parts: &Parts, rate: Option<Rate>, request_id: &str) {
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-request-id"), id);
    }
    response.headers_mut().insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if let Some(rate) = rate {
        add_rate(response, rate);
    }
    if request::has_body(&parts.headers) || parts.headers.get_all(CONTENT_LENGTH).iter().count() > 1
    {
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if parts.method == Method::HEAD {
        let length = axum::body::HttpBody::size_hint(response.body())
            .exact()
            .unwrap_or(0);
        if response.status() != StatusCode::NOT_MODIFIED {
            response
                .headers_mut()
                .insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        *response.body_mut() = Body::empty();
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

/// An id that no other request of this or another process is likely to have.
fn request_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static START: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let start = START.get_or_init(|| {
        let mut bytes = [0; 4];
        // Without random bytes ids are still unique within the process.
        let _ = getrandom::fill(&mut bytes);
        u32::from_le_bytes(bytes)
    });
    format!("{start:08x}{:010x}", NEXT.fetch_add(1, Ordering::Relaxed))
}
