//! A process of a simulation: a node with its engine, over the simulated network, a disk, and gossip in place of chitchat's,
//! which draws from numbers without a seed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::network::{SimulatedNetwork, travel};
use super::world::World;
use crate::announcement::{Announcement, SeenNode};
use crate::asking::{Asker, Hedging};
use crate::coordinator::Coordinator;
use crate::engine::{self, Handover};
use crate::fixtures::{Generation, Random};
use crate::generation::ClusterGeneration;
use crate::holding::Holding;
use crate::known_nodes::KnownNode;
use crate::leases::Leases;
use crate::loaded_shards::LoadedShards;
use crate::manifest_cache::ManifestCache;
use crate::members::{FirstNodes, Members};
use crate::nodes::{Nodes, Peers};
use crate::security::Security;
use crate::worker::Worker;

/// The options of a node by default.
pub(super) const DEADLINE: Duration = Duration::from_secs(2);
const FIRST_ATTEMPT: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(500);
const QUEUE_TIME: Duration = Duration::from_millis(250);
const QUERIES: usize = 16;

/// How often nodes gossip, with how many others, and how long they listen before they load.
const GOSSIP_INTERVAL: Duration = Duration::from_millis(200);
const GOSSIP_NODES: usize = 3;
const SETTLING_TIME: Duration = Duration::from_millis(600);

/// How long a message of gossip may take.
const GOSSIP_TIME: Duration = Duration::from_secs(1);

/// How long a node is silent before it counts as dead.
const DETECTION_TIME: Duration = Duration::from_secs(2);

/// How long it takes to fetch a shard, in milliseconds.
const FETCH_MAX: u64 = 120;

/// What stays of a node when its process ends.
#[derive(Clone, Default)]
pub(super) struct Disk(Arc<Mutex<DiskState>>);

#[derive(Default)]
struct DiskState {
    manifests: BTreeMap<u64, Arc<ClusterGeneration>>,
    /// The generation of each shard's copy.
    copies: BTreeMap<u32, u64>,
    known: Vec<KnownNode>,
}

/// What a process is started with.
#[derive(Clone)]
pub(super) struct Machine {
    pub(super) node: usize,
    pub(super) zone: String,
    pub(super) disk: Disk,
    pub(super) replicas: usize,
    pub(super) forget_after: Duration,
}

/// A process.
pub(super) struct Process {
    world: Arc<World>,
    machine: Machine,
    incarnation: u64,
    pub(super) handover: Handover,
    pub(super) members: Arc<Members>,
    pub(super) coordinator: Arc<Coordinator>,
    loaded: LoadedShards,
    leases: Leases,
    peers: Peers,
    heard: Mutex<BTreeMap<String, Heard>>,
    heartbeat: AtomicU64,
    has_left: AtomicBool,
    tasks: Mutex<JoinSet<()>>,
}

/// What a process was told of another one.
struct Heard {
    node: SeenNode,
    at: Instant,
}

pub(super) fn name_of(node: usize) -> String {
    format!("node-{node}")
}

