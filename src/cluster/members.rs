//! What is known of the nodes: which answer, what each holds, and so which generation is served.
//!
//! Every node looks after every other by itself: there is no leader and nothing to agree on. Two
//! nodes may serve different generations briefly; an answer is of one.

mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use arc_swap::ArcSwapOption;

use super::answer::Held;
use super::generation::ClusterGeneration;
use super::loaded_shards::LoadedShards;
use crate::corpus::CorpusView;
use crate::digest::Digest;

/// How many looks in a row a node may miss before its shards count as lost: under load, one may be late.
const MISSED_LOOKS_MAX: u32 = 3;

/// The nodes as one of them sees them.
pub(super) struct Members {
    /// The index of the node that sees.
    own: usize,
    /// By index.
    names: Vec<String>,
    loaded: LoadedShards,
    others: Mutex<Vec<Standing>>,
    view: ArcSwapOption<CorpusView>,
    /// Queries so far, by which the replicas of a shard take turns.
    turns: AtomicUsize,
}

/// What is known of another node.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// What it holds; `None` while it counts as dead.
    held: Option<Held>,
    /// Looks in a row that it has not answered.
    missed: u32,
    /// Whether it has let a question wait since the last look that it answered: others are asked first.
    is_slow: bool,
    /// When it last answered a look.
    answered_at: Option<Instant>,
    /// Why it counts as dead.
    error: Option<String>,
}

/// The part of a question that goes to one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// The index of the node in the list of nodes.
    pub(super) node: usize,
    pub(super) shards: Vec<u32>,
}

/// A shard that no node can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreachable {
    pub(super) shard: u32,
    pub(super) shards: u32,
}

impl Unreachable {
    /// What a client is told.
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

    /// The generation that is served, and what entity tags start from.
    pub(super) fn view(&self) -> Arc<CorpusView> {
        let view = self.view.load_full();
        view.unwrap_or_else(|| Arc::new(CorpusView::of(0, Digest::of(b""))))
    }

    /// The index of the node that sees.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// The name of a node.
    pub(super) fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }

    /// Notes that a node has answered a look, and what it holds.
    pub(super) fn answered(&self, node: usize, held: Held) {
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

    /// Notes that a node has not answered a look. After some in a row its shards count as lost.
    pub(super) fn missed(&self, node: usize) {
        let missed = self.change(node, |standing| {
            standing.missed = standing.missed.saturating_add(1);
            standing.missed
        });
        if missed >= MISSED_LOOKS_MAX {
            self.died(node, "it does not answer");
        }
    }

    /// Notes that nothing listens where a node should, or that it is silent.
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

    /// Notes that a node has let a question wait or broken it off. It stays a member.
    pub(super) fn slowed(&self, node: usize) {
        self.change(node, |standing| standing.is_slow = true);
    }

    fn change<T: Default>(&self, node: usize, change: impl FnOnce(&mut Standing) -> T) -> T {
        self.lock().get_mut(node).map(change).unwrap_or_default()
    }

    /// Chooses what is served: the newest generation of which every shard has a node that answers;
    /// without one, the newest that was served, whose missing shards are then named.
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
            let view = CorpusView::of(manifest.generation, manifest.revision());
            self.view.store(Some(Arc::new(view)));
        }
    }

    /// How many shards a generation has; 0 where it is not known any more.
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

    /// The first shard of the generation that is served which no node can be asked for.
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

    /// Which node to ask for which of these shards, without those to be avoided: this node for what it
    /// holds, and few others for the rest, so that few messages are sent.
    ///
    /// # Errors
    /// The first shard that no such node holds.
    pub(super) fn assign(
        &self,
        generation: u64,
        shards: u32,
        asked: &[u32],
        avoided: &[usize],
    ) -> Result<Vec<Task>, Unreachable> {
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
        let task = |(node, shards)| Task { node, shards };
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

    /// The oldest generation that this node or one that answers still holds as its newest, so that
    /// nothing older is asked for any more.
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

/// One of the nodes that hold a shard: one that is asked anyway, or else they take turns; one that was slow
/// only where no other is left.
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
