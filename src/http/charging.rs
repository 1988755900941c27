//! What an answer costs, made durable before the answer leaves.
//!
//! The state alone knows what a quota leaves: it is counted in the transaction that records a
//! charge, over all processes. A charge that exceeds it is refused with what is left, so that the
//! request can deliver just that.

use std::sync::Arc;

use super::call::Call;
use super::free_answers::FreeAnswer;
use super::metering::Counter;
use super::problem::{Code, Problem};
use super::replay::IdempotencyGuard;
use super::state::{Charge, ChargeError, Charged, NewReplay};

/// Why a charge was refused.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The quota leaves only that many units.
    Left(Counter, u64),
    Problem(Problem),
}

/// What the key's quota leaves; `None` where it has none.
///
/// # Errors
/// Nothing is left, or the state cannot be read.
pub(super) fn left(call: &Call<'_>, counter: Counter) -> Result<Option<u64>, Problem> {
    let Some(quota) = call.key.record.quota(counter) else {
        return Ok(None);
    };
    let used = call
        .service
        .state
        .counts(call.key.record.number, call.month)
        .map_err(|error| Problem::internal(&error))?;
    match quota.saturating_sub(used[counter.index()]) {
        0 => Err(exhausted(counter)),
        left => Ok(Some(left)),
    }
}

/// Takes one free answer of what the key's quota leaves, before the work for it.
///
/// # Errors
/// As [`left`].
pub(super) fn take_free(call: &Call<'_>) -> Result<FreeAnswer, Problem> {
    // Taken before the quota is read, so that of answers under way at once none exceeds it.
    let number = call.key.record.number;
    let (answer, unrecorded) = call.service.free_answers.take(number, call.month);
    match left(call, Counter::FreeAnswers)? {
        Some(left) if unrecorded > left => Err(exhausted(Counter::FreeAnswers)),
        _ => Ok(answer),
    }
}

/// Counts a free answer that was given; it is recorded within a second. A HEAD is none.
pub(super) fn count_free(call: &Call<'_>, answer: FreeAnswer) {
    if !call.is_head() && call.key.is_metered {
        answer.give();
    }
}

/// Records units, with the answer they pay for where it has a name, and returns when both are
/// durable. The guard is held until then, so that a retry finds either it or the answer.
///
/// # Errors
/// Nothing was recorded, unless the problem says that this is uncertain. Nothing may be delivered.
pub(super) async fn charge(
    call: &Call<'_>,
    counter: Counter,
    units: u64,
    replay: Option<NewReplay>,
    guard: Option<&Arc<IdempotencyGuard>>,
) -> Result<Charged, Refusal> {
    if !call.key.is_metered {
        return Ok(Charged { total: 0 });
    }
    let charge = Charge {
        key: call.key.record.number,
        month: call.month,
        day: call.now.date(),
        counter,
        units,
        quota: call.key.record.quota(counter),
        replay,
        guard: guard.map(|guard| Arc::clone(guard) as Arc<dyn Send + Sync>),
    };
    let charging = call
        .service
        .writer
        .charge(charge, call.deadline.of_charge());
    charging.await.map_err(|error| refusal(error, counter))
}

fn refusal(error: ChargeError, counter: Counter) -> Refusal {
    Refusal::Problem(match error {
        ChargeError::QuotaExceeded { left } => return Refusal::Left(counter, left),
        ChargeError::NameTaken => in_progress(),
        ChargeError::QueueFull => Problem::overloaded("Too many charges wait to be written."),
        ChargeError::Unavailable => {
            Problem::overloaded("Usage cannot be recorded; nothing was charged.")
        }
        ChargeError::TimedOut => Problem::timed_out(),
        ChargeError::Uncertain => uncertain(),
    })
}

fn exhausted(counter: Counter) -> Problem {
    let detail = format!(
        "The key has used its quota of {} for this month (UTC); wait for the next, or ask the operator for more.",
        counter.as_str()
    );
    Problem::new(Code::QuotaExceeded, detail)
}

/// The answer while another request with the same idempotency key is under way.
pub(super) fn in_progress() -> Problem {
    let detail = "A request with this Idempotency-Key is under way; try again.";
    Problem::new(Code::RequestInProgress, detail).retry_after(1)
}

fn uncertain() -> Problem {
    let detail = "The charge was being written when the request ended, so it may have been \
                  charged. Send the request again with the same Idempotency-Key: what was charged \
                  is then delivered without a further charge.";
    Problem::new(Code::ChargeUncertain, detail)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        match refusal {
            Refusal::Left(counter, _) => exhausted(counter),
            Refusal::Problem(problem) => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Errors within a commit, which nothing outside the process can cause on purpose.

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
    use crate::sample;

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
            let directory = tempfile::tempdir().expect("a directory");
            let state = State::open(directory.path().join("state.db")).expect("a state");
            let (_, key) = state.create_key(&NewKey::named("test")).expect("a key");
            let limits = Limits {
                request_time,
                ..Limits::default()
            };
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
        let fixture = Fixture::new(Duration::from_millis(200));
        fixture.before_commit(|| std::thread::sleep(Duration::from_millis(900)));
        let answer = fixture.get(SEARCH, None);
        assert_eq!((answer.status, answer.charged.as_deref()), (200, Some("3")));
        assert_eq!(fixture.recorded(), 3);
    }

    #[test]
    fn a_charge_that_is_still_being_committed_is_uncertain_until_it_is_repeated() {
        let fixture = Fixture::new(Duration::from_millis(200));
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
}
