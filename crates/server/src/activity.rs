//! Recent activity for the dashboard: counts by day, key, endpoint and status, today's latencies, and
//! the last requests of each key.
//!
//! Counts are kept here until they are recorded in the state. The rest lives only in memory and is
//! bounded: a fixed number of requests for each of a fixed number of keys.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use time::{Date, UtcDateTime};

use super::state::{CountedBy, NewRequests};

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

/// Latencies of answers with a 2xx status since the start of the day or of the process, whichever is later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TodaysTimes {
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
}

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
    times: Histogram,
}

/// A histogram of one day with eight buckets per power of two, so each bound is within 9 %.
#[derive(Debug)]
struct Histogram {
    day: Date,
    counts: Vec<u64>,
}

/// Buckets per power of two.
const STEPS: u32 = 8;
/// Covers 2^32 microseconds, more than an hour.
const BUCKETS: usize = (STEPS * 32) as usize;

impl Activity {
    pub(crate) fn new(shows_parameters: bool) -> Activity {
        Activity {
            started: Instant::now(),
            shows_parameters,
            kept: Mutex::new(KeptRequests {
                unrecorded: HashMap::new(),
                recorded_at: Instant::now(),
                recent: HashMap::new(),
                times: Histogram::of(Date::MIN),
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

    /// Adds units to a recent request while its answer is being sent.
    pub(crate) fn add_charged(&self, key: i64, request_id: &str, units: u64) {
        let mut kept = self.lock();
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
        let by = CountedBy {
            day: at.date(),
            key: request.key,
            endpoint: request.endpoint,
            status: request.status,
        };
        let mut kept = self.lock();
        kept.count(NewRequests {
            by,
            requests: 1,
            last_at: at.unix_timestamp(),
        });
        // Refusals take microseconds, and would hide what answers take.
        if (200..300).contains(&request.status) {
            kept.times.add(at.date(), request.time);
        }
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

    /// Today's latencies; `None` if no request succeeded today.
    pub(crate) fn times_of(&self, today: Date) -> Option<TodaysTimes> {
        let kept = self.lock();
        if kept.times.day != today {
            return None;
        }
        Some(TodaysTimes {
            median: kept.times.quantile(50)?,
            p99: kept.times.quantile(99)?,
        })
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
        requests.into_iter().for_each(|new| kept.count(new));
    }

    fn lock(&self) -> MutexGuard<'_, KeptRequests> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptRequests {
    fn count(&mut self, new: NewRequests) {
        match self.unrecorded.entry(new.by) {
            Entry::Vacant(entry) => {
                entry.insert(new);
            }
            Entry::Occupied(mut entry) => {
                let counted = entry.get_mut();
                counted.requests += new.requests;
                counted.last_at = counted.last_at.max(new.last_at);
            }
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

impl Histogram {
    fn of(day: Date) -> Histogram {
        Histogram {
            day,
            counts: vec![0; BUCKETS],
        }
    }

    fn add(&mut self, day: Date, time: Duration) {
        if self.day != day {
            *self = Histogram::of(day);
        }
        self.counts[bucket(time)] += 1;
    }

    /// The upper bound of the bucket that holds a percentile.
    fn quantile(&self, percent: u64) -> Option<Duration> {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        let microseconds = ((index + 1) as f64 / f64::from(STEPS)).exp2();
        Some(Duration::from_secs_f64(microseconds / 1e6))
    }
}

fn bucket(time: Duration) -> usize {
    let microseconds = (time.as_secs_f64() * 1e6).max(1.0);
    let index = (microseconds.log2() * f64::from(STEPS)) as usize;
    index.min(BUCKETS - 1)
}
