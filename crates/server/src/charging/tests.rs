//! White-box tests of `charging.rs`.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::super::keys::NewKey;
use super::super::limits::Limits;
use super::super::service::{Service, Today};
use super::super::state::State;
use signaldex::sample;

const SEARCH: &str = "/api/v1/signals?limit=3";
const NAME: &str = "order-4711";

/// A service without sockets.
struct Fixture {
    directory: TempDir,
    service: Service,
    bearer: String,
    runtime: Runtime,
}

struct Response {
    status: u16,
    charged: Option<String>,
    is_replayed: bool,
    body: Value,
}

impl Fixture {
    fn new(request_time: Duration) -> Fixture {
        Fixture::with(Limits {
            request_time,
            ..Limits::default()
        })
    }

    fn with(limits: Limits) -> Fixture {
        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        let (_, key) = state.create_key(&NewKey::named("test")).expect("a key");
        let index = sample::index().expect("the sample corpus");
        let today = Today::Fixed(sample::AS_OF);
        let service = Service::new(index, state, today, limits).expect("a service");
        Fixture {
            directory,
            service,
            bearer: format!("Bearer {}", key.as_str()),
            runtime: Runtime::new().expect("a runtime"),
        }
    }

    /// Calls a function in the thread that writes charges, before each commit.
    fn before_commit(&self, hook: impl FnMut() + Send + 'static) {
        self.service.0.state.before_commit.set(hook);
    }

    fn as_before(&self) {
        self.service.0.state.before_commit.clear();
    }

    fn get(&self, target: &str, name: Option<&str>) -> Response {
        let mut request = Request::get(target)
            .header("host", "localhost")
            .header("authorization", &self.bearer);
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        let request = request.body(Body::empty()).expect("a request");
        let router = TowerToHyperService::new(self.service.catch_all_router());
        self.runtime.block_on(async {
            let response = router.call(request).await.expect("an answer");
            let header = |name| {
                let value = response.headers().get(name)?;
                Some(value.to_str().expect("text").to_owned())
            };
            let charged = header("x-usage-charged");
            let is_replayed = header("idempotency-replayed").is_some();
            let status = response.status().as_u16();
            let body = to_bytes(response.into_body(), usize::MAX)
                .await
                .expect("a body");
            Response {
                status,
                charged,
                is_replayed,
                body: serde_json::from_slice(&body).expect("JSON"),
            }
        })
    }

    fn recorded(&self) -> u64 {
        let usage = self.service.0.state.usage(None).expect("usage");
        usage.iter().flat_map(|line| line.counts).sum()
    }

