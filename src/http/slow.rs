//! The slowest queries since the start, for the dashboard.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::UtcDateTime;

use crate::Filter;
use crate::query::Fingerprint;

/// Queries that are kept: enough to see what kinds there are.
const KEPT_MAX: usize = 40;

/// What was asked of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The ids of a page.
    Page,
    /// The number of matches.
    Count,
    /// The counts of all facets.
    Facets,
}

/// A query that was slow, by its slowest run.
#[derive(Clone, Debug)]
pub(crate) struct SlowQuery {
    pub(crate) asked: Asked,
    /// The query string as it was sent.
    pub(crate) text: String,
    /// The public id of the key that sent it.
    pub(crate) key_id: String,
    pub(crate) time: Duration,
    pub(crate) at: UtcDateTime,
    /// How often it was slow enough to be noted.
    pub(crate) runs: u64,
    fingerprint: Fingerprint,
}

/// The slowest queries, each once, whatever the pages of it that were asked for.
#[derive(Debug, Default)]
pub(crate) struct SlowQueries {
    /// Nanoseconds that a query has to exceed to be noted; most stop here, at one atomic load.
    floor: AtomicU64,
    kept: Mutex<Vec<SlowQuery>>,
}

impl Asked {
    /// What was asked, in words.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Asked::Page => "page",
            Asked::Count => "count",
            Asked::Facets => "filter options",
        }
    }
}

impl SlowQueries {
    /// Notes what the index took for a query, where that is among the longest times.
    pub(crate) fn note(
        &self,
        asked: Asked,
        text: &str,
        filter: &Filter,
        key_id: &str,
        time: Duration,
    ) {
        if nanoseconds(time) <= self.floor.load(Ordering::Relaxed) {
            return;
        }
        let new = SlowQuery {
            asked,
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
            let fastest = kept.last().map_or(0, |query| nanoseconds(query.time));
            self.floor.store(fastest, Ordering::Relaxed);
        }
    }

    /// The slowest first.
    pub(crate) fn all(&self) -> Vec<SlowQuery> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SlowQuery>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a query in its place; of one that is known, the slower run stays.
fn keep(kept: &mut Vec<SlowQuery>, mut new: SlowQuery) {
    let is_same =
        |known: &SlowQuery| known.asked == new.asked && known.fingerprint == new.fingerprint;
    if let Some(place) = kept.iter().position(is_same) {
        let known = kept.remove(place);
        let runs = known.runs + 1;
        if known.time > new.time {
            new = known;
        }
        new.runs = runs;
    }
    let place = kept.partition_point(|known| known.time >= new.time);
    kept.insert(place, new);
    kept.truncate(KEPT_MAX);
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(queries: &SlowQueries, text: &str, microseconds: u64) {
        let filter = Filter::parse(text).expect("a filter");
        let time = Duration::from_micros(microseconds);
        queries.note(Asked::Page, text, &filter, "key", time);
    }

    #[test]
    fn the_slowest_run_of_each_query_is_kept_in_order() {
        let queries = SlowQueries::default();
        for (text, time) in [("q=a", 5), ("q=b", 9), ("q=A", 7), ("q=a", 6)] {
            note(&queries, text, time);
        }
        let kept = queries.all();
        let seen: Vec<(&str, u128, u64)> = kept
            .iter()
            .map(|query| (query.text.as_str(), query.time.as_micros(), query.runs))
            .collect();
        assert_eq!(seen, [("q=b", 9, 1), ("q=A", 7, 3)]);
    }

    #[test]
    fn fast_queries_make_no_room_for_themselves() {
        let queries = SlowQueries::default();
        for number in 1..=100 {
            note(&queries, &format!("q=w{number}"), number);
        }
        note(&queries, "q=fast", 1);
        let kept = queries.all();
        assert_eq!(kept.len(), KEPT_MAX);
        assert_eq!(kept[0].text, "q=w100");
        assert!(
            kept.iter()
                .all(|query| query.time > Duration::from_micros(60))
        );
    }
}
