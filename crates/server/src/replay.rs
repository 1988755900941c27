//! Answers under idempotency keys: which requests are equal, and what is repeated.

use std::sync::Arc;

use axum::http::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::answer::{Answer, Price};
use super::call::Call;
use super::idempotency_keys::IdempotencyGuard;
use super::problem::{Problem, ProblemCode};
use super::service::ServiceCore;
use super::state::{ExportName, KeptFull, NewReplay, StoredReplay};
use super::{charging, etag};
use signaldex::query::{ErrorCode, KeyFilter, ParameterError};

/// The header that carries an idempotency key.
pub(crate) const HEADER: &str = "idempotency-key";
/// The name of the header in messages.
pub(super) const SHOWN_NAME: &str = "Idempotency-Key";
const KEY_REUSED: &str = "This Idempotency-Key was used with other parameters within the last 24 hours; choose a new one.";
/// Length of an idempotency key, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=128;
/// The rule for idempotency keys, in messages.
pub(super) const KEY_RULE: &str = "has to be 8 to 128 visible ASCII characters";

/// Whether a text is a valid idempotency key.
pub(super) fn is_key(text: &[u8]) -> bool {
    LENGTHS.contains(&text.len()) && text.iter().all(u8::is_ascii_graphic)
}

/// The idempotency key of a request.
///
/// # Errors
/// It is given twice, or is not 8 to 128 visible ASCII characters.
pub(crate) fn name_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(error(
            ErrorCode::RepeatedParameter,
            "is given more than once; give it once",
        ));
    }
    if !is_key(value.as_bytes()) {
        return Err(error(ErrorCode::InvalidValue, KEY_RULE));
    }
    Ok(value.to_str().ok().map(str::to_owned))
}

fn error(code: ErrorCode, what: &str) -> Problem {
    let message = format!("{SHOWN_NAME} {what}");
    Problem::of_errors(vec![ParameterError::new(SHOWN_NAME, code, message)])
}

/// A hash that is equal for equal requests, from all parts that distinguish them.
pub(crate) fn parameters_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// The hash of a request's parameters under the filter of its key: another filter makes another request of it.
fn within(filter: Option<&KeyFilter>, parameters: [u8; 32]) -> [u8; 32] {
    filter.map_or(parameters, |filter| {
        parameters_of(&[&parameters, filter.fingerprint().as_bytes()])
    })
}

/// The idempotency key of a metered request, with the hash of its parameters.
pub(super) struct Replay {
    pub(super) name: String,
    pub(super) parameters: [u8; 32],
}

/// A reserved idempotency key, what is kept under it, and why nothing more can be kept.
type Reserved = (IdempotencyGuard, Option<StoredReplay>, Option<KeptFull>);

/// How a metered request begins.
pub(super) enum Attempt {
    /// It has not been answered before: its idempotency key and the reservation of it, if it has one.
    First(Option<Replay>, Option<Arc<IdempotencyGuard>>),
    /// The answer that was given under its idempotency key.
    Repeated(Answer),
}

impl Attempt {
    /// Reserves the idempotency key of a request, if it has one. `parameters` identifies equal requests.
    ///
    /// # Errors
    /// As [`name_of`]; or the key is in use or bound to other parameters, or nothing more can be kept.
    pub(super) async fn begin(
        call: &Call<'_>,
        parameters: impl FnOnce() -> [u8; 32],
    ) -> Result<Attempt, Problem> {
        match Replay::of(call, parameters)? {
            None => Ok(Attempt::First(None, None)),
            Some(replay) => replay.begin(call).await,
        }
    }