    /// Asks for a path until it is answered with a status.
    fn wait_for(&self, target: &str, status: u16) {
        let started = Instant::now();
        while self.get(target, Some(NAME)).status != status {
            assert!(started.elapsed() < Duration::from_secs(10), "{target}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_commit_that_ends_shortly_after_the_deadline_is_delivered() {
    let fixture = Fixture::new(Duration::from_millis(500));
    fixture.before_commit(|| std::thread::sleep(Duration::from_secs(1)));
    let answer = fixture.get(SEARCH, None);
    assert_eq!((answer.status, answer.charged.as_deref()), (200, Some("3")));
    assert_eq!(fixture.recorded(), 3);
}

#[test]
fn a_charge_that_is_still_being_committed_is_uncertain_until_it_is_repeated() {
    let fixture = Fixture::new(Duration::from_millis(500));
    let (release, released) = mpsc::channel::<()>();
    fixture.before_commit(move || {
        // Once the test has let go, it does not wait any more.
        let _ = released.recv();
    });
    let answer = fixture.get(SEARCH, Some(NAME));
    assert_eq!((answer.status, answer.charged), (500, None));
    assert_eq!(answer.body["code"], "charge_uncertain");
    assert_eq!(
        fixture.get(SEARCH, Some(NAME)).status,
        409,
        "still under way"
    );
    drop(release);
    fixture.wait_for(SEARCH, 200);
    let settled = fixture.get(SEARCH, Some(NAME));
    assert!(settled.is_replayed);
    assert_eq!(
        settled.body["data"]["items"].as_array().map(Vec::len),
        Some(3)
    );
    assert_eq!(fixture.recorded(), 3, "charged once");
    let charged = "signaldex_charged_units_total{counter=\"signals\"} 3\n";
    assert!(fixture.service.metrics().contains(charged));
}

#[test]
fn a_thread_that_fails_is_reported_restarted_and_charges_nothing_twice() {
    let fixture = Fixture::new(Duration::from_secs(10));
    assert_eq!(fixture.get("/readyz", None).status, 200);
    fixture.before_commit(|| panic!("a failure that a test has asked for"));
    let answer = fixture.get(SEARCH, Some(NAME));
    assert_eq!((answer.status, answer.charged), (500, None));
    assert_eq!(answer.body["code"], "charge_uncertain");
    fixture.as_before();
    fixture.wait_for("/readyz", 503);
    fixture.wait_for("/readyz", 200);
    let again = fixture.get(SEARCH, Some(NAME));
    assert_eq!((again.status, again.is_replayed), (200, false));
    assert_eq!(
        fixture.recorded(),
        3,
        "what the failure left was rolled back"
    );
    let failures = "signaldex_charge_thread_failures_total 1\n";
    assert!(fixture.service.metrics().contains(failures));
}

#[test]
fn a_charge_in_a_file_that_went_during_its_commit_is_uncertain() {
    let fixture = Fixture::new(Duration::from_secs(10));
    let path = fixture.directory.path().join("state.db");
    let aside = path.with_extension("aside");
    let (from, to) = (path.clone(), aside.clone());
    fixture.before_commit(move || std::fs::rename(&from, &to).expect("moved aside"));
    let answer = fixture.get(SEARCH, Some(NAME));
    assert_eq!((answer.status, answer.charged), (500, None));
    assert_eq!(answer.body["code"], "charge_uncertain");
    assert_eq!(fixture.get(SEARCH, Some(NAME)).status, 503);
    fixture.as_before();
    std::fs::rename(&aside, &path).expect("moved back");
    fixture.service.follow();
    assert!(fixture.get(SEARCH, Some(NAME)).is_replayed);
    assert_eq!(fixture.recorded(), 3);
}

#[test]
fn what_waits_for_a_thread_that_is_restarted_is_not_lost() {
    let fixture = Fixture::new(Duration::from_secs(10));
    fixture.before_commit(|| panic!("a failure that a test has asked for"));
    assert_eq!(fixture.get(SEARCH, None).status, 500);
    fixture.as_before();
    let answer = fixture.get(SEARCH, None);
    assert_eq!((answer.status, answer.charged.as_deref()), (200, Some("3")));
    assert_eq!(fixture.recorded(), 3);
}

#[test]
fn a_service_that_stops_is_not_ready_and_charges_nothing() {
    let fixture = Fixture::new(Duration::from_secs(10));
    fixture.service.close();
    assert_eq!(fixture.get("/readyz", None).status, 503);
    assert_eq!(fixture.get(SEARCH, None).status, 503);
    assert_eq!(fixture.recorded(), 0);
}

#[test]
fn what_cannot_be_kept_is_refused_before_its_query_runs() {
    let fixture = Fixture::with(Limits {
        cheap_query_cost: 0,
        kept_bytes_per_key: 600,
        ..Limits::default()
    });
    let searched = |number| {
        let searched = format!("signaldex_expensive_queries_total {number}\n");
        fixture.service.metrics().contains(&searched)
    };
    // The first fits in no way, but only its answer tells.
    let whole = "/api/v1/signals?any=%22series+a+funding%22+raises";
    assert_eq!(fixture.get(whole, Some("order-4712")).status, 429);
    assert!(searched(1));
    assert_eq!(fixture.recorded(), 0);
    let connection = rusqlite::Connection::open(fixture.directory.path().join("state.db"));
    let fill = "INSERT INTO kept_bytes SELECT 1, unixepoch() / 3600, 600 \
                UNION SELECT 0, unixepoch() / 3600, 600";
    let filled = connection.expect("the state").execute(fill, []);
    assert_eq!(filled.expect("filled"), 2);
    let refused = fixture.get(whole, Some("order-4712"));
    assert_eq!((refused.status, refused.charged), (429, None));
    assert!(searched(1), "no other query has run");
    fixture.service.follow();
    let metrics = fixture.service.metrics();
    assert!(metrics.contains("signaldex_kept_bytes 600\n"));
    assert!(metrics.contains("signaldex_kept_bytes_max 8000000000\n"));
}
