//! Recent activity for the dashboard: counts, units and times by minute, key, endpoint and status, which are kept here
//! until they are recorded in the state.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use time::UtcDateTime;

use super::request_log::LoggedRequest;
use super::state::{CountedBy, NewRequests, SeriesStep};

#[cfg(test)]
mod tests;

/// Bytes kept of each query string.
const QUERY_BYTES_MAX: usize = 512;
/// How often counts are recorded. A killed process loses at most the counts of one interval.
const RECORD_INTERVAL: Duration = Duration::from_secs(5);
/// Counts that are kept by minute while the state cannot be written. More are kept by hour, then by day.
const BY_MINUTE_MAX: usize = 50_000;

/// An answered request.
pub(crate) struct Answered<'a> {
    /// The number of the key; 0 if no key was accepted.
    pub(crate) key: i64,
    pub(crate) request_id: String,
    pub(crate) endpoint: &'static str,
    pub(crate) status: u16,
    /// The problem code, if the request was refused.
    pub(crate) code: Option<&'static str>,
    pub(crate) time: Duration,
    pub(crate) charged: u64,
    pub(crate) query: Option<&'a str>,
}

impl Answered<'_> {
    /// The request as the log of requests has it.
    pub(crate) fn logged(self, at: UtcDateTime, shows_parameters: bool) -> LoggedRequest {
        let query = self.query.filter(|_| shows_parameters);
        LoggedRequest {
            number: 0,
            key: self.key,
            at,
            request_id: self.request_id,
            endpoint: self.endpoint.into(),
            status: self.status,
            code: self.code.map(Into::into),
            time: self.time,
            charged: self.charged,
            query: query
                .map(|query| query[..query.floor_char_boundary(QUERY_BYTES_MAX)].to_owned()),
        }
    }
}

/// The status of answers that are charged while they are sent: that of exports.
const SENT_IN_PARTS: u16 = 200;

#[derive(Debug)]
pub(crate) struct Activity {
    started: Instant,
    kept: Mutex<KeptRequests>,
}

#[derive(Debug)]
struct KeptRequests {
    unrecorded: HashMap<CountedBy, NewRequests>,
    recorded_at: Instant,
}

impl Activity {
    pub(crate) fn new() -> Activity {
        Activity {
            started: Instant::now(),
            kept: Mutex::new(KeptRequests {
                unrecorded: HashMap::new(),
                recorded_at: Instant::now(),
            }),
        }
    }

    /// How long the service has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Adds units to an endpoint while the answer of a request is being sent.
    pub(crate) fn add_charged(
        &self,
        key: i64,
        endpoint: &'static str,
        (units, at): (u64, UtcDateTime),
    ) {
        let by = CountedBy {
            minute: minute_of(at),
            key,
            endpoint,
            status: SENT_IN_PARTS,
        };
        self.lock().of_kind(by).units += units;
    }

    pub(crate) fn note(&self, answered: &Answered<'_>, at: UtcDateTime) {
        self.lock().count(answered, at);
    }

    pub(crate) fn is_recording_due(&self) -> bool {
        let kept = self.lock();
        !kept.unrecorded.is_empty() && kept.recorded_at.elapsed() >= RECORD_INTERVAL
    }

    /// Takes the counts since the last call. Record them, or return them with [`Activity::keep`].
    pub(crate) fn take_unrecorded(&self) -> Vec<NewRequests> {
        let mut kept = self.lock();
        kept.recorded_at = Instant::now();
        let unrecorded = std::mem::take(&mut kept.unrecorded);
        drop(kept);
        unrecorded.into_values().collect()
    }

    /// Takes back counts that could not be recorded.
    pub(crate) fn keep(&self, requests: Vec<NewRequests>) {
        let mut kept = self.lock();
        requests.into_iter().for_each(|new| kept.merge(new));
        for step in [SeriesStep::Hour, SeriesStep::Day] {
            if kept.unrecorded.len() > BY_MINUTE_MAX {
                kept.coarsen(step);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeptRequests> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptRequests {
    fn count(&mut self, request: &Answered<'_>, at: UtcDateTime) {
        let counted = self.of_kind(CountedBy {
            minute: minute_of(at),
            key: request.key,
            endpoint: request.endpoint,
            status: request.status,
        });
        counted.requests += 1;
        counted.units += request.charged;
        counted.last_at = counted.last_at.max(at.unix_timestamp());
        if (200..300).contains(&request.status) {
            counted.times.add(request.time);
        }
    }

    fn of_kind(&mut self, by: CountedBy) -> &mut NewRequests {
        let new = self.unrecorded.entry(by);
        new.or_insert_with(|| NewRequests::none(by))
    }

    fn merge(&mut self, new: NewRequests) {
        match self.unrecorded.entry(new.by) {
            Entry::Vacant(entry) => {
                entry.insert(new);
            }
            Entry::Occupied(mut entry) => entry.get_mut().merge(&new),
        }
    }

    /// Merges what was counted in the same hour or on the same day.
    fn coarsen(&mut self, step: SeriesStep) {
        for (_, mut new) in std::mem::take(&mut self.unrecorded) {
            new.by.minute = step.start_of(new.by.minute);
            self.merge(new);
        }
    }
}

fn minute_of(at: UtcDateTime) -> i64 {
    at.unix_timestamp().div_euclid(60)
}
