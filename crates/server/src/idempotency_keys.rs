//! The idempotency keys that requests in progress hold.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The idempotency keys of requests in progress in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeysInUse(Arc<Mutex<HashSet<(i64, String)>>>);

/// Holds an idempotency key until the request ends or its charge is durable.
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
