//! What is delivered, charged and recorded, against a receiver in this process and a clock of its own.

mod history;
mod many;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::Connection;
use signaldex::query::KeyFilter;
use signaldex::{Company, Filter, Index, Signal, SignalId, sample};
use time::UtcDateTime;
use tokio::task::JoinSet;

use super::{Deliverer, lock};
use crate::metering::Counter;
use crate::webhooks::receiver::{Received, Receiver, options};
use crate::webhooks::{SearchStatus, WebhookSecret, WebhookUrl, signatures};
use crate::{Limits, NewKey, NewSearch, Quotas, SearchSettings, Service, State, Today};

/// The first instant of a test, in milliseconds since 1970.
const START: i64 = 1_795_000_000_000;

/// A state on disk and an index, which outlive processes.
struct World {
    directory: tempfile::TempDir,
    index: Index,
    clock: Arc<AtomicI64>,
    receiver: Receiver,
    url: String,
}

/// A process: a service with a deliverer.
struct Process {
    service: Service,
    deliverer: Arc<Deliverer>,
    turns: JoinSet<()>,
}

impl World {
    async fn new() -> World {
        let receiver = Receiver::default();
        World {
            directory: tempfile::tempdir().expect("a directory"),
            index: Index::in_memory().expect("an index"),
            clock: Arc::new(AtomicI64::new(START)),
            url: receiver.clone().listen().await,
            receiver,
        }
    }

    fn state(&self) -> State {
        let clock = Arc::clone(&self.clock);
        let state = State::open(self.directory.path().join("state.db")).expect("a state");
        state.with_clock(move || {
            let nanoseconds = i128::from(clock.load(Ordering::Relaxed)) * 1_000_000;
            UtcDateTime::from_unix_timestamp_nanos(nanoseconds).expect("an instant")
        })
    }

    fn process(&self) -> Process {
        let (today, limits) = (Today::Fixed(sample::AS_OF), Limits::default());
        let service = Service::new(self.index.clone(), self.state(), today, limits);
        let service = service.expect("a service");
        let deliverer = Deliverer::new(&service, options())
            .expect("TLS")
            .expect("an index");
        Process {
            service,
            deliverer,
            turns: JoinSet::new(),
        }
    }

    /// A connection to the state, beside those of processes.
    fn connection(&self) -> Connection {
        Connection::open(self.directory.path().join("state.db")).expect("a state")
    }

    fn pass(&self, seconds: i64) {
        self.clock.fetch_add(1_000 * seconds, Ordering::Relaxed);
    }

    /// Saves a search for a new key, and returns its id and secret.
    fn search(
        &self,
        key: NewKey,
        query: &str,
        set: impl FnOnce(&mut NewSearch),
    ) -> (String, WebhookSecret) {
        let state = self.state();
        let (key, _) = state.create_key(&key).expect("a key");
        let filter = Filter::from_query_string(query).expect("a filter");
        let url = WebhookUrl::parse(&self.url, &options().rules).expect("a URL");
        let new = NewSearch::with_webhook(SearchSettings::new("hook", filter), url);
        let mut new = new.expect("a secret");
        set(&mut new);
        let id = state.create_search(&key.id, &new).expect("a search").id;
        (id, new.secret.expect("a secret"))
    }

    fn commit(&self, upserts: &[(u64, &str)], deletions: &[u64]) {
        let mut writer = self.index.writer().expect("a writer");
        if !self.index.snapshot().has_company("acme").expect("an index") {
            let acme = Company::new("acme", "Acme");
            writer.upsert_company(&acme).expect("a company");
        }
        for &(id, title) in upserts {
            let id = SignalId::new(id).expect("an id");
            writer
                .upsert_signal(&Signal::new(id, "acme", title))
                .expect("a signal");
        }
        for &id in deletions {
            writer
                .delete_signal(SignalId::new(id).expect("an id"))
                .expect("deleted");
        }
        writer.commit().expect("a commit");
    }

    fn status(&self, id: &str) -> SearchStatus {
        self.state()
            .search(id)
            .expect("the state")
            .expect("a search")
            .status
    }

    fn charged(&self) -> u64 {
        let usage = self.state().usage(None).expect("usage");
        usage
            .iter()
            .map(|line| line.counts[Counter::Signals as usize])
            .sum()
    }
}

impl Process {
    /// Steps until nothing is due.
    async fn settle(&mut self) {
        let mut idle = 0;
        while idle < 2 {
            self.deliverer.step(&mut self.turns).await;
            idle = if self.turns.is_empty() { idle + 1 } else { 0 };
            while self.turns.join_next().await.is_some() {}
        }
    }
}

fn key() -> NewKey {
    NewKey::named("Acme")
}

