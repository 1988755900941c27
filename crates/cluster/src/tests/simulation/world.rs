//! What all processes of a simulation share: its random numbers, which links and processes work, the store, and the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::process::Process;
use crate::engine::Handover;
use crate::fixtures::{Corpus, Generation, Random};
use signaldex::Digest;
use signaldex::replicate::Store;

/// How long a message takes on a link that works, in microseconds.
const LATENCY_MAX: u64 = 3_000;

/// How long it takes on a slow link, in milliseconds.
const SLOW_LATENCY_MAX: u64 = 900;

/// A simulated cluster.
pub(super) struct World {
    seed: u64,
    started: Instant,
    state: Mutex<WorldState>,
    /// Written by one task at a time, across waits.
    pub(super) corpus: AsyncMutex<Corpus>,
}

struct WorldState {
    nodes: Vec<NodeState>,
    silent: BTreeSet<(usize, usize)>,
    slow: BTreeSet<(usize, usize)>,
    connections: Vec<((usize, usize), AbortHandle)>,
    store_is_up: bool,
    generations: BTreeMap<u64, Generation>,
    log: Vec<String>,
}

/// A machine, whose process may be dead or stopped.
#[derive(Default)]
struct NodeState {
    address: String,
    process: Option<Arc<Process>>,
    is_stopped: bool,
    /// Whether its port takes no connection.
    is_refusing: bool,
    /// When it last went on after it was stopped.
    continued_at: Option<Instant>,
}

/// What becomes of a message.
pub(super) enum Link {
    Delays(Duration),
    Silent,
}

impl World {
    pub(super) fn new(seed: u64, shards: u32) -> Arc<World> {
        Arc::new(World {
            seed,
            started: Instant::now(),
            corpus: AsyncMutex::new(Corpus::new(shards, Store::in_memory())),
            state: Mutex::new(WorldState {
                nodes: Vec::new(),
                silent: BTreeSet::new(),
                slow: BTreeSet::new(),
                connections: Vec::new(),
                store_is_up: true,
                generations: BTreeMap::new(),
                log: Vec::new(),
            }),
        })
    }

    /// Adds a machine; its number.
    pub(super) fn add_node(&self) -> usize {
        let mut state = self.lock();
        let node = state.nodes.len();
        let address = format!("10.0.0.{}:7400", node + 1);
        state.nodes.push(NodeState {
            address,
            ..NodeState::default()
        });
        node
    }

    pub(super) fn node_count(&self) -> usize {
        self.lock().nodes.len()
    }

    pub(super) fn address(&self, node: usize) -> String {
        self.lock().nodes[node].address.clone()
    }

    pub(super) fn node_at(&self, address: &str) -> usize {
        let state = self.lock();
        let mut nodes = state.nodes.iter();
        let node = nodes.position(|node| node.address == address);
        node.expect("an address of a node")
    }

    /// The process of a node that runs, stopped or not.
    pub(super) fn process(&self, node: usize) -> Option<Arc<Process>> {
        self.lock().nodes[node].process.clone()
    }

    /// Takes the process of a node, and breaks its connections.
    pub(super) fn take_process(&self, node: usize) -> Option<Arc<Process>> {
        self.break_connections(|(from, to)| from == node || to == node);
        let mut state = self.lock();
        state.nodes[node].is_stopped = false;
        state.nodes[node].process.take()
    }

    pub(super) fn set_process(&self, node: usize, process: Arc<Process>) {
        self.lock().nodes[node].process = Some(process);
    }

    pub(super) fn is_stopped(&self, node: usize) -> bool {
        self.lock().nodes[node].is_stopped
    }

    pub(super) fn set_stopped(&self, node: usize, is_stopped: bool) {
        let node = &mut self.lock().nodes[node];
        if node.is_stopped && !is_stopped {
            node.continued_at = Some(Instant::now());
        }
        node.is_stopped = is_stopped;
    }

    /// Whether a node has been stopped at some time since then.
    pub(super) fn was_stopped_since(&self, node: usize, since: Instant) -> bool {
        let state = self.lock();
        let node = &state.nodes[node];
        node.is_stopped || node.continued_at.is_some_and(|at| at >= since)
    }

    /// The nodes whose processes run and are not stopped.
    pub(super) fn running(&self) -> Vec<usize> {
        let state = self.lock();
        let nodes = state.nodes.iter().enumerate();
        let running = nodes.filter(|(_, node)| node.process.is_some() && !node.is_stopped);
        running.map(|(index, _)| index).collect()
    }

