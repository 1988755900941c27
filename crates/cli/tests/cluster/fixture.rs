//! Corpora, clusters of processes that serve them, and one process that serves the same whole.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use signaldex::Index;
use signaldex::query::KeyFilter;
use signaldex::sample::AS_OF;
use signaldex_server::{NewKey, State};
use tempfile::TempDir;

use crate::client::{self, Response};

/// Longer than starting a process takes on a busy machine.
const START_TIME: Duration = Duration::from_secs(120);

/// How often nodes look after each other.
const INTERVAL: Duration = Duration::from_millis(100);

/// The day on which generated corpora end.
pub(crate) const TODAY: time::Date = time::macros::date!(2026 - 06 - 30);

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
}

/// Runs a command that has to succeed.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().expect("the program runs");
    let reason = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reason}");
}

/// A folder with corpora, indexes, shards, a store, and the state of a key.
pub(crate) struct Fixture {
    folder: TempDir,
    pub(crate) key: String,
    /// What the key sees.
    filter: Option<KeyFilter>,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture::with_filter(None)
    }

    /// A fixture whose key sees what a filter leaves.
    pub(crate) fn with_filter(filter: Option<KeyFilter>) -> Fixture {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let key = NewKey {
            rate: 100_000,
            burst: 100_000,
            filter: filter.clone().map(Into::into),
            ..NewKey::named("test")
        };
        let state = State::open(folder.path().join("state.db")).expect("a state");
        let (_, key) = state.create_key(&key).expect("a key");
        Fixture {
            folder,
            key: key.as_str().to_owned(),
            filter,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A corpus, and the index of all of it.
    pub(crate) fn generate(&self, name: &str, signals: u64, seed: u64) {
        let (signals, seed) = (signals.to_string(), seed.to_string());
        let arguments = ["generate", "--signals", &signals, "--seed", &seed, "--out"];
        run(program().args(arguments).arg(self.path(name)));
        self.build(name);
    }

    /// The index of all of a corpus.
    pub(crate) fn build(&self, name: &str) {
        run(self.with_corpus(name).arg("--out").arg(self.whole(name)));
    }

    /// The directory of the index of a whole corpus.
    pub(crate) fn whole(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}-whole"))
    }

    pub(crate) fn index(&self, name: &str) -> Index {
        Index::open(self.whole(name)).expect("the index")
    }

    /// The number of signals of an index that the key sees.
    pub(crate) fn visible_count(&self, name: &str) -> u64 {
        let snapshot = self.index(name).snapshot();
        match &self.filter {
            // No filter here has days, so any day will do.
            Some(filter) => snapshot
                .narrowed(filter, AS_OF)
                .expect("a snapshot")
                .signal_count(),
            None => snapshot.signal_count(),
        }
    }

    /// Splits a corpus and publishes its shards into a store.
    pub(crate) fn publish(&self, name: &str, shards: u32, store: &str) {
        run(&mut self.publishing(name, shards, store));
    }

    /// The command that publishes the shards of a corpus, which are made where they are not there.
    pub(crate) fn publishing(&self, name: &str, shards: u32, store: &str) -> Command {
        let parts = self.parts(name, shards);
        if !parts.exists() {
            let shards = shards.to_string();
            let mut command = self.with_corpus(name);
            run(command.args(["--shards", &shards, "--out"]).arg(&parts));
        }
        let mut command = program();
        command
            .arg("publish-shards")
            .arg(parts)
            .arg(self.path(store));
        command
    }

    /// The folder of a corpus in that many shards.
    pub(crate) fn parts(&self, name: &str, shards: u32) -> PathBuf {
        self.path(&format!("{name}-{shards}-parts"))
    }

    /// `build`, or `shard` where it is given how many.
    fn with_corpus(&self, name: &str) -> Command {
        let mut command = program();
        let is_whole = !self.whole(name).exists();
        command.arg(if is_whole { "build" } else { "shard" });
        for file in ["companies", "signals"] {
            let path = self.path(name).join(format!("{file}.jsonl"));
            command.arg(format!("--{file}")).arg(path);
        }
        command
    }

    /// A process that serves a whole corpus.
    pub(crate) fn serve_whole(&self, name: &str) -> Served {
        let mut command = self.serve(&format!("{name}-whole"));
        command.arg(self.whole(name));
        Served::start(
            command,
            self.path(&format!("{name}-whole.log")),
            self.key.clone(),
        )
    }

    /// A copy of the state, so that processes do not wait for each other.
    pub(crate) fn copied_state(&self, name: &str) -> PathBuf {
        let state = self.path(&format!("{name}.db"));
        if !state.exists() {
            fs::copy(self.path("state.db"), &state).expect("a copied state");
        }
        state
    }

    /// `serve` with a copy of the state.
    pub(crate) fn serve(&self, name: &str) -> Command {
        let state = self.copied_state(name);
        let mut command = program();
        command.args(["serve", "--log", "warn", "--as-of", &TODAY.to_string()]);
        command.args(["--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0"]);
        command.arg("--state").arg(state);
        command
    }
}