impl Process {
    /// Starts the process of a machine.
    pub(super) fn start(world: &Arc<World>, machine: &Machine, incarnation: u64) -> Arc<Process> {
        let (loaded, leases) = (LoadedShards::default(), Leases::default());
        let known = machine.disk.lock().known.clone();
        let own = KnownNode {
            name: name_of(machine.node),
            zone: machine.zone.clone(),
        };
        let first = FirstNodes {
            own,
            announcement: Announcement::default(),
            others: known
                .into_iter()
                .map(|node| (node, String::new()))
                .collect(),
        };
        let forget_after = Some(machine.forget_after);
        let members = Members::new(first, machine.replicas, forget_after, loaded.clone());
        let members = Arc::new(members);
        let network = SimulatedNetwork {
            world: Arc::clone(world),
            from: machine.node,
        };
        let peers = Peers::new(Arc::new(network), &Security::none());
        let worker = Worker::new(loaded.clone(), None);
        let (handover, handed_over) = Handover::new(&worker, &Security::none());
        let asker = Asker {
            nodes: Nodes::new(members.own(), worker.clone(), peers.clone()),
            members: Arc::clone(&members),
            deadline: DEADLINE,
            hedging: Hedging::new(),
            first_attempt: FIRST_ATTEMPT,
            retried: AtomicU64::new(0),
            hedged: AtomicU64::new(0),
        };
        // Nothing reads former manifests.
        let store = signaldex::replicate::Store::in_memory();
        let manifests = ManifestCache::new(store, loaded.clone());
        let coordinator = Coordinator::new(asker, manifests, leases.clone(), QUERIES, QUEUE_TIME);
        let process = Arc::new(Process {
            world: Arc::clone(world),
            machine: machine.clone(),
            incarnation,
            handover,
            members,
            coordinator: Arc::new(coordinator),
            loaded,
            leases,
            peers,
            heard: Mutex::default(),
            heartbeat: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            tasks: Mutex::default(),
        });
        process.run(async move {
            engine::answer(worker, handed_over).await;
        });
        process.run(Arc::clone(&process).gossip());
        process.run(Arc::clone(&process).follow());
        world.set_process(machine.node, Arc::clone(&process));
        process
    }

    /// Runs a task until it or the process ends.
    pub(super) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    pub(super) fn end(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.abort_all();
    }

