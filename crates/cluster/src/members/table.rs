//! The assignment of shards to nodes: a table that queries read without a lock. It is replaced when members or
//! generations change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{NodeTask, Unreachable};
use crate::loaded_shards::LoadedGeneration;

/// Who answers for which shard of the generations that this node knows.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) own: usize,
    /// By index.
    pub(super) nodes: Vec<TableNode>,
    pub(super) generations: BTreeMap<u64, TableGeneration>,
}

#[derive(Debug)]
pub(super) struct TableNode {
    pub(super) name: String,
    /// Whether others are preferred. Shared with the table after this one.
    pub(super) is_slow: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
pub(super) struct TableGeneration {
    /// The nodes that answer for each shard, ascending.
    pub(super) holders: Vec<Vec<usize>>,
    /// The shards with signals.
    pub(super) filled: Vec<u32>,
}

impl TableGeneration {
    /// The shards of a generation, without nodes yet.
    pub(super) fn of(loaded: &LoadedGeneration) -> TableGeneration {
        let shards = &loaded.manifest.shards;
        let filled = (0..).zip(shards).filter(|(_, shard)| shard.signals > 0);
        TableGeneration {
            holders: vec![Vec::new(); shards.len()],
            filled: filled.map(|(number, _)| number).collect(),
        }
    }

    /// Adds a node, after those with smaller indices.
    pub(super) fn add<'s>(&mut self, node: usize, shards: impl IntoIterator<Item = &'s u32>) {
        for &shard in shards {
            if let Some(holders) = self.holders.get_mut(shard as usize) {
                holders.push(node);
            }
        }
    }

    pub(super) fn shard_count(&self) -> u32 {
        self.holders.len() as u32
    }

    /// The first shard without a node.
    pub(super) fn missing(&self) -> Option<Unreachable> {
        let shard = self.holders.iter().position(Vec::is_empty)?;
        Some(Unreachable {
            shard: shard as u32,
            shards: self.shard_count(),
        })
    }

    pub(super) fn holders(&self, shard: u32) -> &[usize] {
        self.holders.get(shard as usize).map_or(&[], Vec::as_slice)
    }
}

impl Table {
    /// Whether this node answers for a shard itself.
    pub(super) fn is_own(&self, generation: u64, shard: u32) -> bool {
        let generation = self.generations.get(&generation);
        generation.is_some_and(|generation| generation.holders(shard).contains(&self.own))
    }

    /// Assigns shards to nodes, except those to avoid; see [`Members::assign`](super::Members::assign).
    pub(super) fn assign(
        &self,
        generation: u64,
        shards: u32,
        asked: &[u32],
        avoided: &[usize],
        turn: usize,
    ) -> Result<Vec<NodeTask>, Unreachable> {
        let generation = self.generations.get(&generation);
        let mut tasks: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for &shard in asked {
            let holders = generation.map_or(&[][..], |generation| generation.holders(shard));
            let node = self.choose(holders, avoided, &tasks, turn);
            let node = node.ok_or(Unreachable { shard, shards })?;
            tasks.entry(node).or_default().push(shard);
        }
        let task = |(node, shards)| NodeTask { node, shards };
        Ok(tasks.into_iter().map(task).collect())
    }

    /// Chooses a node for a shard: this one, or one that is queried anyway, else in turn; a slow one only if there is no
    /// other.
    fn choose(
        &self,
        holders: &[usize],
        avoided: &[usize],
        tasks: &BTreeMap<usize, Vec<u32>>,
        turn: usize,
    ) -> Option<usize> {
        let usable = || {
            holders
                .iter()
                .copied()
                .filter(|node| !avoided.contains(node))
        };
        if usable().any(|node| node == self.own) {
            return Some(self.own);
        }
        let is_fast = |&node: &usize| !self.nodes[node].is_slow.load(Ordering::Relaxed);
        let has_fast = usable().any(|node| is_fast(&node));
        let candidates = || usable().filter(|node| !has_fast || is_fast(node));
        let asked = candidates().find(|node| tasks.contains_key(node));
        asked.or_else(|| candidates().nth(turn % candidates().count().max(1)))
    }
}
