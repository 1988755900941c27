//! Membership: which nodes are alive, which shards each has loaded, and which generation is served.
//!
//! Every node decides for itself, from what [gossip](super::gossip) tells: there is no leader and no consensus protocol.
//! Two nodes may briefly serve different generations; an answer always belongs to one.
//!
//! A node has an index, which stays as long as it is known.

mod placing;
mod sql;
mod standing;
mod status;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::time::Instant;

pub(super) use self::placing::Placing;
use self::standing::Standing;
use self::table::{Table, TableGeneration, TableNode};
use super::announcement::{Announcement, SeenNode};
use super::known_nodes::KnownNode;
use super::loaded_shards::LoadedShards;
use signaldex_server::corpus::CorpusView;

/// Maximum number of nodes that are remembered. Beyond it, further ones are ignored.
const NODES_MAX: usize = 4_096;

/// Queries that choose the same of several replicas, one after the other, before others have their turn: those that are
/// asked together share a message.
const QUERIES_A_TURN: usize = 32;

/// The nodes from the point of view of one of them.
pub(super) struct Members {
    /// The index of this node.
    own: usize,
    replicas: usize,
    /// `None` where the file lists all nodes: they keep their places, and others have none.
    forget_after: Option<Duration>,
    loaded: LoadedShards,
    nodes: Mutex<Vec<Standing>>,
    table: ArcSwap<Table>,
    placing: ArcSwap<Placing>,
    view: ArcSwapOption<CorpusView>,
    /// A counter of queries, for turns of the replicas of a shard.
    turns: AtomicUsize,
}

/// The nodes that are known at first.
pub(super) struct FirstNodes {
    /// This node.
    pub(super) own: KnownNode,
    pub(super) announcement: Announcement,
    /// All others, each with its address where that is known.
    pub(super) others: Vec<(KnownNode, String)>,
}

/// What is new after a look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sighting {
    /// Nodes with their addresses, which have changed.
    pub(super) addresses: Vec<(usize, String)>,
    /// Whether shards may have other places now.
    pub(super) has_new_placement: bool,
}

/// The part of a query for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeTask {
    /// The index of the node in the list of nodes.
    pub(super) node: usize,
    pub(super) shards: Vec<u32>,
}

/// A shard without a live node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreachable {
    pub(super) shard: u32,
    pub(super) shards: u32,
}

impl Unreachable {
    /// The detail for clients.
    pub(super) fn detail(self) -> String {
        format!(
            "Shard {} of {} has no live replica; nothing was charged.",
            self.shard, self.shards
        )
    }
}

impl Members {
    /// Members of which none but this node is alive yet. Their order decides their indices: this node is the first.
    pub(super) fn new(
        first: FirstNodes,
        replicas: usize,
        forget_after: Option<Duration>,
        loaded: LoadedShards,
    ) -> Members {
        let now = Instant::now();
        let mut own = Standing::new(first.own, "", now);
        own.announcement = first.announcement;
        let others = first.others.into_iter();
        let others = others.map(|(node, address)| Standing::new(node, &address, now));
        let members = Members {
            own: 0,
            replicas,
            forget_after,
            loaded,
            nodes: Mutex::new([own].into_iter().chain(others).collect()),
            table: ArcSwap::default(),
            placing: ArcSwap::default(),
            view: ArcSwapOption::empty(),
            turns: AtomicUsize::new(0),
        };
        members.place(&members.lock());
        members.refresh();
        members
    }

    /// The view of the served generation.
    pub(super) fn view(&self) -> Arc<CorpusView> {
        let view = self.view.load_full();
        view.unwrap_or_else(|| Arc::new(CorpusView::of(0, [0; 32])))
    }

    /// The index of this node.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// The name of a node.
    pub(super) fn name(&self, node: usize) -> String {
        let table = self.table.load();
        table
            .nodes
            .get(node)
            .map_or_else(String::new, |node| node.name.clone())
    }

    /// Takes what others tell of nodes. [`refresh`](Self::refresh) makes it effective, once their addresses are known.
    pub(super) fn see(&self, seen: &[SeenNode], now: Instant) -> Sighting {
        let mut sighting = Sighting::default();
        let mut nodes = self.lock();
        for (name, node) in newest_by_name(seen) {
            let Some(index) = self.index_of(&mut nodes, name, node, now) else {
                continue;
            };
            let standing = &mut nodes[index];
            standing.see(node, now);
            let address = &node.announcement.address;
            if self.forget_after.is_some() && standing.address != *address {
                standing.address.clone_from(address);
                sighting.addresses.push((index, address.clone()));
            }
        }
        self.judge(&mut nodes, now);
        sighting.has_new_placement = self.place(&nodes);
        sighting
    }

