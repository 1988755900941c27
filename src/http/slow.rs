//! The slowest queries since the start, for the dashboard.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use time::UtcDateTime;

use crate::Filter;
use crate::corpus::QueryKind;
use crate::query::Fingerprint;

/// Queries that are kept: enough to see what kinds there are.
const KEPT_MAX: usize = 40;

/// A query that was slow, by its slowest run.
#[derive(Clone, Debug)]
pub(crate) struct SlowQuery {
    pub(crate) kind: QueryKind,
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

/// The slowest queries over a threshold, each once, whatever the pages of it that were asked for.
#[derive(Debug)]
pub(crate) struct SlowQueries {
    threshold: Duration,
    /// Nanoseconds that a query has to exceed to be noted; most stop here, at one atomic load.
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

    /// The time that a query has to exceed to be kept.
    pub(crate) fn threshold(&self) -> Duration {
        self.threshold
    }

    /// Notes what the index took for a query, where that is among the longest times.
    pub(crate) fn note(
        &self,
        kind: QueryKind,
        text: &str,
        filter: &Filter,
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
            // All that are kept exceed the threshold, so the floor never falls below it.
            if let Some(fastest) = kept.last() {
                self.floor
                    .store(nanoseconds(fastest.time), Ordering::Relaxed);
            }
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

/// Inserts a query by time; of one that is known, the slower run stays.
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
mod tests {
    use super::*;
    use crate::http::{Limits, NewKey, Service, State, Today};
    use crate::{Company, Index, IndexBuilder, Signal, SignalId};
    use axum::body::Body;
    use axum::http::Request;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    fn note(queries: &SlowQueries, text: &str, microseconds: u64) {
        let filter = Filter::parse(text).expect("a filter");
        let time = Duration::from_micros(microseconds);
        queries.note(QueryKind::Page, text, &filter, "key", time);
    }

    /// Rows enough that a phrase takes milliseconds to be counted.
    const ROWS: u64 = 60_000;
    /// Each two neighbours stand next to each other in every title, and no three of them.
    const WORDS: [&str; 9] = [
        "acme", "raises", "new", "funds", "to", "build", "more", "small", "robots",
    ];

    fn heavy_index() -> Index {
        let mut builder = IndexBuilder::in_memory();
        let company = Company::new("acme", "Acme");
        builder.add_company(&company).expect("a company");
        let pairs: Vec<String> = WORDS.windows(2).map(|pair| pair.join(" ")).collect();
        let title = pairs.join(" and ");
        for id in 1..=ROWS {
            let id = SignalId::new(id).expect("an id");
            let signal = Signal::new(id, "acme", title.as_str());
            builder.add_signal(&signal).expect("a signal");
        }
        builder.finish().expect("an index")
    }

    /// Phrases of three words, whose absence only the titles tell.
    fn heavy_query() -> String {
        let phrases = WORDS
            .windows(3)
            .map(|words| format!("%22{}%22", words.join("+")));
        format!("any={}", phrases.collect::<Vec<_>>().join("+"))
    }

    /// Asks the service as a client does.
    async fn get(service: &Service, key: &str, target: &str) -> u16 {
        let router = TowerToHyperService::new(service.catch_all_router());
        let request = Request::get(target)
            .header("host", "test")
            .header("authorization", format!("Bearer {key}"))
            .body(Body::empty())
            .expect("a request");
        let response = router.call(request).await.expect("an answer");
        response.status().as_u16()
    }

    #[test]
    fn the_recorded_time_of_a_query_includes_its_work() {
        let today = time::macros::date!(2026 - 11 - 22);
        let index = heavy_index();
        let snapshot = index.snapshot();
        let query = heavy_query();
        let filter = Filter::parse(&query).expect("a filter");
        let count = || {
            let started = std::time::Instant::now();
            snapshot.count(&filter, today);
            started.elapsed()
        };
        let work = (0..5).map(|_| count()).min().expect("five times");
        assert!(
            work > Duration::from_millis(1),
            "{work:?} is too short to tell"
        );

        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        let (_, key) = state.create_key(&NewKey::named("test")).expect("a key");
        let limits = Limits {
            slow_query_time: Duration::ZERO,
            ..Limits::default()
        };
        let service = Service::new(index, state, Today::Fixed(today), limits).expect("a service");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            for path in [
                format!("/api/v1/signals?{query}"),
                format!("/api/v1/signals?{query}&countOnly=true"),
                format!("/api/v1/filter-options?{query}"),
            ] {
                assert_eq!(get(&service, key.as_str(), &path).await, 200, "{path}");
            }
        });
        let noted = service.0.slow_queries.all();
        assert_eq!(noted.len(), 3);
        for query in noted {
            assert!(
                query.time > work / 4,
                "{:?}: {:?}, {work:?}",
                query.kind,
                query.time
            );
        }
    }

    #[test]
    fn queries_within_the_threshold_are_not_noted() {
        let queries = SlowQueries::over(Duration::from_millis(10));
        note(&queries, "q=fast", 10_000);
        assert!(queries.all().is_empty());
        note(&queries, "q=slow", 10_001);
        assert_eq!(queries.all().len(), 1);
        for number in 1..=100 {
            note(&queries, &format!("q=w{number}"), 20_000 + number);
        }
        note(&queries, "q=slow", 10_001);
        assert_eq!(queries.all().len(), KEPT_MAX);
    }

    #[test]
    fn the_slowest_run_of_each_query_is_kept_in_order() {
        let queries = SlowQueries::over(Duration::ZERO);
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
        let queries = SlowQueries::over(Duration::ZERO);
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
