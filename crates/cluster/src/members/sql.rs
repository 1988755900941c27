//! Which nodes take scans of SQL.

use super::{Members, NodeTask};
use crate::engine::OWN_RELEASE;

impl Members {
    /// Assigns shards of a generation, by default all, to this node and others that take scans, as
    /// [`assign`](Self::assign), but to none of those to avoid.
    ///
    /// # Errors
    /// Why a shard has no such node, in words that name those that hold it.
    pub(crate) fn assign_scans(
        &self,
        generation: u64,
        asked: Option<&[u32]>,
        avoided: &[usize],
    ) -> Result<Vec<NodeTask>, String> {
        let count = self.shard_count(generation);
        if count == 0 {
            return Err("no generation of the corpus is loaded yet".to_owned());
        }
        let shards = asked.map_or_else(|| (0..count).collect(), <[u32]>::to_vec);
        let refusing = self.refusing_scans();
        let refused = refusing.iter().map(|(node, _)| *node);
        let avoided: Vec<usize> = refused.chain(avoided.iter().copied()).collect();
        let table = self.table.load();
        // The same nodes as long as the generation is the same, so that what was made of its shards can be used again.
        let turn = generation as usize;
        let assigned = table.assign(generation, count, &shards, &avoided, turn);
        assigned.map_err(|missing| {
            let generation = table.generations.get(&generation);
            let holders = generation.map_or(&[][..], |of| of.holders(missing.shard));
            let reasons = refusing.iter().filter(|(node, _)| holders.contains(node));
            let reasons: Vec<&str> = reasons.map(|(_, reason)| reason.as_str()).collect();
            let why = if reasons.is_empty() {
                "it has no live replica".to_owned()
            } else {
                reasons.join("; ")
            };
            format!("shard {} of {count} cannot be asked: {why}", missing.shard)
        })
    }

    /// The other nodes that take no scan of this one, each with the reason.
    fn refusing_scans(&self) -> Vec<(usize, String)> {
        let nodes = self.lock();
        let others = nodes
            .iter()
            .enumerate()
            .filter(|(node, _)| *node != self.own);
        let reason = |(node, standing): (usize, &super::Standing)| {
            let (name, said) = (&standing.name, &standing.announcement);
            let reason = if said.release != OWN_RELEASE {
                format!(
                    "node {name} is of release {}, this one of {OWN_RELEASE}, and SQL needs equal ones",
                    said.release
                )
            } else if said.has_sql {
                return None;
            } else {
                format!("node {name} was started without --sql-addr")
            };
            Some((node, reason))
        };
        others.filter_map(reason).collect()
    }

    /// Where another node is reached.
    pub(crate) fn address(&self, node: usize) -> String {
        let nodes = self.lock();
        nodes
            .get(node)
            .map_or_else(String::new, |node| node.address.clone())
    }
}
