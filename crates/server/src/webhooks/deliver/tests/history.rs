//! Random histories of commits, failures and kills: at least once, one id, charged at most once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use signaldex::{Company, Filter, Signal, SignalId, sample};

use super::{Received, World, key};
use crate::corpus::{ChangePlace, match_id};
use crate::state::BatchIds;
use crate::webhooks::SearchStatus;
use crate::webhooks::deliver::lock;

/// A generator of numbers for a history.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Records each batch as it is stored.
fn record_batches(world: &World) {
    let recorded = world.connection().execute_batch(
        "CREATE TABLE stored (batch TEXT); CREATE TRIGGER record_stored AFTER UPDATE OF batch ON webhooks \
         WHEN new.batch IS NOT NULL AND old.batch IS NULL BEGIN INSERT INTO stored VALUES (new.batch); END",
    );
    recorded.expect("a trigger");
}

/// The ids of all matches that were ever charged.
fn stored_ids(world: &World) -> Vec<String> {
    let connection = world.connection();
    let mut statement = connection
        .prepare("SELECT batch FROM stored")
        .expect("a table");
    let batches = statement
        .query_map([], |row| row.get::<_, String>(0))
        .expect("batches");
    let ids = batches.flat_map(|batch| {
        let ids: BatchIds = serde_json::from_str(&batch.expect("a batch")).expect("JSON");
        ids.matches
    });
    ids.collect()
}

async fn history(seed: u64) {
    const TITLES: [&str; 3] = ["Acme hires", "Acme moves", "Acme hires an intern"];
    let world = World::new().await;
    let searches = ["q=hires", "", "exclude=intern"];
    let searches = searches.map(|query| (query, world.search(key(), query, |_| {}).0));
    record_batches(&world);
    let mut process = world.process();
    process.settle().await;
    let (mut dice, mut signals, mut received) = (Dice(seed), BTreeMap::new(), Vec::new());
    for _ in 0..30 {
        match dice.roll(6) {
            0 | 1 => {
                let upserts: BTreeMap<u64, &str> = (0..=dice.roll(4))
                    .map(|_| (1 + dice.roll(30), TITLES[dice.roll(3) as usize]))
                    .collect();
                let upserts: Vec<(u64, &str)> = upserts.into_iter().collect();
                world.commit(&upserts, &[]);
                let commit = world.index.snapshot().position().step().0;
                signals.extend(upserts.into_iter().map(|(id, title)| (id, (title, commit))));
            }
            2 => world
                .receiver
                .answer(&[[500, 503, 302][dice.roll(3) as usize]]),
            3 => world.pass([5, 700, 10_000][dice.roll(3) as usize]),
            4 => process.settle().await,
            _ => {
                // The process is killed, wherever its turns are.
                process.deliverer.step(&mut process.turns).await;
                tokio::time::sleep(Duration::from_millis(dice.roll(12))).await;
                process.turns.abort_all();
                while process.turns.join_next().await.is_some() {}
                process = world.process();
                world.pass(16);
            }
        }
        received.extend(world.receiver.take());
    }
    lock(&world.receiver.answers).clear();
    for _ in 0..12 {
        for (_, id) in &searches {
            if world.status(id) == SearchStatus::Disabled {
                world.state().resume_search(id).expect("the state");
            }
        }
        world.pass(30 * 3_600);
        process.settle().await;
    }
    received.extend(world.receiver.take());
    check(&world, &searches, &signals, &received, seed);
}

fn check(
    world: &World,
    searches: &[(&str, String)],
    signals: &BTreeMap<u64, (&str, u64)>,
    received: &[Received],
    seed: u64,
) {
    let stored = stored_ids(world);
    let charged: BTreeSet<&String> = stored.iter().collect();
    assert_eq!(
        charged.len(),
        stored.len(),
        "seed {seed}: a match is charged once"
    );
    assert_eq!(world.charged(), stored.len() as u64, "seed {seed}");
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    for event in received {
        for (id, signal) in event.matches() {
            assert!(
                charged.contains(&id),
                "seed {seed}: {id} is charged before it is sent"
            );
            let this = (event.id(), signal);
            let first = known.entry(id).or_insert_with(|| this.clone());
            assert_eq!(
                *first, this,
                "seed {seed}: one event and one signal have a match"
            );
        }
    }
    let acme = Company::new("acme", "Acme");
    for (query, search) in searches {
        let filter = Filter::from_query_string(query).expect("a filter");
        for (&id, &(title, commit)) in signals {
            let id = SignalId::new(id).expect("an id");
            if filter.matches(&Signal::new(id, "acme", title), &acme, sample::AS_OF) {
                let shard = None;
                let expected = match_id(search, id, ChangePlace { shard, commit });
                assert!(
                    known.contains_key(&expected),
                    "seed {seed}: {query:?} lacks {id} of commit {commit}"
                );
            }
        }
    }
}

#[tokio::test]
async fn each_match_arrives_with_one_id_and_is_charged_once_whatever_fails() {
    let seeds = std::env::var("SIGNALDEX_SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok());
    let seeds = seeds.map_or(0..24, |seed| seed..seed + 1);
    for seed in seeds {
        history(seed).await;
    }
}

#[tokio::test]
async fn two_processes_that_both_take_themselves_for_the_sender_charge_a_match_once() {
    let world = World::new().await;
    world.search(key(), "", |_| {});
    record_batches(&world);
    let (mut first, second) = (world.process(), world.process());
    first.settle().await;
    *lock(&second.deliverer.held_until) = i64::MAX;
    for id in 1..=20 {
        world.commit(&[(id, "Acme hires")], &[]);
        first.deliverer.follow_feed().expect("a position");
        let (one, other) = tokio::join!(first.deliverer.turn(1), second.deliverer.turn(1));
        one.and(other).expect("the state");
        first.settle().await;
        assert_eq!((world.charged(), stored_ids(&world).len() as u64), (id, id));
        let events = world.receiver.take();
        assert!(!events.is_empty() && events.iter().all(|event| event.id() == events[0].id()));
    }
}
