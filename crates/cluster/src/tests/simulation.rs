//! Simulations: a cluster in one thread, with its engine, over a network in memory and a clock that moves when all wait. What
//! happens to it follows from a seed, so a failure replays.
//!
//! ```text
//! world    random numbers, links, processes, the store and the log     network   byte streams between processes
//! process  a node with a disk, and gossip without chitchat             clients   questions, and the law of their answers
//! ```
//!
//! The law: an answer is that of one index, of the generation that it is from, or a refusal; ten seconds after the last
//! fault all nodes are ready, take each other for alive and refuse nothing, not even while generations are published and a
//! node joins.

mod clients;
mod network;
mod process;
mod world;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use self::clients::{Told, ask, ask_on, ask_shortly, export_all};
use self::process::{Disk, Machine, Process};
use self::world::World;
use crate::coordinator::Coordinator;
use crate::fixtures::Random;

const CLIENTS: usize = 3;

/// How long all goes well at first, and how soon it does after the last fault.
pub(super) const START_TIME: Duration = Duration::from_secs(3);
const RECOVERY_TIME: Duration = Duration::from_secs(10);

/// Between two faults, and how long one lasts, in milliseconds.
const FAULT_PAUSE_MAX: u64 = 2_500;
const FAULT_TIME_MAX: u64 = 6_000;

/// Questions to each node in the end.
const LAST_QUESTIONS: usize = 8;

/// Steps without faults, with pauses between; in some of them generations are published, and in one a node joins.
const CALM_STEPS: usize = 70;
const CALM_PAUSE: Duration = Duration::from_millis(100);
const CALM_PUBLISHES: [usize; 2] = [8, 30];
const CALM_JOIN: usize = 16;

/// A cluster and what happens to it.
struct Simulation {
    world: Arc<World>,
    random: Random,
    machines: Vec<Machine>,
    /// Those that have left for good.
    left: Vec<usize>,
    /// Rises with each process that is started.
    incarnation: u64,
}

/// Something that happens, and what ends it.
#[derive(Clone, Debug)]
enum Fault {
    Kill(usize),
    Stop(usize),
    /// Nothing gets from one of them to the other, or in both directions.
    Silence(Vec<(usize, usize)>),
    Slow(Vec<(usize, usize)>),
    Break(usize, usize),
    /// Nobody can connect to a node any more, although it runs; those who were connected are not.
    Refuse(usize),
    StoreDown,
    Publish,
    Join,
    Leave(usize),
}

impl Simulation {
    fn without_nodes(seed: u64, shards: u32) -> Simulation {
        Simulation {
            world: World::new(seed, shards),
            random: Random::new(seed),
            machines: Vec::new(),
            left: Vec::new(),
            incarnation: 0,
        }
    }

    fn new(seed: u64) -> Simulation {
        let mut simulation = Simulation::without_nodes(seed, [1, 3, 7][(seed % 3) as usize]);
        let nodes = 2 + simulation.random.below(3);
        let replicas = 1 + usize::from(simulation.random.chance(75));
        let forget_after = Duration::from_secs([4, 900][simulation.random.below(2_usize)]);
        for _ in 0..nodes {
            simulation.add_machine(replicas, forget_after);
        }
        simulation
    }

    fn add_machine(&mut self, replicas: usize, forget_after: Duration) {
        let node = self.world.add_node();
        self.machines.push(Machine {
            node,
            zone: ["", "a", "b"][node % 3].to_owned(),
            disk: Disk::default(),
            replicas,
            forget_after,
        });
    }

    /// Starts a node that has not been there before.
    fn join(&mut self) {
        let first = &self.machines[0];
        let (replicas, forget_after) = (first.replicas, first.forget_after);
        self.add_machine(replicas, forget_after);
        self.start(self.machines.len() - 1);
    }

    fn start(&mut self, node: usize) {
        self.incarnation += 1;
        Process::start(&self.world, &self.machines[node], self.incarnation);
    }

