//! Nodes that start from what they hold, whatever the store does, and stores that are damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::Response;
use crate::fixture::{Cluster, Fixture, Served, Shape, program, run};

const SHARDS: u32 = 3;

const TARGETS: [&str; 3] = [
    "/api/v1/signals?limit=50",
    "/api/v1/signals?countOnly=true",
    "/api/v1/filter-options",
];

/// Longer than a start takes on a busy machine, and less than a request to the store may hang.
const START: Duration = Duration::from_secs(30);

fn start() -> (Fixture, Served, Cluster) {
    let fixture = Fixture::new();
    fixture.generate("first", 1_000, 31);
    fixture.publish("first", SHARDS, "store");
    let whole = fixture.serve_whole("first");
    let cluster = Cluster::start(&fixture, "cluster", "store", Shape::with_replicas(2));
    (fixture, whole, cluster)
}

/// Ends all nodes and starts them anew.
fn restart_all(fixture: &Fixture, cluster: &mut Cluster) {
    for node in &mut cluster.nodes {
        node.signal("KILL");
    }
    for node in 0..cluster.nodes.len() {
        cluster.restart(fixture, node);
    }
}

fn assert_same(cluster: &Cluster, whole: &Served) {
    for node in &cluster.nodes {
        for target in TARGETS {
            let answer = node.get(target);
            assert_eq!(answer.status, 200, "{target}: {}", node.log());
            assert!(answer.body == whole.get(target).body, "{target}");
        }
    }
}

/// What `/readyz` says of following the store.
fn following(node: &Served) -> serde_json::Value {
    let ready: Response = node.get("/readyz");
    assert_eq!(ready.status, 200, "{ready:?}: {}", node.log());
    ready.json()["following"].clone()
}

#[test]
fn nodes_start_from_their_copies_without_the_store() {
    let (fixture, whole, mut cluster) = start();
    let (store, away) = (fixture.path("store"), fixture.path("away"));
    for node in &cluster.nodes {
        let following = following(node);
        assert_eq!(following["newest"], 1);
        assert_eq!(following["error"], serde_json::Value::Null);
        assert!(following["secondsSinceAnswer"].is_u64(), "{following}");
    }
    fs::rename(&store, &away).expect("renamed");
    restart_all(&fixture, &mut cluster);
    for node in &cluster.nodes {
        node.await_ready("has neither generation 1, which is served, nor a newer one");
    }
    assert_same(&cluster, &whole);
    // What is published once the store is back is followed.
    fs::rename(&away, &store).expect("renamed");
    fixture.generate("second", 800, 32);
    fixture.publish("second", SHARDS, "store");
    cluster.await_ready("\"generation\":2");
    assert_same(&cluster, &fixture.serve_whole("second"));
}

/// Reading a pipe that nobody writes hangs as a store does that is half gone.
#[test]
fn nodes_start_from_their_copies_while_the_store_hangs() {
    let (fixture, whole, mut cluster) = start();
    let next = fixture
        .path("store/cluster/manifests")
        .join(format!("{:020}", 2));
    run(Command::new("mkfifo").arg(next));
    let started = Instant::now();
    restart_all(&fixture, &mut cluster);
    cluster.await_ready("\"generation\":1");
    assert!(started.elapsed() < START, "{:?}", started.elapsed());
    assert_same(&cluster, &whole);
}

/// The files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Puts a second generation into the store of which one object is damaged, and returns its name. It is made
/// aside, so that no node sees it before.
fn publish_damaged(fixture: &Fixture) -> String {
    let (store, aside) = (fixture.path("store"), fixture.path("aside"));
    run(Command::new("cp").arg("-r").args([&store, &aside]));
    fixture.generate("second", 800, 32);
    fixture.publish("second", SHARDS, "aside");
    let in_store = |path: &Path| store.join(path.strip_prefix(&aside).expect("inside"));
    let mut new = files(&aside);
    new.retain(|path| !in_store(path).exists());
    // The cluster's manifest last, as a publisher has it.
    new.sort_by_key(|path| path.starts_with(aside.join("cluster")));
    let is_object = |path: &&PathBuf| path.iter().any(|part| part == "objects");
    let object = new.iter().find(is_object).expect("an object");
    let mut bytes = fs::read(object).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(object, bytes).expect("written");
    for path in &new {
        let target = in_store(path);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::copy(path, target).expect("copied");
    }
    let name = object.file_name().expect("a name");
    name.to_string_lossy().into_owned()
}

#[test]
fn a_damaged_generation_is_named_fetched_seldom_and_repaired() {
    let (fixture, whole, mut cluster) = start();
    let object = publish_damaged(&fixture);
    let names_it = |node: &&Served| following(node)["error"].to_string().contains(&object);
    let deadline = Instant::now() + START;
    while cluster.nodes.iter().filter(names_it).count() < 2 {
        assert!(
            Instant::now() < deadline,
            "both holders of the shard name it"
        );
        thread::sleep(Duration::from_millis(50));
    }
    // Looks are ten a second; it is left alone for longer and longer.
    thread::sleep(Duration::from_secs(4));
    for node in cluster.nodes.iter().filter(names_it) {
        assert_eq!(following(node)["newest"], 2);
        assert_eq!(node.metric("signaldex_follow_failing"), 1);
        let errors = node.metric("signaldex_follow_errors_total");
        assert!((2..=10).contains(&errors), "{errors}: {}", node.log());
    }
    assert_same(&cluster, &whole);
    // A node that starts now serves its copy, too.
    restart_all(&fixture, &mut cluster);
    cluster.await_ready("\"generation\":1");
    assert_same(&cluster, &whole);
    let mut repair = fixture.publishing("second", SHARDS, "store");
    run(repair.args(["--generation", "2", "--repair"]));
    cluster.await_ready("\"generation\":2");
    assert_same(&cluster, &fixture.serve_whole("second"));
}

#[test]
fn a_publisher_that_died_half_way_does_not_block_the_next() {
    let (fixture, _whole, cluster) = start();
    fixture.generate("half", 500, 33);
    fixture.publish("half", SHARDS, "elsewhere");
    // One shard of generation 2 is all that it has published.
    let shard = fixture.parts("half", SHARDS).join("1");
    let store = fixture
        .path("store/shards")
        .join(SHARDS.to_string())
        .join("1");
    let mut half = program();
    half.arg("publish").arg(shard).arg(store);
    run(half.args(["--generation", "2"]));
    fixture.generate("second", 800, 32);
    fixture.publish("second", SHARDS, "store");
    cluster.await_ready("\"generation\":3");
    assert_same(&cluster, &fixture.serve_whole("second"));
}
