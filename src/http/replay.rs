//! Idempotency keys: which are under way, and what makes two requests the same.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::HeaderName;
use sha2::{Digest, Sha256};

use super::answer::Answer;
use super::call::Call;
use super::problem::{Code, Problem};
use super::search::{CHARGED, tagged};
use super::state::{NewReplay, PaidRanges, StateError, StoredReplay};
use super::{charging, etag};
use crate::query::{ErrorCode, ParameterError};

/// The header that carries an idempotency key.
pub(crate) const HEADER: &str = "idempotency-key";
/// The header's name as messages write it.
pub(super) const SHOWN_NAME: &str = "Idempotency-Key";
/// Says that an answer is one that was given before.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
const KEY_REUSED: &str = "This Idempotency-Key was used with other parameters within the last 24 hours; choose a new one.";
/// Characters of an idempotency key.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=128;
/// What an idempotency key has to be.
pub(super) const KEY_RULE: &str = "has to be 8 to 128 visible ASCII characters";

/// Whether a text can be an idempotency key.
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
    Problem::of_errors(vec![ParameterError {
        parameter: SHOWN_NAME.to_owned(),
        code,
        message,
    }])
}

/// What two requests have in common that ask for the same, from the parts that tell.
pub(crate) fn parameters_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// The idempotency key of a metered request, and what was asked under it.
pub(super) struct Replay {
    pub(super) name: String,
    pub(super) parameters: [u8; 32],
}

/// Whether a request with an idempotency key is the first with it.
pub(super) enum Attempt {
    First(IdempotencyGuard),
    Repeated(Answer),
}

impl Replay {
    /// That of a request, where it has one and is charged.
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
            parameters: parameters(),
        }))
    }

    /// An answer to keep under it.
    ///
    /// # Errors
    /// It cannot be compressed.
    pub(super) fn keep(&self, tag: &str, body: &[u8]) -> Result<NewReplay, Problem> {
        let kept = NewReplay::compress(self.name.clone(), self.parameters, tag.to_owned(), body);
        kept.map_err(|error| Problem::internal(&error))
    }

    /// Reserves the idempotency key, or finds the answer that was given under it.
    pub(super) fn begin(&self, call: &Call<'_>) -> Result<Attempt, Problem> {
        let (guard, stored) = self.reserve(call)?;
        let Some(stored) = stored else {
            return Ok(Attempt::First(guard));
        };
        call.service.metrics.replays.inc();
        let answer = if etag::is_current(&call.parts.headers, &stored.etag) {
            Answer::not_modified()
        } else {
            Answer::json(stored.body)
        };
        Ok(Attempt::Repeated(
            tagged(answer, &stored.etag)
                .with(CHARGED, 0)
                .with(REPLAYED, "true"),
        ))
    }

    /// Reserves the idempotency key of an export, and finds what was paid under it.
    pub(super) fn resume(
        &self,
        call: &Call<'_>,
    ) -> Result<(IdempotencyGuard, PaidRanges), Problem> {
        let (guard, stored) = self.reserve(call)?;
        let paid = match stored {
            None => PaidRanges::default(),
            Some(stored) => {
                PaidRanges::of(&stored, call.now.unix_timestamp()).ok_or_else(|| {
                    Problem::internal(&StateError::invalid("a kept export is damaged"))
                })?
            }
        };
        Ok((guard, paid))
    }

    /// Reserves the idempotency key, with what is kept under it for the same parameters.
    fn reserve(
        &self,
        call: &Call<'_>,
    ) -> Result<(IdempotencyGuard, Option<StoredReplay>), Problem> {
        let key = call.key.record.number;
        let guard = call.service.idempotency_keys.claim(key, &self.name);
        let guard = guard.ok_or_else(charging::in_progress)?;
        let state = &call.service.state;
        let stored = state.replay(key, &self.name, call.now.unix_timestamp());
        let stored = stored.map_err(|error| Problem::internal(&error))?;
        match stored {
            Some(stored) if stored.parameters != self.parameters => {
                Err(Problem::new(Code::IdempotencyKeyReused, KEY_REUSED))
            }
            stored => Ok((guard, stored)),
        }
    }
}

/// The idempotency keys of requests under way in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeysInUse(Arc<Mutex<HashSet<(i64, String)>>>);

/// Holds an idempotency key until the request is over or its charge is durable.
#[derive(Debug)]
pub(crate) struct IdempotencyGuard {
    names: KeysInUse,
    claimed: (i64, String),
}

impl KeysInUse {
    /// Reserves a key for an API key; `None` while another request holds it.
    pub(crate) fn claim(&self, key: i64, name: &str) -> Option<IdempotencyGuard> {
        let claimed = (key, name.to_owned());
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(claimed.clone()).then(|| IdempotencyGuard {
            names: self.clone(),
            claimed,
        })
    }
}

impl Drop for IdempotencyGuard {
    fn drop(&mut self) {
        self.names
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.claimed);
    }
}

#[cfg(test)]
mod tests;
