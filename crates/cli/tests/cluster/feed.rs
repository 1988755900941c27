//! Changes and exports of a cluster that takes updates: copies equal one index, and each signal is paid once.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client;
use crate::fixture::{Cluster, Fixture, Served, Shape, number, program, run};
use crate::random::Random;
use crate::updates::{Updates, update};

const SHARDS: u32 = 7;

/// What copies are of.
const FILTERS: [&str; 3] = ["", "&q=raises", "&country=Germany"];

/// A copy that follows a cluster.
#[derive(Debug)]
pub(crate) struct Copied {
    filter: &'static str,
    position: String,
    signals: BTreeMap<String, Value>,
}

impl Copied {
    pub(crate) fn new(filter: &'static str) -> Copied {
        Copied {
            filter,
            position: "start".to_owned(),
            signals: BTreeMap::new(),
        }
    }

    /// Asks a node once. Returns whether the copy has all that the node serves; nothing where the node is behind.
    fn poll(&mut self, node: &Served, limit: u64) -> bool {
        let (filter, position) = (self.filter, &self.position);
        let target = format!("/api/v1/changes?since={position}&limit={limit}{filter}");
        let Some(answer) = node.get_unless_behind(&target) else {
            return false;
        };
        let data = &answer.json()["data"];
        let mut upserts = 0;
        for change in data["changes"].as_array().expect("changes") {
            if change["op"] == "remove" {
                self.signals.remove(change["id"].as_str().expect("an id"));
            } else {
                let id = change["signal"]["id"].as_str().expect("an id");
                let signal = change["signal"].clone();
                self.signals.insert(id.to_owned(), signal);
                upserts += 1;
            }
        }
        assert_eq!(answer.charged(), upserts);
        data["next"]
            .as_str()
            .expect("a position")
            .clone_into(&mut self.position);
        data["more"] == false
    }

    /// Follows at random nodes until it has everything, and compares it with one index.
    pub(crate) fn complete(&mut self, cluster: &Cluster, whole: &Served, random: &mut Random) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.poll(random.pick(&cluster.nodes), 1 + random.below(50)) {
            assert!(Instant::now() < deadline, "never complete");
        }
        let expected = exported(whole, self.filter);
        assert!(self.signals == expected, "{:?}", self.filter);
    }
}

/// The signals that a process exports, by id.
pub(crate) fn exported(whole: &Served, filter: &str) -> BTreeMap<String, Value> {
    let answer = whole.get(&format!("/api/v1/export?format=ndjson{filter}"));
    let lines = std::str::from_utf8(&answer.body).expect("text").lines();
    let signal = |line: &str| {
        let signal: Value = serde_json::from_str(line).expect("JSON");
        (signal["id"].as_str().expect("an id").to_owned(), signal)
    };
    lines.map(signal).collect()
}

/// An index and a cluster that take the same updates.
pub(crate) struct Both {
    pub(crate) fixture: Fixture,
    pub(crate) whole: Served,
    pub(crate) cluster: Cluster,
    updates: Updates,
    generation: u64,
}

impl Both {
    fn new() -> Both {
        Both::of(Fixture::new())
    }

    pub(crate) fn of(fixture: Fixture) -> Both {
        fixture.generate("corpus", 800, 71);
        fixture.publish("corpus", SHARDS, "store");
        Both {
            whole: fixture.serve_whole("corpus"),
            cluster: Cluster::start(&fixture, "cluster", "store", Shape::with_replicas(2)),
            updates: Updates::of(&fixture, "corpus"),
            fixture,
            generation: 1,
        }
    }

    /// Publishes a generation with a few updates.
    pub(crate) fn publish(&mut self) {
        let (parts, store) = (
            self.fixture.parts("corpus", SHARDS),
            self.fixture.path("store"),
        );
        let (parts, store) = (parts.to_string_lossy(), store.to_string_lossy());
        for turn in 0..3 {
            let options = self.updates.next();
            let whole = self.fixture.whole("corpus").to_string_lossy().into_owned();
            run(&mut update(&[&whole], &options));
            let mut command = update(&["--shards", &parts], &options);
            if turn == 2 {
                command.args(["--publish", &store]);
            }
            run(&mut command);
        }
        self.generation += 1;
    }