    pub(super) fn set_refusing(&self, node: usize, is_refusing: bool) {
        self.lock().nodes[node].is_refusing = is_refusing;
    }

    /// Where connections to a node go; `None` where it takes none.
    pub(super) fn handover(&self, node: usize) -> Option<Handover> {
        if self.lock().nodes[node].is_refusing {
            return None;
        }
        let process = self.process(node)?;
        Some(process.handover.clone())
    }

    /// How a message fares on the way from one node to another.
    pub(super) fn link(&self, link: (usize, usize)) -> Link {
        let mut random = self.random(&format!("{link:?}"));
        let state = self.lock();
        let is_stopped = |node: usize| state.nodes[node].is_stopped;
        if state.silent.contains(&link) || is_stopped(link.0) || is_stopped(link.1) {
            return Link::Silent;
        }
        let is_slow = state.slow.contains(&link);
        Link::Delays(if is_slow {
            Duration::from_millis(random.below(SLOW_LATENCY_MAX))
        } else {
            Duration::from_micros(random.below(LATENCY_MAX))
        })
    }

    pub(super) fn set_silent(&self, link: (usize, usize), is_silent: bool) {
        mark(&mut self.lock().silent, link, is_silent);
    }

    pub(super) fn set_slow(&self, link: (usize, usize), is_slow: bool) {
        mark(&mut self.lock().slow, link, is_slow);
    }

    /// All links work again, and the store answers.
    pub(super) fn heal(&self) {
        let mut state = self.lock();
        state.silent.clear();
        state.slow.clear();
        state.store_is_up = true;
        for node in &mut state.nodes {
            node.is_refusing = false;
        }
    }

    pub(super) fn add_connection(&self, link: (usize, usize), connection: AbortHandle) {
        let mut state = self.lock();
        state
            .connections
            .retain(|(_, connection)| !connection.is_finished());
        state.connections.push((link, connection));
    }

    pub(super) fn break_connections(&self, is_broken: impl Fn((usize, usize)) -> bool) {
        let state = self.lock();
        let broken = state
            .connections
            .iter()
            .filter(|(link, _)| is_broken(*link));
        broken.for_each(|(_, connection)| connection.abort());
    }

    pub(super) fn set_store(&self, is_up: bool) {
        self.lock().store_is_up = is_up;
    }

    /// The newest published generation; `None` while the store does not answer.
    pub(super) fn newest_published(&self) -> Option<Generation> {
        let state = self.lock();
        let newest = state.generations.values().next_back().cloned();
        newest.filter(|_| state.store_is_up)
    }

    pub(super) fn generation(&self, number: u64) -> Option<Generation> {
        self.lock().generations.get(&number).cloned()
    }

    /// Changes the corpus, and publishes it.
    pub(super) async fn publish(&self) -> u64 {
        let mut corpus = self.corpus.lock().await;
        let mut random = self.random("publish");
        if corpus.generations.is_empty() && random.chance(50) {
            corpus.write_burst(&mut random);
        }
        corpus.change(&mut random);
        corpus.publish().await;
        let generation = corpus.newest().clone();
        let number = generation.number();
        self.lock().generations.insert(number, generation);
        number
    }

    /// Random numbers for one purpose at this moment. They follow from these alone: what else happens in the same moment, in
    /// whichever order, does not change them.
    pub(super) fn random(&self, purpose: &str) -> Random {
        let moment = self.started.elapsed().as_millis();
        let digest = Digest::of(format!("{} {moment} {purpose}", self.seed).as_bytes());
        Random::new(u64::from_le_bytes(std::array::from_fn(|at| {
            digest.bytes()[at]
        })))
    }

    pub(super) fn log(&self, event: impl std::fmt::Display) {
        let at = self.started.elapsed().as_secs_f64();
        self.lock().log.push(format!("{at:9.4} {event}"));
    }

    /// What has happened, in the order of time.
    pub(super) fn take_log(&self) -> Vec<String> {
        let mut log = std::mem::take(&mut self.lock().log);
        // What happens in the same moment has no order.
        log.sort();
        log
    }

    fn lock(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn mark(links: &mut BTreeSet<(usize, usize)>, link: (usize, usize), is_marked: bool) {
    if is_marked {
        links.insert(link);
    } else {
        links.remove(&link);
    }
}
