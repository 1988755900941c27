//! What is known of the nodes: which answer, what each holds, and so which generation is served.
//!
//! Every node looks after every other by itself: there is no leader and nothing to agree on. Two
//! nodes may serve different generations briefly; an answer is of one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;

use super::engine::Task;
use super::generation::ClusterGeneration;
use super::loaded_shards::LoadedShards;
use crate::corpus::CorpusView;
use crate::digest::Digest;

/// The shards that a node holds, by generation.
pub(super) type Held = BTreeMap<u64, Vec<u32>>;

/// The nodes as one of them sees them.
pub(super) struct Members {
    /// The index of the node that sees.
    own: usize,
    loaded: LoadedShards,
    /// What each of the nodes holds; `None` for one that does not answer.
    others: Mutex<Vec<Option<Held>>>,
    view: ArcSwapOption<CorpusView>,
    /// Queries so far, by which the replicas of a shard take turns.
    turns: AtomicUsize,
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
    pub(super) fn new(own: usize, nodes: usize, loaded: LoadedShards) -> Members {
        let members = Members {
            own,
            loaded,
            others: Mutex::new(vec![None; nodes]),
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

    /// Notes what a node has said that it holds, or that it does not answer.
    pub(super) fn note(&self, node: usize, held: Option<Held>) {
        if node != self.own
            && let Some(known) = self.lock().get_mut(node)
        {
            *known = held;
        }
        self.choose();
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

    /// Which node to ask for which of these shards, without those to be avoided.
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
        let others = self.lock();
        let own = self.loaded.all();
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let holds = |node: usize, shard: u32| {
            if node == self.own {
                own.get(&generation)
                    .is_some_and(|held| held.shards.contains_key(&shard))
            } else {
                others[node]
                    .as_ref()
                    .and_then(|held| held.get(&generation))
                    .is_some_and(|held| held.contains(&shard))
            }
        };
        let mut tasks: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for &shard in asked {
            let nodes = (0..others.len()).filter(|node| !avoided.contains(node));
            let holding: Vec<usize> = nodes.filter(|&node| holds(node, shard)).collect();
            let turn = turn.wrapping_add(shard as usize) % holding.len().max(1);
            match holding.get(turn) {
                Some(&node) => tasks.entry(node).or_default().push(shard),
                None => return Err(Unreachable { shard, shards }),
            }
        }
        let task = |(node, shards)| Task { node, shards };
        Ok(tasks.into_iter().map(task).collect())
    }

    /// The shards that these nodes were asked for, for a message.
    pub(super) fn first_shard_of(tasks: &[Task], nodes: &[usize]) -> Option<u32> {
        let mut failed = tasks.iter().filter(|task| nodes.contains(&task.node));
        failed.find_map(|task| task.shards.first().copied())
    }

    /// The oldest generation that this node or one that answers still holds as its newest, so that
    /// nothing older is asked for any more.
    pub(super) fn oldest_in_use(&self) -> u64 {
        let others = self.lock();
        let newest = others
            .iter()
            .flatten()
            .filter_map(|held| held.keys().next_back());
        let others = newest.copied().min().unwrap_or(u64::MAX);
        others.min(self.view().generation)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<Held>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
