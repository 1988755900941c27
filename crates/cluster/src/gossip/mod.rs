//! Gossip: how nodes find each other, tell each other what they hold, and notice that one is gone. Only this folder names
//! chitchat.
//!
//! It has a thread of its own, so that it never waits behind questions: load makes no node dead.
//!
//! ```text
//! transport   chitchat's messages over connections at the worker's port      frame   their bytes
//! intake      what of a message is let through to chitchat
//! join        what is asked before a node joins: is the cluster the right one, is the name free
//! ```

mod frame;
mod intake;
mod join;
mod transport;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chitchat::{
    ChitchatConfig, ChitchatHandle, ChitchatId, FailureDetectorConfig, NodeState, Serializable,
    Version, spawn_chitchat,
};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::intake::TEXT_OVERHEAD;
use self::transport::{Identity, LinkTransport, Links, socket_address};
use super::announcement::{Announcement, SeenNode};
use super::arrivals::Arriving;
use super::known_nodes::KnownNodes;
use super::leases::Leases;
use super::loaded_shards::LoadedShards;
use super::members::Members;
use super::nodes::Peers;
use super::security::Security;
use super::settings::Membership;
use signaldex::replicate::Background;
use signaldex::{Error, Result};

/// How often a node gossips with three others.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long a node that has found others listens before it joins, to know all of them.
const SETTLING_TIME: Duration = Duration::from_millis(600);

/// How suspicious a silence is before a node counts as dead: the multiple of the mean time between signs of life.
const PHI_MAX: f64 = 8.0;

/// Signs of life from which that mean is taken.
const SAMPLES: usize = 1_000;

/// How long chitchat keeps what a node no longer says, for others to learn that.
const TOMBSTONE_TIME: Duration = Duration::from_secs(600);

/// How long chitchat remembers a dead process at most: one that is restarted again and again leaves one behind each time.
/// That its node keeps its place is remembered by [`Members`].
const PROCESS_TIME: Duration = Duration::from_secs(120);

/// How long a node waits before it gossips again where chitchat has ended.
const RESTART_TIME: Duration = Duration::from_secs(1);

/// What gossip works with.
#[derive(Clone)]
pub(super) struct GossipSettings {
    pub(super) name: String,
    /// What this node says of itself, but for its shards.
    pub(super) announcement: Announcement,
    pub(super) membership: Membership,
    pub(super) forget_after: Duration,
    pub(super) security: Security,
    pub(super) loaded: LoadedShards,
    pub(super) leases: Leases,
    pub(super) members: Arc<Members>,
    pub(super) peers: Peers,
    pub(super) known: KnownNodes,
}

/// Why gossip has ended.
enum End {
    /// A node of this one's name is alive.
    Namesake(Error),
    /// chitchat has ended, perhaps by a panic.
    Broken(String),
}

/// Running gossip, stopped on drop.
pub(super) struct Gossip {
    leave: mpsc::Sender<oneshot::Sender<()>>,
    _thread: Background,
}

impl Gossip {
    /// Joins the cluster. Returns gossip, and what becomes ready when it ends by itself, with the reason.
    ///
    /// # Errors
    /// A seed belongs to another cluster, or a node of this name is alive.
    pub(super) async fn start(
        settings: GossipSettings,
        arriving: Arriving,
    ) -> Result<(Gossip, oneshot::Receiver<Error>)> {
        let (leave, leaving) = mpsc::channel(1);
        let (joined, has_joined) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let work = async move {
            let error = settings.run(arriving, joined, leaving).await;
            // Nobody waits where the node is dropped.
            let _ = end.send(error);
        };
        let thread = Background::start("gossip", work);
        let thread = thread.map_err(|error| Error::io("start a thread", error))?;
        let gossip = Gossip {
            leave,
            _thread: thread,
        };
        match has_joined.await {
            Ok(()) => Ok((gossip, ended)),
            Err(_) => Err(ended
                .await
                .unwrap_or_else(|_| Error::missing("gossip between nodes has ended"))),
        }
    }

    /// Says goodbye: other nodes ask this one no more. Ready when they know.
    pub(super) fn leave(&self) -> impl Future<Output = ()> + Send + use<> {
        let leave = self.leave.clone();
        async move {
            let (left, has_left) = oneshot::channel();
            if leave.send(left).await.is_ok() {
                let _ = has_left.await;
            }
        }
    }
}