    /// Says goodbye.
    pub(super) fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }

    /// The newest generation of which it has all that has its place here.
    pub(super) fn newest_complete(&self) -> u64 {
        self.holding().newest_complete()
    }

    fn holding(&self) -> Holding {
        Holding::new(
            Arc::clone(&self.members),
            self.loaded.clone(),
            self.leases.clone(),
        )
    }

    fn random(&self, purpose: &str) -> Random {
        self.world
            .random(&format!("{purpose} {}", self.machine.node))
    }

    fn is_stopped(&self) -> bool {
        self.world.is_stopped(self.machine.node)
    }

    async fn gossip(self: Arc<Process>) {
        loop {
            if !self.is_stopped() {
                self.look();
                let mut others: Vec<usize> = (0..self.world.node_count()).collect();
                others.retain(|&node| node != self.machine.node);
                let mut random = self.random("gossip");
                for _ in 0..GOSSIP_NODES.min(others.len()) {
                    let to = others.swap_remove(random.below(others.len()));
                    let (own, told) = (Arc::clone(&self), self.told());
                    self.run(async move { own.tell(to, told).await });
                }
            }
            sleep(GOSSIP_INTERVAL).await;
        }
    }

    async fn tell(&self, to: usize, told: Vec<SeenNode>) {
        let way = travel(&self.world, (self.machine.node, to));
        let has_arrived = timeout(GOSSIP_TIME, way).await.is_ok();
        let address = self.world.address(to);
        let index = self.members.node_at(&address);
        match (has_arrived, self.world.process(to), index) {
            (true, Some(other), _) => other.hear(told),
            (true, None, Some(index)) => self.members.died(index, "connection refused"),
            // The connection for questions is probably silent, too.
            (false, _, Some(index)) => self.peers.set(index, &address),
            (_, _, None) => {}
        }
    }

    /// What this process knows of all, itself included.
    fn told(&self) -> Vec<SeenNode> {
        let mut told: Vec<SeenNode> = self
            .heard()
            .values()
            .map(|heard| heard.node.clone())
            .collect();
        told.push(SeenNode {
            name: name_of(self.machine.node),
            incarnation: self.incarnation,
            heartbeat: self.heartbeat.fetch_add(1, Ordering::Relaxed),
            is_alive: true,
            announcement: Announcement {
                address: self.world.address(self.machine.node),
                zone: self.machine.zone.clone(),
                held: self.loaded.report(),
                leases: self.leases.announced(),
                has_left: self.has_left.load(Ordering::Relaxed),
                ..Announcement::default()
            },
        });
        told
    }

    fn hear(&self, told: Vec<SeenNode>) {
        let own = name_of(self.machine.node);
        let mut heard = self.heard();
        for node in told.into_iter().filter(|node| node.name != own) {
            let rank = |node: &SeenNode| (node.incarnation, node.heartbeat);
            let known = heard.get(&node.name).map(|known| rank(&known.node));
            if known.is_none_or(|known| known < rank(&node)) {
                let at = Instant::now();
                heard.insert(node.name.clone(), Heard { node, at });
            }
        }
    }

    /// Makes effective what others have told.
    fn look(&self) {
        let now = Instant::now();
        let heard_of = |heard: &Heard| SeenNode {
            is_alive: now.duration_since(heard.at) < DETECTION_TIME,
            ..heard.node.clone()
        };
        let seen: Vec<SeenNode> = self.heard().values().map(heard_of).collect();
        let sighting = self.members.see(&seen, now);
        for (node, address) in sighting.addresses {
            self.peers.set(node, &address);
        }
        self.members.refresh();
        if sighting.has_new_placement {
            self.machine.disk.lock().known = self.members.known();
        }
    }

    /// Loads what is on the disk, and follows the store.
    async fn follow(self: Arc<Process>) {
        let mut holding = self.holding();
        sleep(SETTLING_TIME).await;
        self.open_copies(&holding);
        loop {
            if !self.is_stopped() {
                if let Some(newest) = self.world.newest_published()
                    && newest.number() > holding.newest_complete()
                {
                    self.load(&holding, &newest).await;
                }
                self.members.refresh();
                if holding.retire(Instant::now(), DEADLINE * 2) {
                    self.forget();
                }
            }
            sleep(INTERVAL).await;
        }
    }

    fn open_copies(&self, holding: &Holding) {
        let disk = self.machine.disk.lock();
        for manifest in disk.manifests.values() {
            let Some(generation) = self.world.generation(manifest.generation) else {
                continue;
            };
            let own = holding.own_shards(manifest).into_iter();
            let own = own.filter(|(shard, published)| disk.copies.get(shard) == Some(published));
            let snapshots = own.map(|(shard, _)| (shard, generation.snapshot(shard)));
            holding.install(Arc::clone(manifest), snapshots.collect());
        }
    }

    /// Loads a generation, unless the store does not answer any more.
    async fn load(&self, holding: &Holding, generation: &Generation) {
        let own = holding.own_shards(&generation.manifest);
        for (shard, published) in &own {
            if self.machine.disk.lock().copies.get(shard) != Some(published) {
                sleep(Duration::from_millis(self.random("fetch").below(FETCH_MAX))).await;
                if self.world.newest_published().is_none() {
                    return;
                }
            }
        }
        let manifest = &generation.manifest;
        self.machine
            .disk
            .lock()
            .manifests
            .insert(manifest.generation, Arc::clone(manifest));
        let mut snapshots = BTreeMap::new();
        for (shard, published) in own {
            sleep(Duration::from_millis(self.random("swap").below(3))).await;
            self.machine.disk.lock().copies.insert(shard, published);
            snapshots.insert(shard, generation.snapshot(shard));
        }
        holding.install(Arc::clone(manifest), snapshots);
    }

    /// Forgets the manifests of generations that are not held.
    fn forget(&self) {
        let held = self.loaded.all();
        let manifests = &mut self.machine.disk.lock().manifests;
        manifests.retain(|generation, _| held.contains_key(generation));
    }

    fn heard(&self) -> MutexGuard<'_, BTreeMap<String, Heard>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generation {
    fn snapshot(&self, shard: u32) -> Arc<signaldex::Snapshot> {
        Arc::clone(&self.snapshots[shard as usize])
    }
}

impl Disk {
    fn lock(&self) -> MutexGuard<'_, DiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