#[tokio::test]
async fn a_match_is_signed_delivered_and_charged_once() {
    let world = World::new().await;
    let (id, secret) = world.search(key(), "q=hires", |_| {});
    let mut process = world.process();
    process.settle().await;
    world.commit(&[(1, "Acme hires"), (2, "Acme moves")], &[]);
    process.settle().await;
    let events = world.receiver.take();
    assert_eq!(events.len(), 1);
    let (event, body) = (&events[0], events[0].json());
    assert_eq!(
        (&body["type"], &body["data"]["search"]["id"]),
        (&"search.matched".into(), &id.clone().into())
    );
    assert_eq!(body["data"]["matches"][0]["isNew"], true);
    assert_eq!(event.matches()[0].1, "1");
    let timestamp = event.header("webhook-timestamp").parse().expect("seconds");
    let signed = signatures(&[secret], &event.id(), timestamp, &event.body);
    assert_eq!(event.header("webhook-signature"), signed);
    assert!(event.header("user-agent").starts_with("signaldex/"));
    assert_eq!(event.header("content-type"), "application/json");
    assert_eq!(world.charged(), 1);
    world.commit(&[(2, "Acme moves again")], &[]);
    process.settle().await;
    assert!(world.receiver.take().is_empty());
    let search = world
        .state()
        .search(&id)
        .expect("the state")
        .expect("a search");
    let webhook = search.webhook.expect("a webhook");
    let now = world.index.snapshot().position().to_string();
    assert_eq!(
        webhook.position.map(|position| position.to_string()),
        Some(now)
    );
    assert!(webhook.delivered_at.is_some() && webhook.pending == 0);
    let log = world.state().deliveries(&id).expect("the log");
    assert_eq!(
        (log.len(), log[0].status, log[0].matches),
        (1, Some(200), 1)
    );
    let metrics = process.service.metrics();
    assert!(
        metrics.contains("signaldex_webhook_attempts_total{outcome=\"accepted\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("signaldex_webhook_lease_held 1"));
}

#[tokio::test]
async fn failures_are_retried_with_one_id_until_the_search_is_disabled() {
    let world = World::new().await;
    let (id, _) = world.search(key(), "", |_| {});
    let mut process = world.process();
    process.settle().await;
    world.commit(&[(1, "Acme hires")], &[]);
    world
        .receiver
        .answer(&[500, 302, 404, 503, 500, 500, 500, 500, 500, 500]);
    let pauses = [
        6, 360, 2_160, 100_000, 21_600, 43_200, 60_480, 86_400, 103_680,
    ];
    for pause in pauses {
        process.settle().await;
        assert_eq!(world.status(&id), SearchStatus::Failing);
        world.pass(pause * 2 / 3 - 2);
        process.settle().await;
        world.pass(pause / 3 + 3);
    }
    process.settle().await;
    assert_eq!(world.status(&id), SearchStatus::Disabled);
    let events = world.receiver.take();
    assert_eq!(events.len(), 10, "none came before its pause");
    assert!(
        events
            .iter()
            .all(|event| event.id() == events[0].id() && event.body == events[0].body)
    );
    assert_eq!(world.charged(), 1);
    assert!(
        process
            .service
            .metrics()
            .contains("signaldex_webhooks_disabled_total 1")
    );
    world.commit(&[(2, "Acme moves")], &[]);
    world.pass(10 * 86_400);
    process.settle().await;
    assert!(world.receiver.take().is_empty());
    assert!(world.state().resume_search(&id).expect("the state"));
    process.settle().await;
    let resumed = world.receiver.take();
    assert_eq!((resumed.len(), resumed[0].id()), (2, events[0].id()));
    assert_eq!(resumed[1].matches()[0].1, "2", "without a gap");
    assert_eq!(
        (world.charged(), world.status(&id)),
        (2, SearchStatus::Active)
    );
}

#[tokio::test]
async fn a_receiver_that_is_gone_disables_its_search_at_once() {
    let world = World::new().await;
    let (id, _) = world.search(key(), "", |_| {});
    let mut process = world.process();
    process.settle().await;
    world.receiver.answer(&[410]);
    world.commit(&[(1, "Acme hires")], &[]);
    process.settle().await;
    assert_eq!(
        (world.status(&id), world.receiver.take().len()),
        (SearchStatus::Disabled, 1)
    );
}

#[tokio::test]
async fn batches_have_fifty_matches_and_the_quota_bounds_them() {
    let world = World::new().await;
    let quotas = Quotas {
        signals: Some(70),
        ..Quotas::default()
    };
    let (id, _) = world.search(NewKey { quotas, ..key() }, "", |_| {});
    let mut process = world.process();
    process.settle().await;
    let signals: Vec<(u64, &str)> = (1..=120).map(|id| (id, "Acme hires")).collect();
    world.commit(&signals, &[]);
    process.settle().await;
    let lengths: Vec<usize> = world
        .receiver
        .take()
        .iter()
        .map(|event| event.matches().len())
        .collect();
    assert_eq!((lengths, world.charged()), (vec![50, 20], 70));
    assert_eq!(world.status(&id), SearchStatus::Quota);
    world.pass(31 * 86_400);
    process.settle().await;
    let rest: usize = world
        .receiver
        .take()
        .iter()
        .map(|event| event.matches().len())
        .sum();
    assert_eq!(
        (rest, world.charged(), world.status(&id)),
        (50, 120, SearchStatus::Active)
    );
}

#[tokio::test]
async fn what_the_key_sees_is_judged_at_each_attempt() {
    let world = World::new().await;
    let filter = KeyFilter::parse(["q=acme"], []).expect("a filter");
    let (id, _) = world.search(
        NewKey {
            filter: Some(filter.into()),
            ..key()
        },
        "",
        |_| {},
    );
    let mut process = world.process();
    process.settle().await;
    world.receiver.answer(&[500, 500]);
    world.commit(&[(1, "Acme hires"), (2, "Acme moves"), (3, "Other")], &[]);
    process.settle().await;
    let state = world.state();
    let key = state
        .search(&id)
        .expect("the state")
        .expect("a search")
        .key_id;
    let narrower = KeyFilter::parse(["q=moves"], []).expect("a filter");
    let edited = state.edit_key(&key, |settings| settings.filter = Some(narrower.into()));
    assert!(edited.expect("the state").is_some());
    world.pass(10);
    process.settle().await;
    let seen: Vec<Vec<String>> = world
        .receiver
        .take()
        .iter()
        .map(|event| {
            event
                .matches()
                .into_iter()
                .map(|(_, signal)| signal)
                .collect()
        })
        .collect();
    assert_eq!(seen, [vec!["1", "2"], vec!["2"]]);
    assert!(state.revoke_key(&key).expect("the state"));
    world.pass(1_000);
    process.settle().await;
    assert!(world.receiver.take().is_empty());
    assert_eq!(
        (world.status(&id), world.charged()),
        (SearchStatus::KeyEnded, 2)
    );
}

#[tokio::test]
async fn removals_are_told_free_and_only_where_they_are_asked_for() {
    let world = World::new().await;
    world.commit(&[(1, "Acme hires"), (2, "Acme hires")], &[]);
    world.search(key(), "q=hires", |new| new.settings.removals = true);
    world.search(key(), "q=hires", |_| {});
    let mut process = world.process();
    process.settle().await;
    world.commit(&[(1, "Acme moves")], &[2]);
    process.settle().await;
    let events = world.receiver.take();
    assert_eq!(events.len(), 1);
    assert_eq!(
        events[0].json()["data"]["removed"],
        serde_json::json!(["1", "2"])
    );
    assert_eq!(world.charged(), 0);
}

#[tokio::test]
async fn of_two_processes_one_sends_and_the_other_takes_over() {
    let world = World::new().await;
    let (id, _) = world.search(key(), "", |_| {});
    let (mut first, mut second) = (world.process(), world.process());
    first.settle().await;
    world.commit(&[(1, "Acme hires")], &[]);
    second.settle().await;
    assert!(world.receiver.take().is_empty());
    first.settle().await;
    assert_eq!(world.receiver.take().len(), 1);
    // The first has found a batch when its lease ends, and the second takes over.
    world.commit(&[(2, "Acme moves")], &[]);
    first.deliverer.due().expect("a step");
    world.pass(16);
    second.settle().await;
    assert_eq!(world.receiver.take().len(), 1);
    first.settle().await;
    assert!(world.receiver.take().is_empty());
    assert_eq!(
        (world.charged(), world.status(&id)),
        (2, SearchStatus::Active)
    );
    second.deliverer.leave();
    world.commit(&[(3, "Acme grows")], &[]);
    first.turns = JoinSet::new();
    lock(&first.deliverer.slots).release(1);
    first.settle().await;
    assert_eq!(world.receiver.take().len(), 1);
}

#[tokio::test]
async fn a_commit_without_matches_writes_no_search() {
    let world = World::new().await;
    world.search(key(), "q=nothing", |_| {});
    let mut process = world.process();
    process.settle().await;
    let connection = world.connection();
    let written = connection.execute_batch(
        "CREATE TABLE written (search INTEGER); \
         CREATE TRIGGER count_written AFTER UPDATE ON webhooks BEGIN INSERT INTO written VALUES (new.search); END",
    );
    written.expect("a trigger");
    for id in 1..10 {
        world.commit(&[(id, "Acme hires")], &[]);
        process.settle().await;
    }
    let sql = "SELECT count(*) FROM written";
    let count = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    assert_eq!(count.expect("a count"), 0);
}

#[tokio::test]
async fn a_search_whose_index_is_another_is_expired_until_it_goes_on_from_now() {
    let mut world = World::new().await;
    let (id, _) = world.search(key(), "", |_| {});
    let mut process = world.process();
    process.settle().await;
    drop(process);
    world.index = Index::in_memory().expect("an index");
    world.commit(&[(1, "Acme hires")], &[]);
    let mut process = world.process();
    world.pass(16);
    process.settle().await;
    assert_eq!(world.status(&id), SearchStatus::Expired);
    assert_eq!(
        world
            .state()
            .resume_search_from_now(&id)
            .expect("the state"),
        Some(None)
    );
    world.commit(&[(2, "Acme moves")], &[]);
    process.settle().await;
    let events = world.receiver.take();
    assert_eq!((events.len(), world.status(&id)), (1, SearchStatus::Active));
}
