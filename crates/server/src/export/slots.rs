//! Limits the number of concurrent exports: each holds a few mebibytes and a snapshot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::{Problem, ProblemCode};

/// Concurrent exports per key.
const PER_KEY_MAX: usize = 4;
/// The `Retry-After` of a refused export, in seconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// The running exports of this process.
#[derive(Clone, Debug)]
pub(crate) struct ExportSlots(Arc<SlotCounts>);

#[derive(Debug)]
struct SlotCounts {
    max: usize,
    /// By the number of the key.
    under_way: Mutex<HashMap<i64, usize>>,
}

/// The slot of one running export, released on drop.
#[derive(Debug)]
pub(super) struct ExportSlot {
    slots: ExportSlots,
    key: i64,
}

impl ExportSlots {
    /// Allows at most `max` concurrent exports.
    pub(crate) fn new(max: usize) -> ExportSlots {
        ExportSlots(Arc::new(SlotCounts {
            max,
            under_way: Mutex::default(),
        }))
    }

    /// Acquires a slot for a key.
    ///
    /// # Errors
    /// Too many exports are running.
    pub(super) fn begin(&self, key: i64) -> Result<ExportSlot, Problem> {
        let mut under_way = self.under_way();
        if under_way.values().sum::<usize>() >= self.0.max {
            return Err(Problem::overloaded("Too many exports are under way."));
        }
        let of_key = under_way.entry(key).or_default();
        if *of_key >= PER_KEY_MAX {
            let detail = format!(
                "The key has {PER_KEY_MAX} exports under way; wait until one of them has ended."
            );
            return Err(
                Problem::new(ProblemCode::RateLimited, detail).retry_after(RETRY_AFTER_SECONDS)
            );
        }
        *of_key += 1;
        Ok(ExportSlot {
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

impl Drop for ExportSlot {
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