impl GossipSettings {
    /// Joins, and gossips until it must not. Returns why.
    async fn run(
        self,
        arriving: Arriving,
        joined: oneshot::Sender<()>,
        mut leaving: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> Error {
        let (arriving, mut joined) = (Arc::new(AsyncMutex::new(arriving)), Some(joined));
        // Each turn is a process of its own to the others, so that they hear all of it.
        loop {
            let identity = Identity {
                cluster: self.cluster(),
                name: self.name.clone(),
                incarnation: incarnation(),
                address: self.announcement.address.clone(),
            };
            let (links, transport) = Links::new(identity, self.listed(), self.security.clone());
            let mut receiving = JoinSet::new();
            receiving.spawn(links.clone().receive(Arc::clone(&arriving)));
            let end = match self.clone().join(links, &transport).await {
                Ok(member) => member.gossip(&mut joined, &mut leaving).await,
                Err(error) => return error,
            };
            match end {
                End::Namesake(error) => return error,
                End::Broken(reason) => tracing::error!(reason, "gossip has ended; it begins anew"),
            }
            tokio::time::sleep(RESTART_TIME).await;
        }
    }

    async fn join(self, links: Links, transport: &LinkTransport) -> Result<GossipMember> {
        let seeds = self.seeds();
        let has_found = join::ask_seeds(&links, &seeds, self.listed().is_none()).await?;
        seeds.iter().for_each(|seed| links.learn(seed));
        let config = self.config(links.identity());
        let chitchat = spawn_chitchat(config, Vec::new(), transport).await;
        let chitchat =
            chitchat.map_err(|error| Error::missing(format!("gossip cannot begin: {error}")))?;
        let mut member = GossipMember {
            settings: self,
            links,
            chitchat,
            read: HashMap::new(),
        };
        if has_found {
            tokio::time::sleep(SETTLING_TIME).await;
            member.look().await;
        }
        Ok(member)
    }

    /// The name of the cluster; empty where the file lists all nodes.
    fn cluster(&self) -> String {
        match &self.membership {
            Membership::Listed(_) => String::new(),
            Membership::Seeds { cluster, .. } => cluster.clone(),
        }
    }

    /// Addresses of nodes.
    fn seeds(&self) -> Vec<String> {
        match &self.membership {
            Membership::Listed(nodes) => nodes.iter().map(|node| node.address.clone()).collect(),
            Membership::Seeds { seeds, .. } => seeds.clone(),
        }
    }

    /// The names of all nodes, where the file lists them.
    fn listed(&self) -> Option<Vec<String>> {
        match &self.membership {
            Membership::Listed(nodes) => Some(nodes.iter().map(|node| node.name.clone()).collect()),
            Membership::Seeds { .. } => None,
        }
    }

    fn config(&self, own: &Identity) -> ChitchatConfig {
        let address = socket_address(&own.address);
        let seeds = self.seeds().into_iter().filter(|seed| *seed != own.address);
        ChitchatConfig {
            chitchat_id: own.id(),
            cluster_id: own.cluster.clone(),
            gossip_interval: INTERVAL,
            listen_addr: address,
            seed_nodes: seeds
                .map(|seed| socket_address(&seed).to_string())
                .collect(),
            failure_detector_config: FailureDetectorConfig::new(
                PHI_MAX,
                SAMPLES,
                INTERVAL * 10,
                INTERVAL * 2,
                self.forget_after.min(PROCESS_TIME),
            ),
            marked_for_deletion_grace_period: TOMBSTONE_TIME,
            catchup_callback: None,
            extra_liveness_predicate: None,
        }
    }
}

/// A node that has joined.
struct GossipMember {
    settings: GossipSettings,
    links: Links,
    chitchat: ChitchatHandle,
    /// What each node said, as of a version of it.
    read: HashMap<ChitchatId, (Version, Option<Announcement>)>,
}

impl GossipMember {
    /// Tells others what this node holds, and members what others tell. Returns when gossip has ended.
    async fn gossip(
        mut self,
        joined: &mut Option<oneshot::Sender<()>>,
        leaving: &mut mpsc::Receiver<oneshot::Sender<()>>,
    ) -> End {
        let mut said = BTreeMap::new();
        self.say(&mut said).await;
        if let Some(joined) = joined.take() {
            // Fails only where the node is dropped.
            let _ = joined.send(());
        }
        let loaded = self.settings.loaded.clone();
        let leases = self.settings.leases.clone();
        let links = self.links.clone();
        let (changed, mut has_changed) = mpsc::channel(1);
        let _subscription = self.subscribe(changed).await;
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut ended = std::pin::pin!(self.chitchat.termination_watcher());
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = loaded.changed() => {}
                () = leases.changed() => {}
                _ = has_changed.recv() => {}
                () = links.loss() => {}
                Some(left) = leaving.recv() => self.leave(&mut said, left).await,
                ended = &mut ended => {
                    let reason = ended.err().map(|error| error.to_string());
                    return End::Broken(reason.unwrap_or_default());
                }
            }
            self.say(&mut said).await;
            if let Some(error) = self.look().await {
                return End::Namesake(error);
            }
        }
    }

    /// Notes changes of what others say, with one that waits at most.
    async fn subscribe(&self, changed: mpsc::Sender<()>) -> chitchat::ListenerHandle {
        let chitchat = self.chitchat.chitchat();
        let chitchat = chitchat.lock().await;
        chitchat.subscribe_event("", move |_| {
            let _ = changed.try_send(());
        })
    }

    /// Says what has changed since the last time, and tells all nodes at once that there is something.
    async fn say(&mut self, said: &mut BTreeMap<String, String>) {
        let mut announcement = self.settings.announcement.clone();
        announcement.held = self.settings.loaded.report();
        announcement.leases = self.settings.leases.announced();
        let texts = announcement.texts();
        if texts == *said {
            return;
        }
        let chitchat = self.chitchat.chitchat();
        let mut chitchat = chitchat.lock().await;
        let own = chitchat.self_node_state();
        for key in said.keys().filter(|&key| !texts.contains_key(key)) {
            own.delete(key);
        }
        for (key, text) in &texts {
            if said.get(key) != Some(text) {
                own.set(key, text);
            }
        }
        let own = chitchat.self_chitchat_id();
        for node in chitchat.live_nodes().filter(|&node| node != own) {
            // Fails only where gossip has ended, which is noticed.
            let _ = self.chitchat.gossip(node.gossip_advertise_addr);
        }
        *said = texts;
    }

    async fn leave(&mut self, said: &mut BTreeMap<String, String>, left: oneshot::Sender<()>) {
        self.settings.announcement.has_left = true;
        self.say(said).await;
        // The others learn it in one round, or in the next from each other.
        tokio::time::sleep(INTERVAL * 2).await;
        let _ = left.send(());
    }

    /// Reads what others say. Returns an error where an older node of this one's name is alive.
    async fn look(&mut self) -> Option<Error> {
        let seen = self.seen().await;
        let settings = &self.settings;
        for (address, reason) in self.links.take_lost() {
            match (settings.members.node_at(&address), reason) {
                (Some(node), Some(reason)) => settings.members.died(node, &reason),
                // The connection for questions is probably silent, too: the next one gets another.
                (Some(node), None) => settings.peers.set(node, &address),
                (None, _) => {}
            }
        }
        let own = self.links.identity();
        let others = || seen.iter().filter(|node| node.name != own.name);
        let alive = others().filter(|node| node.is_alive && !node.announcement.has_left);
        let address = |node: &SeenNode| (node.name.clone(), node.announcement.address.clone());
        self.links.set_namesakes(alive.map(address).collect());
        if matches!(settings.membership, Membership::Seeds { .. }) {
            others().for_each(|node| self.links.learn(&node.announcement.address));
        }
        let sighting = settings.members.see(&seen, Instant::now());
        for (node, address) in sighting.addresses {
            settings.peers.set(node, &address);
        }
        settings.members.refresh();
        if sighting.has_new_placement {
            settings.known.keep(&settings.members.known());
        }
        let namesakes = seen
            .iter()
            .filter(|node| node.name == own.name && node.is_alive);
        for namesake in namesakes.filter(|node| node.incarnation < own.incarnation) {
            let address = &namesake.announcement.address;
            // At this node's own address there was another process before it.
            if *address != own.address
                && let Err(error) = join::check_namesake(&self.links, address).await
            {
                return Some(error);
            }
        }
        None
    }

    /// The other processes that have joined.
    async fn seen(&mut self) -> Vec<SeenNode> {
        let chitchat = self.chitchat.chitchat();
        let chitchat = chitchat.lock().await;
        let own = chitchat.self_chitchat_id();
        let live: HashSet<&ChitchatId> = chitchat.live_nodes().collect();
        let states = chitchat.node_states();
        self.read.retain(|id, _| states.contains_key(id));
        let held = states.iter();
        let held = held.map(|(id, state)| (id.serialize_to_vec(), text_bytes(state)));
        self.links.settle(&held.collect());
        let others = states.iter().filter(|&(id, _)| id != own);
        others
            .filter_map(|(id, state)| {
                let announcement = announcement_of(&mut self.read, id, state)?;
                Some(SeenNode {
                    name: id.node_id.to_string(),
                    incarnation: id.generation_id,
                    heartbeat: u64::from(state.heartbeat()),
                    is_alive: live.contains(id),
                    announcement,
                })
            })
            .collect()
    }
}

/// The bytes of what a process says, and has said until that is forgotten.
fn text_bytes(state: &NodeState) -> usize {
    let texts = state.key_values_including_deleted();
    texts
        .map(|(key, text)| TEXT_OVERHEAD + key.len() + text.value.len())
        .sum()
}

/// What a node says, read again only when it has changed.
fn announcement_of(
    read: &mut HashMap<ChitchatId, (Version, Option<Announcement>)>,
    id: &ChitchatId,
    state: &NodeState,
) -> Option<Announcement> {
    let version = state.max_version();
    let (read_version, announcement) = read.entry(id.clone()).or_default();
    if *read_version != version {
        *announcement = Announcement::read(state.key_values());
        *read_version = version;
    }
    announcement.clone()
}

/// When this process started, in microseconds.
fn incarnation() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let since = since.map_or(0, |since| since.as_micros());
    u64::try_from(since).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
