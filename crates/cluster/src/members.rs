//! Membership: which nodes are alive, which shards each has loaded, and which generation is served.
//!
//! Every node checks every other node independently: there is no leader and no consensus protocol. Two nodes may
//! briefly serve different generations; an answer always belongs to one.

mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwapOption;

use super::answer::HeldShards;
use super::generation::ClusterGeneration;
use super::loaded_shards::LoadedShards;
use signaldex_server::corpus::CorpusView;

/// Consecutive missed health checks after which a node counts as dead. Under load, one may be late.
const MISSED_LOOKS_MAX: u32 = 3;

/// The nodes from the point of view of one of them.
pub(super) struct Members {
    /// The index of this node.
    own: usize,
    /// By index.
    names: Vec<String>,
    loaded: LoadedShards,
    others: Mutex<Vec<Standing>>,
    view: ArcSwapOption<CorpusView>,
    /// A counter of queries, for round-robin over the replicas of a shard.
    turns: AtomicUsize,
}

/// The state of another node.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// Its loaded shards; `None` while it counts as dead.
    held: Option<HeldShards>,
    /// Consecutive missed health checks.
    missed: u32,
    /// Whether it was slow since its last answered health check; other replicas are preferred then.
    is_slow: bool,
    /// When it last answered a look.
    answered_at: Option<Instant>,
    /// Why it counts as dead.
    error: Option<String>,
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
    pub(super) fn new(own: usize, names: Vec<String>, loaded: LoadedShards) -> Members {
        let members = Members {
            own,
            others: Mutex::new(vec![Standing::default(); names.len()]),
            names,
            loaded,
            view: ArcSwapOption::empty(),
            turns: AtomicUsize::new(0),
        };
        members.choose();
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
    pub(super) fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }

    /// Records an answered health check with the node's loaded shards.
    pub(super) fn answered(&self, node: usize, held: HeldShards) {
        let was_dead = self.change(node, |standing| {
            let was_dead = standing.held.is_none();
            *standing = Standing {
                held: Some(held),
                answered_at: Some(Instant::now()),
                ..Standing::default()
            };
            was_dead
        });
        if was_dead {
            tracing::info!(node = self.name(node), "a node answers");
        }
        self.choose();
    }

    /// Records a missed health check. After several in a row, the node counts as dead.
    pub(super) fn missed(&self, node: usize) {
        let missed = self.change(node, |standing| {
            standing.missed = standing.missed.saturating_add(1);
            standing.missed
        });
        if missed >= MISSED_LOOKS_MAX {
            self.died(node, "it does not answer");
        }
    }

    /// Records that a node refuses connections or is silent.
    pub(super) fn died(&self, node: usize, reason: &str) {
        let was_alive = self.change(node, |standing| {
            standing.error = Some(reason.to_owned());
            standing.held.take().is_some()
        });
        if was_alive {
            let node = self.name(node);
            tracing::warn!(node, reason, "a node counts as dead");
            self.choose();
        }
    }

    /// Records that a node was slow or aborted a query. It stays a member.
    pub(super) fn slowed(&self, node: usize) {
        self.change(node, |standing| standing.is_slow = true);
    }

    fn change<T: Default>(&self, node: usize, change: impl FnOnce(&mut Standing) -> T) -> T {
        self.lock().get_mut(node).map(change).unwrap_or_default()
    }

    /// Chooses the served generation: the newest one with a live node for every shard; if there is none, the last
    /// served one, whose missing shards are then reported.
    pub(super) fn choose(&self) {
        let held = self.loaded.all();
        let complete = held
            .values()
            .rev()
            .find(|held| self.missing_of(&held.manifest).is_none());
        let current = self.view().generation;
        let chosen = complete
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

    /// The number of shards of a generation; 0 if it is unknown.
    pub(super) fn shard_count(&self, generation: u64) -> u32 {
        let held = self.loaded.all();
        held.get(&generation)
            .map_or(0, |held| held.manifest.shard_count())
    }

    /// The shards of a generation that hold signals: no query finds any in the others.
    pub(super) fn shards_with_signals(&self, generation: u64) -> Vec<u32> {
        let held = self.loaded.all();
        let shards = held
            .get(&generation)
            .map(|held| (0..).zip(&held.manifest.shards));
        let filled = shards
            .into_iter()
            .flatten()
            .filter(|(_, shard)| shard.signals > 0);
        filled.map(|(number, _)| number).collect()
    }

    /// Whether this node holds a shard itself.
    pub(super) fn is_own(&self, generation: u64, shard: u32) -> bool {
        let held = self.loaded.all();
        held.get(&generation)
            .is_some_and(|held| held.shards.contains_key(&shard))
    }

    /// The first shard of the served generation without a live node.
    pub(super) fn missing(&self) -> Option<Unreachable> {
        let held = self.loaded.all();
        let held = held.get(&self.view().generation)?;
        self.missing_of(&held.manifest)
    }

    fn missing_of(&self, manifest: &ClusterGeneration) -> Option<Unreachable> {
        let shards = manifest.shard_count();
        let all: Vec<u32> = (0..shards).collect();
        self.assign(manifest.generation, shards, &all, &[]).err()
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
        let own = self.loaded.all();
        let own = own
            .get(&generation)
            .filter(|_| !avoided.contains(&self.own));
        let others = self.lock();
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let mut tasks: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for &shard in asked {
            let node = if own.is_some_and(|own| own.shards.contains_key(&shard)) {
                Some(self.own)
            } else {
                let holds =
                    |node: usize| !avoided.contains(&node) && others[node].holds(generation, shard);
                let holders: Vec<usize> = (0..others.len()).filter(|&node| holds(node)).collect();
                choose_holder(&others, &holders, &tasks, turn)
            };
            let node = node.ok_or(Unreachable { shard, shards })?;
            tasks.entry(node).or_default().push(shard);
        }
        let task = |(node, shards)| NodeTask { node, shards };
        Ok(tasks.into_iter().map(task).collect())
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

    /// The oldest generation that is the newest one of any live node. Older ones are no longer queried.
    fn oldest_in_use(&self) -> u64 {
        let others = self.lock();
        let newest = others
            .iter()
            .filter_map(|standing| standing.held.as_ref()?.keys().next_back());
        let others = newest.copied().min().unwrap_or(u64::MAX);
        others.min(self.view().generation)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Standing>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Standing {
    fn holds(&self, generation: u64, shard: u32) -> bool {
        let held = self.held.as_ref().and_then(|held| held.get(&generation));
        held.is_some_and(|held| held.contains(&shard))
    }
}

/// Chooses a node for a shard: one that is queried anyway, else round-robin; a slow one only if there is no other.
fn choose_holder(
    others: &[Standing],
    holders: &[usize],
    tasks: &BTreeMap<usize, Vec<u32>>,
    turn: usize,
) -> Option<usize> {
    let fast: Vec<usize> = holders
        .iter()
        .copied()
        .filter(|&node| !others[node].is_slow)
        .collect();
    let candidates = if fast.is_empty() { holders } else { &fast };
    let asked = candidates.iter().find(|node| tasks.contains_key(node));
    asked
        .or_else(|| candidates.get(turn % candidates.len().max(1)))
        .copied()
}

#[cfg(test)]
mod tests;
