//! Alerts that arrive: signed, once over two senders, again after failures, with one id.

use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::{Connection, params};
use serde_json::json;
use signaldex::sample;

use super::*;
use crate::metering::Month;
use crate::state::{CountedBy, NewRequests};
use crate::webhooks::receiver::{Received, Receiver, options};
use crate::webhooks::signatures;
use crate::{Limits, NewKey, Quotas, Today};

const START: i64 = 1_795_000_000;

struct World {
    directory: tempfile::TempDir,
    clock: Arc<AtomicI64>,
    receiver: Receiver,
    webhook: AlertWebhook,
    /// Number and id of a key with a quota of ten signals.
    key: (i64, String),
}

impl World {
    async fn new() -> World {
        let receiver = Receiver::default();
        let url = receiver.clone().listen().await;
        let url = WebhookUrl::parse(&url, &options().rules).expect("a URL");
        let mut webhook = AlertWebhook::new(url, WebhookSecret::generate().expect("a secret"));
        webhook.rules = options().rules;
        let mut world = World {
            directory: tempfile::tempdir().expect("a directory"),
            clock: Arc::new(AtomicI64::new(START)),
            receiver,
            webhook,
            key: (0, String::new()),
        };
        let new = NewKey {
            quotas: Quotas {
                signals: Some(10),
                ..Quotas::default()
            },
            ..NewKey::named("shop")
        };
        let key = world.state().create_key(&new).expect("a key").0;
        world.key = (key.number, key.id);
        world
    }

    fn state(&self) -> State {
        let clock = Arc::clone(&self.clock);
        let state = State::open(self.directory.path().join("state.db")).expect("a state");
        state.with_clock(move || instant(clock.load(Ordering::Relaxed)))
    }

    fn sender(&self) -> Arc<AlertSender> {
        let (today, limits) = (Today::Clock, Limits::default());
        let index = sample::index().expect("an index");
        let service = Service::new(index, self.state(), today, limits).expect("a service");
        Arc::new(AlertSender::new(&service, self.webhook.clone()).expect("TLS"))
    }

    /// Sets the number of signals that the key has used this month.
    fn use_signals(&self, used: i64) {
        let state = self.state();
        let now = state.now();
        let file = Connection::open(self.directory.path().join("state.db")).expect("a file");
        let sql = "INSERT OR REPLACE INTO usage VALUES (?1, ?2, ?3, 0, 0, 0)";
        file.execute(sql, params![self.key.0, Month::of(now).number(), used])
            .expect("used");
        let new = NewRequests {
            requests: 1,
            ..NewRequests::none(CountedBy {
                minute: now.unix_timestamp().div_euclid(60),
                key: self.key.0,
                endpoint: "search",
                status: 200,
            })
        };
        state.record_requests(&[new], now).expect("recorded");
    }

    fn pass(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
    }
}

fn instant(seconds: i64) -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(seconds).expect("an instant")
}

fn ids(events: &[Received]) -> Vec<String> {
    events.iter().map(Received::id).collect()
}

#[tokio::test]
async fn an_alert_is_signed_and_sent_once_over_two_senders() {
    let world = World::new().await;
    let (one, other) = (world.sender(), world.sender());
    one.step().await;
    assert!(world.receiver.take().is_empty());
    world.use_signals(8);
    tokio::join!(one.step(), other.step());
    let events = world.receiver.take();
    assert_eq!(events.len(), 1);
    let expected = json!({
        "type": "quota.reached",
        "timestamp": events[0].json()["timestamp"],
        "data": {
            "keyId": world.key.1, "name": "shop", "counter": "signals",
            "month": Month::of(instant(START)).to_string(), "percent": 80, "used": 8, "quota": 10,
        },
    });
    assert_eq!(events[0].json(), expected);
    let timestamp = events[0].header("webhook-timestamp").parse();
    let secret = std::slice::from_ref(&world.webhook.secret);
    let signed = signatures(
        secret,
        &events[0].id(),
        timestamp.expect("seconds"),
        &events[0].body,
    );
    assert_eq!(events[0].header("webhook-signature"), signed);
    world.pass(3_600);
    tokio::join!(one.step(), other.step());
    assert!(world.receiver.take().is_empty());
    world.use_signals(10);
    one.step().await;
    let whole = world.receiver.take();
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].json()["data"]["percent"], 100);
    assert_ne!(whole[0].id(), events[0].id());
}

#[tokio::test]
async fn what_is_not_accepted_is_sent_again_until_the_last_pause() {
    let world = World::new().await;
    let sender = world.sender();
    world.use_signals(10);
    world.receiver.answer(&[500, 503, 204]);
    let mut events = Vec::new();
    for pause in [0, 3, 3, 90_000, 360, 90_000] {
        world.pass(pause);
        sender.step().await;
        events.extend(world.receiver.take());
    }
    assert_eq!(events.len(), 3, "at once, after 5 s, and after Retry-After");
    assert!(ids(&events).iter().all(|id| *id == events[0].id()));
    assert!(events.iter().all(|event| event.body == events[0].body));
}

#[tokio::test]
async fn an_alert_whose_sender_has_died_is_sent_by_another() {
    let world = World::new().await;
    world.use_signals(10);
    let (state, now) = (world.state(), instant(START));
    let taken = state.take_due_alert(now, after(now, HOLD)).expect("read");
    assert!(taken.is_some());
    let other = world.sender();
    other.step().await;
    assert!(world.receiver.take().is_empty(), "another holds it");
    world.pass(61);
    other.step().await;
    assert_eq!(world.receiver.take().len(), 1);
}

#[tokio::test]
async fn a_raised_quota_makes_another_alert_and_a_gone_webhook_none() {
    let world = World::new().await;
    let sender = world.sender();
    world.use_signals(10);
    world.receiver.answer(&[410]);
    sender.step().await;
    world.pass(90_000);
    sender.step().await;
    assert_eq!(world.receiver.take().len(), 1);
    let file = Connection::open(world.directory.path().join("state.db")).expect("a file");
    file.execute("UPDATE keys SET quota_signals = 20", [])
        .expect("a quota");
    world.use_signals(19);
    sender.step().await;
    let events = world.receiver.take();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].json()["data"]["quota"], 20);
}
