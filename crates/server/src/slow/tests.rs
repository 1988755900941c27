//! White-box tests of `slow.rs`.

use super::*;
use axum::body::Body;
use axum::http::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};

use crate::{Limits, NewKey, Service, State, Today};

fn note(queries: &SlowQueries, text: &str, microseconds: u64) {
    let filter = Filter::from_query_string(text).expect("a filter");
    let time = Duration::from_micros(microseconds);
    let filter = AskedFilter::Signals(&filter);
    queries.note(QueryKind::Page, text, filter, "key", time);
}

/// Rows enough that a phrase takes milliseconds to be counted.
const ROWS: u64 = 60_000;
/// Each two neighbours stand next to each other in every title, and no three of them.
const WORDS: [&str; 9] = [
    "acme", "raises", "new", "funds", "to", "build", "more", "small", "robots",
];

fn heavy_index() -> Index {
    let pairs: Vec<String> = WORDS.windows(2).map(|pair| pair.join(" ")).collect();
    let title = pairs.join(" and ");
    let mut builder = IndexBuilder::in_memory();
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a company");
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
    let filter = Filter::from_query_string(&query).expect("a filter");
    let count = || {
        let started = std::time::Instant::now();
        snapshot.count(&filter, today).expect("a whole index");
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