    /// Runs it. Returns how it breaks the law, if it does.
    async fn run(&mut self) -> Result<(), String> {
        self.world.publish().await;
        (0..self.machines.len()).for_each(|node| self.start(node));
        let mut clients = JoinSet::new();
        for client in 0..CLIENTS {
            clients.spawn(ask_on(Arc::clone(&self.world), client));
        }
        let wrong = tokio::select! {
            biased;
            wrong = clients.join_next() => wrong,
            () = self.suffer() => None,
        };
        let outcome = match wrong {
            Some(wrong) => Err(wrong.unwrap_or_else(|error| format!("a client panicked: {error}"))),
            None => self.check_recovery().await,
        };
        let outcome = match outcome {
            Ok(()) => self.stay_calm().await,
            broken => broken,
        };
        for node in 0..self.machines.len() {
            self.end(node);
        }
        outcome
    }

    /// Faults, one after the other and beside each other.
    async fn suffer(&mut self) {
        sleep(START_TIME).await;
        for _ in 0..3 + self.random.below(7) {
            sleep(Duration::from_millis(self.random.below(FAULT_PAUSE_MAX))).await;
            let Some(fault) = self.draw_fault() else {
                continue;
            };
            self.world.log(format_args!("{fault:?}"));
            self.begin(&fault).await;
            sleep(Duration::from_millis(self.random.below(FAULT_TIME_MAX))).await;
            // Sometimes the next one comes while it lasts; all of them end.
            if self.random.chance(70) {
                self.finish(&fault);
            }
        }
        self.world.heal();
        for node in 0..self.machines.len() {
            self.world.set_stopped(node, false);
            if !self.left.contains(&node) && self.world.process(node).is_none() {
                self.start(node);
            }
        }
        self.world.log("all faults have ended");
        sleep(RECOVERY_TIME).await;
    }

    fn draw_fault(&mut self) -> Option<Fault> {
        let running = self.world.running();
        if running.is_empty() {
            return None;
        }
        let node = *self.random.pick(&running);
        let others: Vec<usize> = (0..self.machines.len())
            .filter(|&other| other != node)
            .collect();
        let other = *self.random.pick(&others);
        Some(match self.random.below(13) {
            0..=1 => Fault::Kill(node),
            2..=3 => Fault::Stop(node),
            4 => Fault::Silence(vec![(node, other)]),
            5 => Fault::Silence(
                others
                    .iter()
                    .flat_map(|&other| [(node, other), (other, node)])
                    .collect(),
            ),
            6 => Fault::Slow(vec![(node, other), (other, node)]),
            7 => Fault::Break(node, other),
            8 => Fault::StoreDown,
            9..=10 => Fault::Publish,
            11 => Fault::Refuse(node),
            _ if self.machines.len() < 5 => Fault::Join,
            _ if running.len() > 2 && self.left.is_empty() => Fault::Leave(node),
            _ => Fault::Publish,
        })
    }

    async fn begin(&mut self, fault: &Fault) {
        let world = Arc::clone(&self.world);
        match fault {
            Fault::Kill(node) => self.end(*node),
            Fault::Stop(node) => world.set_stopped(*node, true),
            Fault::Silence(links) => links.iter().for_each(|&link| world.set_silent(link, true)),
            Fault::Slow(links) => links.iter().for_each(|&link| world.set_slow(link, true)),
            Fault::Break(one, other) => {
                let ends = [(*one, *other), (*other, *one)];
                world.break_connections(|link| ends.contains(&link));
            }
            Fault::Refuse(node) => {
                world.set_refusing(*node, true);
                world.break_connections(|(_, to)| to == *node);
            }
            Fault::StoreDown => world.set_store(false),
            Fault::Publish => {
                world.publish().await;
            }
            Fault::Join => self.join(),
            Fault::Leave(node) => {
                if let Some(process) = world.process(*node) {
                    process.leave();
                    sleep(Duration::from_millis(600)).await;
                    self.end(*node);
                    self.left.push(*node);
                }
            }
        }
    }

    fn finish(&mut self, fault: &Fault) {
        let world = Arc::clone(&self.world);
        match fault {
            Fault::Kill(node) => {
                if world.process(*node).is_none() {
                    self.start(*node);
                }
            }
            Fault::Stop(node) => world.set_stopped(*node, false),
            Fault::Silence(links) => links.iter().for_each(|&link| world.set_silent(link, false)),
            Fault::Slow(links) => links.iter().for_each(|&link| world.set_slow(link, false)),
            Fault::Refuse(node) => world.set_refusing(*node, false),
            Fault::StoreDown => world.set_store(true),
            Fault::Break(..) | Fault::Publish | Fault::Join | Fault::Leave(_) => {}
        }
    }

