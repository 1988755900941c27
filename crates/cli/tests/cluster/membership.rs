//! Clusters whose nodes find each other: nodes that join, leave and move, zones, and nodes that do not belong.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, Served, free_port, number};

const SHARDS: u32 = 8;

const TARGETS: [&str; 4] = [
    "/api/v1/signals?limit=50",
    "/api/v1/signals?q=raises&limit=20",
    "/api/v1/signals?countOnly=true&days=90",
    "/api/v1/filter-options?q=new",
];

/// Longer than joining and loading take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a node that is gone keeps its place.
const FORGET_AFTER: Duration = Duration::from_secs(4);

/// Where the nodes of a cluster find each other.
struct Seeds {
    file: PathBuf,
    port: u16,
}

impl Seeds {
    fn new(fixture: &Fixture, cluster: &str, port: u16) -> Seeds {
        let file = fixture.path(&format!("{cluster}.json"));
        let settings = serde_json::json!({
            "cluster": cluster,
            "store": fixture.path("store"),
            "replicas": 2,
            "seeds": [format!("127.0.0.1:{port}")],
        });
        fs::write(&file, settings.to_string()).expect("a written file");
        Seeds { file, port }
    }

    /// The command of a node; `home` names its state and its cache.
    fn command(&self, fixture: &Fixture, home: &str, name: &str, port: u16, zone: &str) -> Command {
        let mut command = fixture.serve(home);
        command.arg("--cluster").arg(&self.file);
        command.args(["--node", name, "--shard-cache"]);
        command.arg(fixture.path(&format!("{home}-cache")));
        command.args(["--worker-addr", &format!("127.0.0.1:{port}")]);
        command.args(["--cluster-interval", "0.1", "--query-deadline", "4"]);
        command.args(["--first-attempt-timeout", "2", "--max-queries", "64"]);
        let forget_after = FORGET_AFTER.as_secs().to_string();
        command.args(["--forget-node-after", &forget_after]);
        if !zone.is_empty() {
            command.args(["--zone", zone]);
        }
        command
    }

    /// Starts a node; the first one at the port of the seed.
    fn start(&self, fixture: &Fixture, name: &str, zone: &str) -> Served {
        let is_seed = std::net::TcpListener::bind(("127.0.0.1", self.port)).is_ok();
        let port = if is_seed { self.port } else { free_port() };
        let command = self.command(fixture, name, name, port, zone);
        let log = fixture.path(&format!("{name}.log"));
        let node = Served::start(command, log, fixture.key.clone());
        node.await_ready("\"generation\":1");
        node
    }

    /// Runs a node that does not stay.
    fn refused(&self, fixture: &Fixture, name: &str) -> Output {
        let mut command = self.command(fixture, "refused", name, free_port(), "");
        command.output().expect("the program runs")
    }
}

fn corpus() -> (Fixture, Served) {
    let fixture = Fixture::new();
    fixture.generate("corpus", 2_000, 71);
    fixture.publish("corpus", SHARDS, "store");
    let whole = fixture.serve_whole("corpus");
    (fixture, whole)
}

fn assert_same(nodes: &[&Served], whole: &Served) {
    for node in nodes {
        for target in TARGETS {
            let answer = node.get(target);
            assert_eq!(answer.status, 200, "{target}: {answer:?}: {}", node.log());
            assert!(answer.body == whole.get(target).body, "{target}");
        }
    }
}

