//! Idempotency keys: which are under way, and what makes two requests the same.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use sha2::{Digest, Sha256};

use super::problem::Problem;
use crate::Query;
use crate::query::{ErrorCode, ParameterError};

/// The header that carries an idempotency key.
pub(crate) const HEADER: &str = "idempotency-key";
/// The header's name as messages write it.
const SHOWN_NAME: &str = "Idempotency-Key";
/// Characters of an idempotency key.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=128;

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
    let bytes = value.as_bytes();
    if !LENGTHS.contains(&bytes.len()) || !bytes.iter().all(u8::is_ascii_graphic) {
        return Err(error(
            ErrorCode::InvalidValue,
            "has to be 8 to 128 visible ASCII characters",
        ));
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

/// What two requests have in common that ask for the same.
pub(crate) fn parameters_of(query: &Query) -> [u8; 32] {
    Sha256::digest(query.fingerprint().as_bytes()).into()
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