    /// The index of another node; a new one where it has none yet. `None` for this node, and for those that have no place.
    fn index_of(
        &self,
        nodes: &mut Vec<Standing>,
        name: &str,
        node: &SeenNode,
        now: Instant,
    ) -> Option<usize> {
        if let Some(index) = nodes.iter().position(|standing| standing.name == name) {
            return (index != self.own).then_some(index);
        }
        self.forget_after?;
        let zone = node.announcement.zone.clone();
        let name = name.to_owned();
        let standing = Standing::new(KnownNode { name, zone }, "", now);
        // Questions to a node that is forgotten have ended long ago.
        let forgotten = nodes.iter().position(|standing| !standing.is_known);
        match forgotten {
            Some(index) => nodes[index] = standing,
            None if nodes.len() < NODES_MAX => nodes.push(standing),
            None => return None,
        }
        forgotten.or(Some(nodes.len() - 1))
    }

    /// Records that a node refuses connections.
    pub(super) fn died(&self, node: usize, reason: &str) {
        let mut nodes = self.lock();
        if let Some(standing) = nodes.get_mut(node) {
            let now = Instant::now();
            standing.refuse(reason, now);
            self.judge(&mut nodes, now);
            drop(nodes);
            self.refresh();
        }
    }

    /// The node at an address.
    pub(super) fn node_at(&self, address: &str) -> Option<usize> {
        self.lock().iter().position(|node| node.address == address)
    }

    /// Records that a node was slow or aborted a query. It stays a member.
    pub(super) fn slowed(&self, node: usize) {
        let table = self.table.load();
        let slow = table.nodes.get(node).map(|node| &node.is_slow);
        // Under load that is often known already.
        if slow.is_some_and(|slow| !slow.swap(true, Ordering::Relaxed))
            && let Some(standing) = self.lock().get_mut(node)
        {
            standing.slow_down(Instant::now());
        }
    }

    /// Decides which nodes are alive, and logs changes.
    fn judge(&self, nodes: &mut [Standing], now: Instant) {
        for (index, standing) in nodes.iter_mut().enumerate() {
            if index == self.own || !standing.judge(self.forget_after, now) {
                continue;
            }
            let node = standing.name.as_str();
            if standing.is_alive() {
                tracing::info!(node, "a node answers");
            } else {
                let reason = standing.error.as_deref();
                tracing::warn!(node, reason, "a node counts as dead");
            }
        }
    }

    /// Computes places anew if the known nodes or their zones have changed. Returns whether they have.
    fn place(&self, nodes: &[Standing]) -> bool {
        let known = nodes.iter().enumerate().filter(|(_, node)| node.is_known);
        let known = known.map(|(index, node)| {
            let (name, zone) = (node.name.clone(), node.zone.clone());
            (index, KnownNode { name, zone })
        });
        let known: Vec<(usize, KnownNode)> = known.collect();
        let has_changed = self.placing.load().nodes != known;
        if has_changed {
            let placing = Placing::new(self.own, self.replicas, known);
            self.placing.store(Arc::new(placing));
        }
        has_changed
    }

    /// Which nodes are to hold which shards.
    pub(super) fn placing(&self) -> Arc<Placing> {
        self.placing.load_full()
    }

    /// The other nodes that have a place.
    pub(super) fn known(&self) -> Vec<KnownNode> {
        let placing = self.placing.load();
        let others = placing.nodes.iter().filter(|(index, _)| *index != self.own);
        others.map(|(_, node)| node.clone()).collect()
    }

    /// Replaces the table, and chooses the served generation: the newest one with a live node for every shard; if there
    /// is none, the last served one, whose missing shards are then reported.
    pub(super) fn refresh(&self) {
        let nodes = self.lock();
        let table = self.table_of(&nodes);
        let complete = table.generations.iter().rev();
        let complete = complete
            .filter(|(_, generation)| generation.missing().is_none())
            .map(|(&number, _)| number)
            .next();
        // Under the lock, so that an older table never replaces a newer one.
        self.table.store(Arc::new(table));
        let held = self.loaded.all();
        let current = self.view().generation;
        let chosen = complete.and_then(|complete| held.get(&complete));
        let chosen = chosen
            .or_else(|| held.get(&current))
            .or_else(|| held.values().next_back());
        if let Some(chosen) = chosen
            && chosen.manifest.generation != current
        {
            let manifest = &chosen.manifest;
            tracing::info!(generation = manifest.generation, "a generation is served");
            let view = CorpusView::of(manifest.generation, *manifest.revision().bytes());
            self.view.store(Some(Arc::new(view)));
        }
    }