    /// As [`begin`](Self::begin), for a request that is its own idempotency key: equal ones within 24 hours are charged once.
    /// `kind` keeps its name apart from those that clients choose, which have no spaces.
    ///
    /// # Errors
    /// An equal request is under way, or nothing more can be kept.
    pub(super) async fn begin_unnamed(
        call: &Call<'_>,
        kind: &str,
        parameters: [u8; 32],
    ) -> Result<Attempt, Problem> {
        if call.is_head() || !call.key.is_metered {
            return Ok(Attempt::First(None, None));
        }
        let parameters = within(call.filter(), parameters);
        let name = format!("{kind} {}", URL_SAFE_NO_PAD.encode(parameters));
        Replay { name, parameters }.begin(call).await
    }
}

impl Replay {
    /// The idempotency key of a request that is charged, if it has one.
    ///
    /// # Errors
    /// As [`name_of`].
    pub(super) fn of(
        call: &Call<'_>,
        parameters: impl FnOnce() -> [u8; 32],
    ) -> Result<Option<Replay>, Problem> {
        let name = name_of(&call.parts.headers)?;
        let name = name.filter(|_| !call.is_head() && call.key.is_metered);
        Ok(name.map(|name| Replay {
            name,
            parameters: within(call.filter(), parameters()),
        }))
    }

    /// The answer to keep under the idempotency key.
    ///
    /// # Errors
    /// It cannot be compressed.
    pub(super) fn keep(&self, tag: &str, body: &[u8]) -> Result<NewReplay, Problem> {
        let kept = NewReplay::compress(self.name.clone(), self.parameters, tag.to_owned(), body);
        kept.map_err(|error| Problem::internal(&error))
    }

    async fn begin(self, call: &Call<'_>) -> Result<Attempt, Problem> {
        let (guard, stored, full) = self.reserve(call).await?;
        let Some(stored) = stored else {
            return match full {
                Some(full) => Err(charging::no_room(full)),
                None => Ok(Attempt::First(Some(self), Some(Arc::new(guard)))),
            };
        };
        call.service.metrics.replays.inc();
        let answer = if etag::is_current(&call.parts.headers, &stored.etag) {
            Answer::not_modified()
        } else {
            let room = call.service.room_for(stored.body.len())?;
            Answer::json(room.hold(stored.body))
        };
        let price = Price {
            is_replayed: true,
            ..Price::FREE
        };
        Ok(Attempt::Repeated(answer.tagged(&stored.etag).priced(price)))
    }

    /// Reserves the idempotency key of an export. Also returns why nothing more can be kept, if so, unless nothing
    /// has been charged under the idempotency key, because then the export cannot be free.
    ///
    /// # Errors
    /// As [`Attempt::begin`].
    pub(super) async fn resume(
        &self,
        call: &Call<'_>,
    ) -> Result<(IdempotencyGuard, Option<KeptFull>), Problem> {
        match self.reserve(call).await? {
            (_, None, Some(full)) => Err(charging::no_room(full)),
            (guard, _, full) => Ok((guard, full)),
        }
    }

    /// The idempotency key as the name of an export.
    pub(super) fn export_name(&self, call: &Call<'_>) -> ExportName {
        ExportName {
            key: call.key.record.number,
            name: self.name.clone(),
            parameters: self.parameters,
        }
    }

    /// Reserves the idempotency key, and returns what is kept under it for the same parameters, and why nothing
    /// more can be kept, if so.
    async fn reserve(&self, call: &Call<'_>) -> Result<Reserved, Problem> {
        let key = call.key.record.number;
        let guard = call.service.idempotency_keys.claim(key, &self.name);
        let guard = guard.ok_or_else(charging::in_progress)?;
        let (name, now) = (self.name.clone(), call.now.unix_timestamp());
        let find = move |service: &ServiceCore| {
            let stored = service.state.replay(key, &name, now)?;
            let full = service.state.kept_full(key, service.limits.kept(), now)?;
            Ok((stored, full))
        };
        match call.service.read(call.deadline.at(), find).await? {
            (Some(stored), _) if stored.parameters != self.parameters => {
                Err(Problem::new(ProblemCode::IdempotencyKeyReused, KEY_REUSED))
            }
            (stored, full) => Ok((guard, stored, full)),
        }
    }
}

#[cfg(test)]
mod tests;
