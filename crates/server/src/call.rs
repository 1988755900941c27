//! An authenticated request: its sender, its parameters and its date.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use time::{Date, UtcDateTime};
use tokio::time::Instant;

use super::deadline::Deadline;
use super::keyring::{KnownKey, Rate};
use super::keys::{KeyHash, Scope};
use super::metering::Month;
use super::principal::Principal;
use super::problem::{Problem, ProblemCode};
use super::service::ServiceCore;
use super::state::Arrival;
use crate::corpus::Corpus;
use signaldex::json::Rendering;
use signaldex::query::KeyFilter;

const NO_KEY: &str = "Send the complete key, which begins with sdx_, in a single header: Authorization: Bearer <API_KEY>.";

const UNKNOWN_KEY: &str = "The key is unknown to this service; ask the operator for a valid one.";

/// The sender of a request, as far as it is known, for headers, the log and the dashboard.
#[derive(Debug, Default)]
pub(super) struct Caller {
    pub(super) request_id: String,
    pub(super) key: Option<Arc<KnownKey>>,
    pub(super) rate: Option<Rate>,
}

/// An authenticated request to an endpoint that needs a key.
pub(super) struct Call<'a> {
    pub(super) service: &'a Arc<ServiceCore>,
    pub(super) parts: &'a Parts,
    pub(super) request_id: String,
    pub(super) key: Arc<KnownKey>,
    /// The hash of the key that was sent; `None` if the host has authenticated the request.
    pub(super) key_hash: Option<KeyHash>,
    pub(super) month: Month,
    pub(super) now: UtcDateTime,
    pub(super) deadline: &'a Deadline,
    /// The date used as today for every part of the answer.
    pub(super) today: Date,
    /// What the key may read.
    corpus: Arc<dyn Corpus>,
    /// Set while commits wait for the charge of this request.
    arrival: Mutex<Option<Arrival>>,
    /// How the caller wants signals to be written.
    pub(super) wanted_rendering: Rendering,
}

impl<'a> Call<'a> {
    /// What is asked.
    pub(super) fn corpus(&self) -> Arc<dyn Corpus> {
        Arc::clone(&self.corpus)
    }

    /// The filter of the key.
    pub(super) fn filter(&self) -> Option<&KeyFilter> {
        self.key.record.settings.filter.as_deref()
    }

    /// Authenticates a request, and checks the key's rate limit and the scope that it needs, if any.
    pub(super) async fn authorize(
        service: &'a Arc<ServiceCore>,
        parts: &'a Parts,
        scope: Option<Scope>,
        caller: &mut Caller,
        deadline: &'a Deadline,
    ) -> Result<Call<'a>, Problem> {
        let call = Call::identify(service, parts, caller, deadline).await?;
        call.check_scope(scope)?;
        Ok(call)
    }

    /// Authenticates a request and checks the key's rate limit. `caller` is set as soon as the key is
    /// known, so that refusals have it, too.
    pub(super) async fn identify(
        service: &'a Arc<ServiceCore>,
        parts: &'a Parts,
        caller: &mut Caller,
        deadline: &'a Deadline,
    ) -> Result<Call<'a>, Problem> {
        // Lost files are looked for again here, so that hosts without a follower recover, too.
        if service.state.is_lost() {
            let check = |service: &ServiceCore| Ok(service.state.check_files().is_err());
            if service.read(deadline.at(), check).await? {
                return Err(state_is_lost());
            }
        }
        let now = service.state.now();
        let (key, key_hash) = identify(service, parts, now, deadline.at()).await?;
        let standing = key.request();
        caller.rate = Some(standing);
        caller.key = Some(Arc::clone(&key));
        if let Some(seconds) = standing.retry_after_seconds {
            let problem = Problem::new(
                ProblemCode::RateLimited,
                "The key has sent too many requests; wait for the time in Retry-After.",
            );
            return Err(problem.retry_after(seconds));
        }
        let today = service.today_at(now);
        let filter = key.record.settings.filter.as_ref();
        Ok(Call {
            corpus: service.corpus.for_key(filter, today),
            service,
            parts,
            request_id: caller.request_id.clone(),
            key,
            key_hash,
            month: Month::of(now),
            now,
            deadline,
            today,
            arrival: Mutex::default(),
            wanted_rendering: Rendering::Whole,
        })
    }

    /// The same caller's call with another request.
    pub(super) fn with_parts<'b>(self, parts: &'b Parts) -> Call<'b>
    where
        'a: 'b,
    {
        let call: Call<'b> = self;
        Call { parts, ..call }
    }

    pub(super) fn check_scope(&self, scope: Option<Scope>) -> Result<(), Problem> {
        let scopes = self.key.record.settings.scopes;
        let Some(scope) = scope.filter(|&scope| !scopes.contains(scope)) else {
            return Ok(());
        };
        let detail = format!(
            "The key lacks the scope {}; ask the operator for a key that has it.",
            scope.as_str()
        );
        Err(Problem::new(ProblemCode::Forbidden, detail))
    }

    /// Lets commits wait a little for the charge of this request.
    pub(super) fn expect_charge(&self) {
        if self.key.is_metered && !self.is_head() {
            *self.arrival() = Some(self.service.writer.arrive());
        }
    }

    /// Takes what commits wait for, to drop it when the charge is queued.
    pub(super) fn take_arrival(&self) -> Option<Arrival> {
        self.arrival().take()
    }

    fn arrival(&self) -> MutexGuard<'_, Option<Arrival>> {
        self.arrival.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How signals are written. A kept answer is repeated to any client that sends its idempotency key, so it is
    /// whole.
    pub(super) fn rendering(&self, is_kept: bool) -> Rendering {
        if is_kept {
            Rendering::Whole
        } else {
            self.wanted_rendering
        }
    }

    pub(super) fn is_head(&self) -> bool {
        self.parts.method == Method::HEAD
    }

    pub(super) fn query(&self) -> &str {
        self.parts.uri.query().unwrap_or_default()
    }
}

/// The answer to every request with a key while the state file is missing.
fn state_is_lost() -> Problem {
    Problem::overloaded("The state file was moved or replaced; nothing was charged.")
}

/// The key of a request, or of the principal that the host has set.
async fn identify(
    service: &Arc<ServiceCore>,
    parts: &Parts,
    now: UtcDateTime,
    until: Instant,
) -> Result<(Arc<KnownKey>, Option<KeyHash>), Problem> {
    if let Some(principal) = parts.extensions.get::<Principal>() {
        if let Some(key) = service.keyring.known_principal(principal) {
            return Ok((key, None));
        }
        let principal = principal.clone();
        let find =
            move |service: &ServiceCore| service.keyring.of_principal(&principal, &service.state);
        return Ok((service.read(until, find).await?, None));
    }
    let unauthorized = |detail: &str| Problem::new(ProblemCode::Unauthorized, detail);
    let hash = presented_key(parts).ok_or_else(|| unauthorized(NO_KEY))?;
    let key = service.find_key(hash, until).await?;
    let key = key.ok_or_else(|| unauthorized(UNKNOWN_KEY))?;
    if let Some(refusal) = key.refusal(now) {
        return Err(unauthorized(refusal));
    }
    Ok((key, Some(hash)))
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