/// A process that serves, and ends with this.
pub(crate) struct Served {
    process: Child,
    log: PathBuf,
    key: String,
    address: Option<SocketAddr>,
}

impl Served {
    pub(crate) fn start(mut command: Command, log: PathBuf, key: String) -> Served {
        let errors = File::create(&log).expect("a log");
        let process = command.stdout(Stdio::null()).stderr(errors).spawn();
        let mut served = Served {
            process: process.expect("the program runs"),
            log,
            key,
            address: None,
        };
        served.address = Some(served.read_address());
        served
    }

    fn read_address(&mut self) -> SocketAddr {
        let deadline = Instant::now() + START_TIME;
        while Instant::now() < deadline {
            let log = self.log();
            let address = log
                .split_once("http://")
                .and_then(|(_, rest)| rest.split_once(','));
            if let Some((address, _)) = address {
                return address.parse().expect("an address");
            }
            assert!(self.process.try_wait().expect("a state").is_none(), "{log}");
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the process never listened: {}", self.log());
    }

    pub(crate) fn log(&self) -> String {
        let mut text = String::new();
        let mut file = File::open(&self.log).expect("a log");
        file.read_to_string(&mut text).expect("text");
        text
    }

    /// Waits until the log contains a text.
    pub(crate) fn await_log(&self, expected: &str) {
        let is_logged = self.logs(expected, START_TIME);
        assert!(is_logged, "never logged {expected}: {}", self.log());
    }

    /// Whether the log contains a text within a time.
    pub(crate) fn logs(&self, expected: &str, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while !self.log().contains(expected) {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.expect("an address")
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.try_get(target)
            .unwrap_or_else(|| panic!("{target}: no answer: {}", self.log()))
    }

    /// The answer with status 200 to a request with a position; `None` while the node is behind the position.
    pub(crate) fn get_unless_behind(&self, target: &str) -> Option<Response> {
        let answer = self.get(target);
        if answer.status == 400 {
            let reason = String::from_utf8_lossy(&answer.body);
            assert!(reason.contains("is ahead of this service"), "{reason}");
            return None;
        }
        assert_eq!(answer.status, 200, "{answer:?} {}", self.log());
        Some(answer)
    }

    pub(crate) fn try_get(&self, target: &str) -> Option<Response> {
        let authorization = format!("Bearer {}", self.key);
        let headers = [("authorization", authorization.as_str())];
        client::try_request(self.address.expect("an address"), "GET", target, &headers)
    }

    /// Waits until `/readyz` answers 200, and with this in its body.
    pub(crate) fn await_ready(&self, expected: &str) {
        self.await_readiness(|status, body| status == 200 && body.contains(expected));
    }

    pub(crate) fn await_readiness(&self, is_expected: impl Fn(u16, &str) -> bool) {
        let deadline = Instant::now() + START_TIME;
        let mut last = None;
        while Instant::now() < deadline {
            if let Some(answer) = self.try_get("/readyz") {
                let body = String::from_utf8_lossy(&answer.body).into_owned();
                if is_expected(answer.status, &body) {
                    return;
                }
                last = Some(body);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("never ready as expected: {last:?}: {}", self.log());
    }

    /// Where the dashboard and the metrics are.
    pub(crate) fn admin_address(&self) -> SocketAddr {
        let log = self.log();
        let address = log.split("dashboard on http://").nth(1);
        let address = address.and_then(|rest| rest.split('/').next());
        address.expect("an address").parse().expect("an address")
    }

    /// The value of a metric, with its labels where it has any.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let address = self.admin_address();
        let metrics = client::request(address, "GET", "/metrics", &[]).body;
        let metrics = String::from_utf8(metrics).expect("text");
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        let value = line.unwrap_or_else(|| panic!("no {name} in {metrics}"));
        value.trim().parse().expect("a number")
    }

    /// The files of a copy that are mapped, also those that are removed.
    pub(crate) fn mapped(&self, copy: &str) -> BTreeSet<String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.process.id()));
        let maps = maps.expect("the mappings");
        let files = maps.lines().filter(|line| line.contains(copy));
        let path = |line: &str| line.split_once('/').map(|(_, path)| path.to_owned());
        files.filter_map(path).collect()
    }

