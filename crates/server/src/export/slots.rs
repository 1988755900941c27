//! Limits the number of concurrent exports: each holds a few mebibytes and a snapshot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::{Code, Problem};

/// Concurrent exports per key.
const PER_KEY_MAX: usize = 4;
/// The `Retry-After` of a refused export, in seconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// The running exports of this process.
#[derive(Clone, Debug)]
pub(crate) struct Slots(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    max: usize,
    /// By the number of the key.
    under_way: Mutex<HashMap<i64, usize>>,
}

/// The slot of one running export, released on drop.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    key: i64,
}

impl Slots {
    /// Allows at most `max` concurrent exports.
    pub(crate) fn new(max: usize) -> Slots {
        Slots(Arc::new(Shared {
            max,
            under_way: Mutex::default(),
        }))
    }

    /// Acquires a slot for a key.
    ///
    /// # Errors
    /// Too many exports are running.
    pub(super) fn begin(&self, key: i64) -> Result<Slot, Problem> {
        let mut under_way = self.under_way();
        if under_way.values().sum::<usize>() >= self.0.max {
            return Err(Problem::overloaded("Too many exports are under way."));
        }
        let of_key = under_way.entry(key).or_default();
        if *of_key >= PER_KEY_MAX {
            let detail = format!(
                "The key has {PER_KEY_MAX} exports under way; wait until one of them has ended."
            );
            return Err(Problem::new(Code::RateLimited, detail).retry_after(RETRY_AFTER_SECONDS));
        }
        *of_key += 1;
        Ok(Slot {
            slots: self.clone(),
            key,
        })
    }

    /// The number of running exports.
    pub(crate) fn count(&self) -> usize {
        self.under_way().values().sum()
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<i64, usize>> {
        self.0
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut under_way = self.slots.under_way();
        if let Some(of_key) = under_way.get_mut(&self.key) {
            *of_key -= 1;
            if *of_key == 0 {
                under_way.remove(&self.key);
            }
        }
    }
}