/// The shards that a node has copies of.
fn copies(fixture: &Fixture, name: &str) -> usize {
    let entries = fs::read_dir(fixture.path(&format!("{name}-cache")));
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    names
        .filter(|name| name.to_string_lossy().contains("-of-"))
        .count()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Asks nodes until it is told to stop; returns the number of answers. Each is that of one index.
fn ask_until(nodes: &[&Served], whole: &Served, is_over: &AtomicBool) -> u64 {
    let expected = TARGETS.map(|target| whole.get(target).body);
    let answers = AtomicU64::new(0);
    thread::scope(|scope| {
        for node in nodes {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for (target, expected) in TARGETS.iter().zip(&expected) {
                        let answer = node.get(target);
                        assert_eq!(answer.status, 200, "{target}: {answer:?}: {}", node.log());
                        assert!(answer.body == *expected, "{target}");
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    answers.into_inner()
}

#[test]
fn a_node_joins_and_another_leaves_for_good_while_all_is_answered() {
    let (fixture, whole) = corpus();
    let seeds = Seeds::new(&fixture, "signals", free_port());
    let one = seeds.start(&fixture, "one", "");
    let two = seeds.start(&fixture, "two", "");
    let mut three = seeds.start(&fixture, "three", "");
    let held = |names: &[&str]| {
        names
            .iter()
            .map(|name| copies(&fixture, name))
            .sum::<usize>()
    };
    let twice = 2 * SHARDS as usize;
    wait_until("each shard is held twice", || {
        held(&["one", "two", "three"]) == twice
    });
    let is_over = AtomicBool::new(false);
    let (answers, four) = thread::scope(|scope| {
        let asking = scope.spawn(|| ask_until(&[&one, &three], &whole, &is_over));
        let four = seeds.start(&fixture, "four", "");
        assert!(copies(&fixture, "four") > 0);
        let all = ["one", "two", "three", "four"];
        wait_until("what has moved is let go", || held(&all) == twice);
        // It says goodbye, and is forgotten later.
        two.send("TERM");
        one.await_log("it has been stopped");
        wait_until("the others load its shards", || {
            held(&["one", "three", "four"]) == twice
        });
        let asked_min = Duration::from_millis(number("SIGNALDEX_MEMBERS_MS", 500));
        thread::sleep(asked_min);
        is_over.store(true, Ordering::Relaxed);
        (asking.join().expect("all is answered"), four)
    });
    println!("{answers} answers, none refused");
    assert_same(&[&one, &three, &four], &whole);
    // Each shard has two nodes again, so one of them can be lost.
    thread::sleep(Duration::from_secs(3));
    three.signal("KILL");
    assert_same(&[&one, &four], &whole);
}

#[test]
fn zones_hold_a_replica_of_each_shard() {
    let (fixture, whole) = corpus();
    let seeds = Seeds::new(&fixture, "signals", free_port());
    let zones = ["a", "a", "b", "b"];
    let names = ["one", "two", "three", "four"];
    let start = |(name, zone): (&&str, &str)| seeds.start(&fixture, name, zone);
    let mut nodes: Vec<Served> = names.iter().zip(zones).map(start).collect();
    let held = || {
        names
            .iter()
            .map(|name| copies(&fixture, name))
            .sum::<usize>()
    };
    wait_until("each shard is held twice", || held() == 2 * SHARDS as usize);
    let info = "signaldex_cluster_node_info{node=\"three\",zone=\"b\",release=\"0.1.0\"}";
    assert_eq!(nodes[0].metric(info), 1);
    thread::sleep(Duration::from_secs(3));
    for node in &mut nodes[..2] {
        node.signal("KILL");
    }
    assert_same(&[&nodes[2], &nodes[3]], &whole);
}

/// Why a process has ended, with exit status 1. The log is JSON, which escapes quotes.
fn reason(refused: &Output) -> String {
    let reason = String::from_utf8_lossy(&refused.stderr).replace('\\', "");
    assert_eq!(refused.status.code(), Some(1), "{reason}");
    reason
}

#[test]
fn a_second_node_of_a_name_and_one_of_another_cluster_end() {
    let (fixture, whole) = corpus();
    let port = free_port();
    let seeds = Seeds::new(&fixture, "signals", port);
    let one = seeds.start(&fixture, "one", "");
    let mut two = seeds.start(&fixture, "two", "");
    let reason = self::reason(&seeds.refused(&fixture, "two"));
    assert!(
        reason.contains("node: \"two\" is alive at 127.0.0.1:"),
        "{reason}"
    );
    two.await_log("this node, which is alive, has its name");
    let other = Seeds::new(&fixture, "others", port);
    let reason = self::reason(&other.refused(&fixture, "three"));
    assert!(
        reason.contains("belongs to the cluster \"signals\", not to \"others\""),
        "{reason}"
    );
    one.await_log("it belongs to the cluster \\\"others\\\", not \\\"signals\\\"");
    assert_same(&[&one, &two], &whole);
    // A name is free again at once when its process has ended, also for another address.
    two.signal("KILL");
    let two = seeds.start(&fixture, "two", "");
    assert_same(&[&one, &two], &whole);
}