    /// Sends a signal that does not end it, such as STOP, after which no thread runs: on a busy machine that takes
    /// milliseconds.
    pub(crate) fn send(&self, name: &str) {
        let id = self.process.id().to_string();
        run(Command::new("kill").args(["-s", name, &id]));
        while name == "STOP" && !self.is_stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes a node read its certificate again, and waits until it has.
    pub(crate) fn replace_certificate(&self) {
        const REPLACED: &str = "the certificate as it is now";
        let replaced = || self.log().matches(REPLACED).count();
        let (before, deadline) = (replaced(), Instant::now() + START_TIME);
        self.send("HUP");
        while replaced() == before {
            assert!(Instant::now() < deadline, "not replaced: {}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends a signal, such as KILL or STOP.
    pub(crate) fn signal(&mut self, name: &str) {
        self.send(name);
        if name == "KILL" {
            self.process.wait().expect("an end");
        }
    }

    /// Whether none of its threads runs any more.
    fn is_stopped(&self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("threads");
        threads.into_iter().all(|thread| {
            let stat = fs::read_to_string(thread.expect("a thread").path().join("stat"));
            // Its number, its name in parentheses, and its state.
            let state = stat.as_ref().ok().and_then(|stat| stat.rsplit_once(") "));
            state.is_some_and(|(_, state)| state.starts_with('T'))
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself. A stopped process is killed all the same.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The names of nodes.
pub(crate) const NAMES: [&str; 3] = ["one", "two", "three"];

/// What a cluster is like.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) nodes: usize,
    pub(crate) replicas: usize,
    /// Seconds of a query, and of its first try.
    pub(crate) deadline: f64,
    pub(crate) first_attempt_timeout: f64,
    /// Clients' queries under way at once.
    pub(crate) queries_max: usize,
    /// Whether nodes use TLS, with the files that [`files`](crate::tls::files) names.
    pub(crate) tls: bool,
}

impl Shape {
    /// Three nodes, patient enough for a machine that is busy with other things.
    pub(crate) fn with_replicas(replicas: usize) -> Shape {
        Shape {
            nodes: 3,
            replicas,
            deadline: 4.0,
            first_attempt_timeout: 2.0,
            queries_max: 64,
            tls: false,
        }
    }
}

/// A cluster of processes.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Served>,
    name: String,
    shape: Shape,
    /// Where the workers listen: elsewhere than others reach them, where something stands between.
    worker_ports: Vec<u16>,
}

impl Cluster {
    /// Starts the nodes over what is published in a store, and waits until each has all shards.
    pub(crate) fn start(fixture: &Fixture, name: &str, store: &str, shape: Shape) -> Cluster {
        let ports: Vec<u16> = (0..shape.nodes).map(|_| free_port()).collect();
        Cluster::start_between(fixture, name, store, shape, &ports, ports.clone())
    }

    /// The same where nodes reach each other at other ports than those at which their workers listen.
    pub(crate) fn start_between(
        fixture: &Fixture,
        name: &str,
        store: &str,
        shape: Shape,
        ports: &[u16],
        worker_ports: Vec<u16>,
    ) -> Cluster {
        let settings = settings_path(fixture, name);
        write_settings(&settings, &fixture.path(store), shape.replicas, ports);
        let start = |node| start_node(fixture, name, node, shape, worker_ports[node]);
        let cluster = Cluster {
            nodes: (0..shape.nodes).map(start).collect(),
            name: name.to_owned(),
            shape,
            worker_ports,
        };
        cluster.await_ready("\"generation\":");
        // A node is ready when it knows one replica of each shard: now it gets to know all.
        std::thread::sleep(20 * INTERVAL);
        cluster
    }

    pub(crate) fn await_ready(&self, expected: &str) {
        self.nodes
            .iter()
            .for_each(|node| node.await_ready(expected));
    }

    /// Starts a node anew that has ended.
    pub(crate) fn restart(&mut self, fixture: &Fixture, node: usize) {
        let port = self.worker_ports[node];
        self.nodes[node] = start_node(fixture, &self.name, node, self.shape, port);
    }
}

fn start_node(
    fixture: &Fixture,
    name: &str,
    node: usize,
    shape: Shape,
    worker_port: u16,
) -> Served {
    let node_name = format!("{name}-{}", NAMES[node]);
    let mut command = fixture.serve(&node_name);
    command.arg("--cluster").arg(settings_path(fixture, name));
    command.args(["--node", NAMES[node], "--shard-cache"]);
    command.arg(fixture.path(&format!("{node_name}-cache")));
    command.args(["--cluster-interval", &INTERVAL.as_secs_f64().to_string()]);
    command.args(["--query-deadline", &shape.deadline.to_string()]);
    command.args(["--worker-addr", &format!("127.0.0.1:{worker_port}")]);
    command.env("SIGNALDEX_MAX_QUERIES", shape.queries_max.to_string());
    // Webhooks of tests are on this machine.
    command.args(["--webhook-http", "--webhook-allow", "127.0.0.0/8"]);
    command.args([
        "--first-attempt-timeout",
        &shape.first_attempt_timeout.to_string(),
    ]);
    if shape.tls {
        command.args(crate::tls::options(fixture, NAMES[node]));
    }
    Served::start(
        command,
        fixture.path(&format!("{node_name}.log")),
        fixture.key.clone(),
    )
}

/// The address at which a node answers the others.
pub(crate) fn worker_address(fixture: &Fixture, name: &str, node: usize) -> SocketAddr {
    let settings = fs::read(settings_path(fixture, name)).expect("the file of the cluster");
    let settings: serde_json::Value = serde_json::from_slice(&settings).expect("JSON");
    let address = settings["nodes"][node]["address"].as_str();
    address.expect("an address").parse().expect("an address")
}

pub(crate) fn settings_path(fixture: &Fixture, name: &str) -> PathBuf {
    fixture.path(&format!("{name}.json"))
}

/// Writes the file of a cluster on loopback.
pub(crate) fn write_settings(path: &Path, store: &Path, replicas: usize, ports: &[u16]) {
    let nodes = ports.iter().zip(NAMES).map(
        |(port, name)| serde_json::json!({"name": name, "address": format!("127.0.0.1:{port}")}),
    );
    let settings = serde_json::json!({
        "store": store,
        "replicas": replicas,
        "nodes": nodes.collect::<Vec<_>>(),
    });
    fs::write(path, settings.to_string()).expect("a written file");
}

/// A port that is free, and stays so: a node has to know those of the others before they start. It is
/// from below those that the system gives to whoever names none, which start at 32,768.
pub(crate) fn free_port() -> u16 {
    const FIRST: u16 = 20_000;
    const PORTS: u16 = 12_000;
    static ASKED: AtomicU16 = AtomicU16::new(0);
    // Processes that start one after the other have ranges of their own.
    let of_process = (std::process::id().wrapping_mul(251) % u32::from(PORTS)) as u16;
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let mut ports = (0..PORTS).map(|_| {
        let asked = ASKED.fetch_add(1, Ordering::Relaxed) % PORTS;
        FIRST + (of_process + asked) % PORTS
    });
    ports.find(is_free).expect("a free port")
}

/// A number from the environment, for runs that are longer than usual.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}
