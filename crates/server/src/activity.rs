//! Recent activity for the dashboard: counts, units and times by minute, key, endpoint and status, and the last
//! requests of each key.
//!
//! Counts are kept here until they are recorded in the state. The last requests live only in memory and are
//! bounded: a fixed number for each of a fixed number of keys.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use time::UtcDateTime;

use super::state::{CountedBy, NewRequests, SeriesStep};

#[cfg(test)]
mod tests;

/// Requests kept per key.
pub(crate) const KEPT_MAX: usize = 100;
/// Keys whose requests are kept. A further one replaces the key that has been idle longest.
const KEYS_MAX: usize = 512;
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

/// A recent request.
#[derive(Clone, Debug)]
pub(crate) struct RecentRequest {
    pub(crate) key: i64,
    pub(crate) at: UtcDateTime,
    pub(crate) request_id: String,
    pub(crate) endpoint: &'static str,
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
    pub(crate) time: Duration,
    pub(crate) charged: u64,
    /// The query string, if parameters are shown.
    pub(crate) query: Option<String>,
}

/// The status of answers that are charged while they are sent: that of exports.
const SENT_IN_PARTS: u16 = 200;

#[derive(Debug)]
pub(crate) struct Activity {
    started: Instant,
    shows_parameters: bool,
    kept: Mutex<KeptRequests>,
}

#[derive(Debug)]
struct KeptRequests {
    unrecorded: HashMap<CountedBy, NewRequests>,
    recorded_at: Instant,
    recent: HashMap<i64, VecDeque<RecentRequest>>,
}

impl Activity {
    pub(crate) fn new(shows_parameters: bool) -> Activity {
        Activity {
            started: Instant::now(),
            shows_parameters,
            kept: Mutex::new(KeptRequests {
                unrecorded: HashMap::new(),
                recorded_at: Instant::now(),
                recent: HashMap::new(),
            }),
        }
    }

    /// How long the service has been running.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether recent requests are kept with their parameters.
    pub(crate) fn shows_parameters(&self) -> bool {
        self.shows_parameters
    }

    /// Adds units to a request of an endpoint while its answer is being sent.
    pub(crate) fn add_charged(
        &self,
        (key, request_id): (i64, &str),
        endpoint: &'static str,
        (units, at): (u64, UtcDateTime),
    ) {
        let mut kept = self.lock();
        let by = CountedBy {
            minute: minute_of(at),
            key,
            endpoint,
            status: SENT_IN_PARTS,
        };
        kept.of_kind(by).units += units;
        let recent = kept.recent.get_mut(&key).into_iter().flatten();
        let mut of_request = recent.filter(|request| request.request_id == request_id);
        if let Some(request) = of_request.next() {
            request.charged += units;
        }
    }

    pub(crate) fn note(&self, answered: Answered<'_>, at: UtcDateTime) {
        let query = answered.query.filter(|_| self.shows_parameters);
        let request = RecentRequest {
            key: answered.key,
            at,
            request_id: answered.request_id,
            endpoint: answered.endpoint,
            status: answered.status,
            code: answered.code,
            time: answered.time,
            charged: answered.charged,
            query: query
                .map(|query| query[..query.floor_char_boundary(QUERY_BYTES_MAX)].to_owned()),
        };
        let mut kept = self.lock();
        kept.count(&request);
        kept.keep(request);
    }

    /// The last requests of a key, or of all keys, latest first.
    pub(crate) fn recent(&self, key: Option<i64>) -> Vec<RecentRequest> {
        let kept = self.lock();
        let mut requests: Vec<RecentRequest> = match key {
            Some(key) => kept
                .recent
                .get(&key)
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            None => kept.recent.values().flatten().cloned().collect(),
        };
        drop(kept);
        requests.sort_by_key(|request| std::cmp::Reverse(request.at));
        requests
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
    fn count(&mut self, request: &RecentRequest) {
        let counted = self.of_kind(CountedBy {
            minute: minute_of(request.at),
            key: request.key,
            endpoint: request.endpoint,
            status: request.status,
        });
        counted.requests += 1;
        counted.units += request.charged;
        counted.last_at = counted.last_at.max(request.at.unix_timestamp());
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

    fn keep(&mut self, request: RecentRequest) {
        if self.recent.len() >= KEYS_MAX && !self.recent.contains_key(&request.key) {
            let last = |requests: &VecDeque<RecentRequest>| requests.back().map(|last| last.at);
            let silent = self
                .recent
                .iter()
                .min_by_key(|(_, requests)| last(requests));
            if let Some(key) = silent.map(|(key, _)| *key) {
                self.recent.remove(&key);
            }
        }
        let requests = self.recent.entry(request.key).or_default();
        if requests.len() == KEPT_MAX {
            requests.pop_front();
        }
        requests.push_back(request);
    }
}

fn minute_of(at: UtcDateTime) -> i64 {
    at.unix_timestamp().div_euclid(60)
}