    fn end(&self, node: usize) {
        if let Some(process) = self.world.take_process(node) {
            process.end();
        }
    }

    /// All nodes are ready, and answer.
    async fn check_recovery(&self) -> Result<(), String> {
        let newest = self.world.newest_published().ok_or("no store")?.number();
        let lost = self.lost_shards();
        for node in self.world.running() {
            let process = self.world.process(node).ok_or("no process")?;
            let (served, complete) = (process.members.view().generation, process.newest_complete());
            if let Some(missing) = process.members.missing()
                && !lost
            {
                return Err(format!("node {node}: {}", missing.detail()));
            }
            if complete != newest || (served != newest && !lost) {
                return Err(format!(
                    "node {node} has loaded generation {complete} and serves {served} of {newest}"
                ));
            }
            self.check_standing(&process, lost)?;
            let mut random = self.world.random(&format!("last questions {node}"));
            for _ in 0..LAST_QUESTIONS {
                match ask(&self.world, node, &mut random).await {
                    Some(Told::Right(_)) => {}
                    Some(Told::Refused(_)) if lost => {}
                    told => return Err(format!("in the end: {told:?}")),
                }
            }
        }
        Ok(())
    }

    /// A node takes all that run for alive.
    fn check_standing(&self, process: &Process, lost: bool) -> Result<(), String> {
        let status = process.members.status();
        for other in self.world.running().into_iter().map(process::name_of) {
            let of_other = status.nodes.iter().find(|node| node.name == other);
            if !lost && !of_other.is_some_and(|node| node.is_alive) {
                return Err(format!("{other} counts as dead or unknown: {of_other:?}"));
            }
        }
        Ok(())
    }

    /// Generations are published, a node joins, and an export goes on meanwhile. Nothing fails, so nothing is refused.
    async fn stay_calm(&mut self) -> Result<(), String> {
        if self.lost_shards() {
            return Ok(());
        }
        let (world, running) = (Arc::clone(&self.world), self.world.running());
        let exported = tokio::spawn(export_all(Arc::clone(&world), running[0]));
        for step in 0..CALM_STEPS {
            if CALM_PUBLISHES.contains(&step) {
                world.publish().await;
            }
            if step == CALM_JOIN {
                self.join();
            }
            for &node in &running {
                let mut random = world.random(&format!("calm questions {node}"));
                match ask_shortly(&world, node, &mut random).await {
                    Some(Told::Right(_)) => {}
                    told => return Err(format!("node {node}, while nothing fails: {told:?}")),
                }
            }
            sleep(CALM_PAUSE).await;
        }
        match exported.await {
            Ok(Some(Told::Right(_))) => Ok(()),
            told => Err(format!("an export while nothing fails: {told:?}")),
        }
    }

    /// Whether shards are nowhere because their only node has left, and is not forgotten yet.
    fn lost_shards(&self) -> bool {
        let machine = &self.machines[0];
        !self.left.is_empty() && machine.replicas == 1
    }
}

/// A cluster to which nothing happens.
pub(super) struct QuietCluster(Simulation);

impl QuietCluster {
    /// Nodes with two replicas of each shard of a published corpus.
    pub(super) async fn start(seed: u64, nodes: usize, shards: u32) -> QuietCluster {
        let mut simulation = Simulation::without_nodes(seed, shards);
        for node in 0..nodes {
            simulation.add_machine(2, Duration::from_secs(900));
            simulation.start(node);
        }
        let mut corpus = simulation.world.corpus.lock().await;
        corpus.write_burst(&mut simulation.random);
        drop(corpus);
        simulation.world.publish().await;
        QuietCluster(simulation)
    }

    pub(super) fn coordinator(&self, node: usize) -> Arc<Coordinator> {
        let process = self.0.world.process(node).expect("a process");
        Arc::clone(&process.coordinator)
    }
}

#[cfg(test)]
mod tests;
