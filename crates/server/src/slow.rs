//! The slowest queries since the process started, for the dashboard.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::UtcDateTime;

use crate::corpus::QueryKind;
use signaldex::Filter;
use signaldex::query::{CompanyFilter, Fingerprint};

/// Queries kept: enough to show which kinds there are.
const KEPT_MAX: usize = 40;

/// The filter of a query, by which slow ones are told apart.
#[derive(Clone, Copy)]
pub(crate) enum AskedFilter<'a> {
    Signals(&'a Filter),
    Companies(&'a CompanyFilter),
}

impl AskedFilter<'_> {
    fn fingerprint(self) -> Fingerprint {
        match self {
            AskedFilter::Signals(filter) => filter.fingerprint(),
            AskedFilter::Companies(filter) => filter.fingerprint(),
        }
    }
}

/// A slow query, with its slowest run.
#[derive(Clone, Debug)]
pub(crate) struct SlowQuery {
    pub(crate) kind: QueryKind,
    /// The query string as it was sent.
    pub(crate) text: String,
    /// The public id of the key that sent it.
    pub(crate) key_id: String,
    pub(crate) time: Duration,
    pub(crate) at: UtcDateTime,
    /// How often it exceeded the threshold.
    pub(crate) runs: u64,
    fingerprint: Fingerprint,
}

/// The slowest queries over a threshold. Pages of the same query count as one.
#[derive(Debug)]
pub(crate) struct SlowQueries {
    threshold: Duration,
    /// Nanoseconds that a query must exceed to be kept: one atomic load rejects most queries.
    floor: AtomicU64,
    kept: Mutex<Vec<SlowQuery>>,
}

impl SlowQueries {
    /// Keeps queries that take longer than `threshold`.
    pub(crate) fn over(threshold: Duration) -> SlowQueries {
        SlowQueries {
            threshold,
            floor: AtomicU64::new(nanoseconds(threshold)),
            kept: Mutex::default(),
        }
    }

    /// The threshold.
    pub(crate) fn threshold(&self) -> Duration {
        self.threshold
    }

    /// Records the time of a query if it is among the longest.
    pub(crate) fn note(
        &self,
        kind: QueryKind,
        text: &str,
        filter: AskedFilter<'_>,
        key_id: &str,
        time: Duration,
    ) {
        if nanoseconds(time) <= self.floor.load(Ordering::Relaxed) {
            return;
        }
        let new = SlowQuery {
            kind,
            text: text.to_owned(),
            key_id: key_id.to_owned(),
            time,
            at: UtcDateTime::now(),
            runs: 1,
            fingerprint: filter.fingerprint(),
        };
        let mut kept = self.lock();
        keep(&mut kept, new);
        if kept.len() == KEPT_MAX {
            // All kept queries exceed the threshold, so the floor never falls below it.
            if let Some(fastest) = kept.last() {
                self.floor
                    .store(nanoseconds(fastest.time), Ordering::Relaxed);
            }
        }
    }

    /// All kept queries, slowest first.
    pub(crate) fn all(&self) -> Vec<SlowQuery> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SlowQuery>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Inserts a query by time. Of a known query, the slower run is kept.
fn keep(kept: &mut Vec<SlowQuery>, mut new: SlowQuery) {
    let is_same =
        |known: &SlowQuery| known.kind == new.kind && known.fingerprint == new.fingerprint;
    if let Some(index) = kept.iter().position(is_same) {
        let known = kept.remove(index);
        let runs = known.runs + 1;
        if known.time > new.time {
            new = known;
        }
        new.runs = runs;
    }
    let index = kept.partition_point(|known| known.time >= new.time);
    kept.insert(index, new);
    kept.truncate(KEPT_MAX);
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