    fn table_of(&self, nodes: &[Standing]) -> Table {
        let held = self.loaded.all();
        let mut generations: BTreeMap<u64, TableGeneration> = held
            .iter()
            .map(|(&number, loaded)| (number, TableGeneration::of(loaded)))
            .collect();
        for (index, node) in nodes.iter().enumerate() {
            for (number, generation) in &mut generations {
                if index == self.own {
                    generation.add(index, held[number].shards.keys());
                } else if node.is_alive() {
                    let shards = node.announcement.held.get(number);
                    generation.add(index, shards.into_iter().flatten());
                }
            }
        }
        let of_node = |node: &Standing| TableNode {
            name: node.name.clone(),
            is_slow: Arc::clone(&node.is_slow),
        };
        Table {
            own: self.own,
            nodes: nodes.iter().map(of_node).collect(),
            generations,
        }
    }

    /// The number of shards of a generation; 0 if it is unknown.
    pub(super) fn shard_count(&self, generation: u64) -> u32 {
        let table = self.table.load();
        let generation = table.generations.get(&generation);
        generation.map_or(0, TableGeneration::shard_count)
    }

    /// The shards of a generation that hold signals: no query finds any in the others.
    pub(super) fn shards_with_signals(&self, generation: u64) -> Vec<u32> {
        let table = self.table.load();
        let generation = table.generations.get(&generation);
        generation.map_or_else(Vec::new, |generation| generation.filled.clone())
    }

    /// Whether this node holds a shard itself.
    pub(super) fn is_own(&self, generation: u64, shard: u32) -> bool {
        self.table.load().is_own(generation, shard)
    }

    /// The first shard of the served generation without a live node.
    pub(super) fn missing(&self) -> Option<Unreachable> {
        let table = self.table.load();
        table.generations.get(&self.view().generation)?.missing()
    }

    /// Assigns shards to nodes, except those to avoid: this node for its own shards, and as few others as possible for
    /// the rest, so that few messages are sent.
    ///
    /// # Errors
    /// The first shard that no such node has loaded.
    pub(super) fn assign(
        &self,
        generation: u64,
        shards: u32,
        asked: &[u32],
        avoided: &[usize],
    ) -> Result<Vec<NodeTask>, Unreachable> {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) / QUERIES_A_TURN;
        let table = self.table.load();
        table.assign(generation, shards, asked, avoided, turn)
    }

    /// Whether a shard that this node holds has its place elsewhere by now, and all the nodes of that place answer for it.
    pub(super) fn is_spare(&self, generation: u64, shard: u32) -> bool {
        let table = self.table.load();
        let Some(generation) = table.generations.get(&generation) else {
            return false;
        };
        let places = self.placing.load().of(generation.shard_count());
        let places = places.get(shard as usize).map_or(&[][..], Vec::as_slice);
        let holders = generation.holders(shard);
        !places.contains(&self.own) && places.iter().all(|node| holders.contains(node))
    }

    /// The generations to keep, two at most: what is served, and the newest that is held; where that is one
    /// and the same, the one before as long as a node has nothing newer. So a node that cannot load does not
    /// make others keep all that it lacks; what it still serves is then incomplete, and it says so.
    pub(super) fn to_keep(&self) -> BTreeSet<u64> {
        let (served, oldest) = (self.view().generation, self.oldest_in_use());
        let held = self.loaded.all();
        let mut rest = held.keys().rev().filter(|&&held| held != served);
        let other = rest.next().filter(|&&other| other >= oldest);
        other.copied().into_iter().chain([served]).collect()
    }

    /// The generations that exports at other live nodes read from.
    pub(super) fn leased_by_others(&self) -> BTreeSet<u64> {
        let nodes = self.lock();
        let alive = nodes.iter().filter(|standing| standing.is_alive());
        let leases = alive.flat_map(|standing| &standing.announcement.leases);
        leases.copied().collect()
    }

    /// The oldest generation that is the newest one of any live node. Older ones are no longer queried.
    fn oldest_in_use(&self) -> u64 {
        let nodes = self.lock();
        let others = nodes.iter().filter(|standing| standing.is_alive());
        let newest = others.filter_map(|standing| standing.announcement.held.keys().next_back());
        let others = newest.copied().min().unwrap_or(u64::MAX);
        others.min(self.view().generation)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Standing>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The process of each name that is alive, or the newest one where several are. In the order of names, so that new nodes are
/// numbered alike however they are told of.
fn newest_by_name(seen: &[SeenNode]) -> BTreeMap<&str, &SeenNode> {
    let rank = |node: &SeenNode| (node.is_alive, node.incarnation);
    let mut newest: BTreeMap<&str, &SeenNode> = BTreeMap::new();
    for node in seen {
        let known = newest.entry(&node.name).or_insert(node);
        if rank(known) < rank(node) {
            *known = node;
        }
    }
    newest
}

#[cfg(test)]
mod tests;