    /// Waits until all serve the last generation.
    pub(crate) fn await_generation(&self) {
        let expected = format!("\"generation\":{}", self.generation);
        self.cluster.await_ready(&expected);
        let count = self.fixture.visible_count("corpus");
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.whole.get("/api/v1/signals?countOnly=true").json()["data"]["count"] != count {
            assert!(Instant::now() < deadline, "the index is not followed");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn copies_that_follow_a_cluster_equal_one_index() {
    let mut both = Both::new();
    let mut random = Random::new(number("SIGNALDEX_SEED", 3));
    let mut copies = FILTERS.map(Copied::new);
    for round in 0..number("SIGNALDEX_GENERATIONS", 6) {
        both.publish();
        if round == 2 {
            both.cluster.nodes[1].signal("KILL");
            both.cluster.restart(&both.fixture, 1);
        }
        // Some nodes have the new generation by now, and some have not.
        for copy in &mut copies {
            for _ in 0..random.below(4) {
                copy.poll(random.pick(&both.cluster.nodes), 1 + random.below(50));
            }
        }
        if round % 2 == 1 {
            both.await_generation();
            for copy in &mut copies {
                copy.complete(&both.cluster, &both.whole, &mut random);
            }
        }
    }
    // A manifest that was removed is no beginning any more.
    let expired = copies[0].position.clone();
    both.publish();
    both.await_generation();
    let mut prune = program();
    prune.arg("prune").arg(both.fixture.path("store"));
    prune.args([
        "--keep",
        "1",
        "--manifests",
        "1",
        "--older-than",
        "0s",
        "--delete",
    ]);
    run(&mut prune);
    both.publish();
    both.publish();
    both.await_generation();
    let target = format!("/api/v1/changes?since={expired}");
    let deadline = Instant::now() + Duration::from_secs(60);
    // Nodes still have the generation itself for some seconds.
    while both.cluster.nodes[2].get(&target).status != 410 {
        assert!(Instant::now() < deadline, "the position does not expire");
        thread::sleep(Duration::from_millis(200));
    }
    let answer = both.cluster.nodes[2].get(&target);
    assert_eq!(answer.json()["code"], "position_expired");
}

/// A download under one `Idempotency-Key`.
struct Download<'n> {
    node: &'n Served,
    key: &'n str,
}

impl Download<'_> {
    /// The lines of a part.
    fn part(&self, after: Option<&str>, items: u64) -> Vec<String> {
        let after = after.map_or(String::new(), |after| format!("&after={after}"));
        let target = format!("/api/v1/export?maxItems={items}{after}");
        let authorization = format!("Bearer {}", self.key);
        let headers = [
            ("authorization", authorization.as_str()),
            ("idempotency-key", "export-4711"),
        ];
        let answer = client::request(self.node.address(), "GET", &target, &headers);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.is_whole);
        let text = String::from_utf8(answer.body).expect("text");
        text.lines().map(str::to_owned).collect()
    }

    /// Signals that the key has paid for.
    fn paid(&self) -> u64 {
        self.node
            .metric("signaldex_charged_units_total{counter=\"signals\"}")
    }
}

#[test]
fn an_export_that_is_resumed_pays_for_each_signal_once() {
    let mut both = Both::new();
    let mut random = Random::new(5);
    let (key, mut paid_for, mut last) = (both.fixture.key.clone(), BTreeSet::new(), None);
    for round in 0..12 {
        let download = Download {
            node: &both.cluster.nodes[0],
            key: &key,
        };
        let lines = download.part(last.as_deref(), 1 + random.below(150));
        let id = |line: &String| {
            let signal: Value = serde_json::from_str(line).expect("JSON");
            signal["id"].as_str().expect("an id").to_owned()
        };
        paid_for.extend(lines.iter().map(id));
        // As if the connection had broken before some of the lines.
        let kept = random.below(lines.len() as u64 + 1) as usize;
        last = lines[..kept].last().map(id).or(last);
        assert_eq!(download.paid(), paid_for.len() as u64);
        if round % 3 == 0 {
            both.publish();
        }
    }
    both.await_generation();
    // What is exported at the end is what one index exports.
    for node in &both.cluster.nodes {
        for format in ["csv", "ndjson"] {
            let target = format!("/api/v1/export?format={format}");
            assert!(
                node.get(&target).body == both.whole.get(&target).body,
                "{format}"
            );
        }
    }
}
