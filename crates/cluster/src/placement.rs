//! Placement: the shard of a company, and the nodes of a shard.
//!
//! Both are computed only from names and zones, and are stable. Nodes are ranked for each shard by a hash of both (rendezvous
//! hashing), so adding or removing a node moves only the shards of that node.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// The domain separator of hashes of slugs.
const SHARD_DOMAIN: &str = "signaldex shard 1\n";

/// The domain separator of hashes of shards and nodes.
const PLACE_DOMAIN: &str = "signaldex placement 1\n";

/// The shard of a company and all its signals, for a number of shards.
///
/// ```
/// assert_eq!(signaldex_cluster::shard_of("acme", 1), 0);
/// assert!(signaldex_cluster::shard_of("acme", 7) < 7);
/// ```
pub fn shard_of(company_slug: &str, shards: u32) -> u32 {
    let hash = hash(SHARD_DOMAIN, &[company_slug.as_bytes()]);
    // Less than the number of shards, which is a u32.
    (hash % u64::from(shards.max(1))) as u32
}

/// The nodes that hold a shard, by their indices in `nodes`, first choice first. Each node is a name and a zone, which is
/// empty where it has none. No two are in one zone while another zone has a node to offer.
///
/// ```
/// let nodes = [("one", "a"), ("two", "a"), ("three", "b")];
/// let held = signaldex_cluster::holders(0, 7, &nodes, 2);
/// assert!(held.contains(&2), "the only node of its zone: {held:?}");
/// ```
pub fn holders<T: AsRef<str>>(
    shard: u32,
    shards: u32,
    nodes: &[(T, T)],
    replicas: usize,
) -> Vec<usize> {
    let score = |name: &T| {
        let (shard, shards) = (shard.to_le_bytes(), shards.to_le_bytes());
        hash(PLACE_DOMAIN, &[&shard, &shards, name.as_ref().as_bytes()])
    };
    let mut ranked: Vec<(u64, &str, usize)> = nodes
        .iter()
        .enumerate()
        .map(|(index, (name, _))| (score(name), name.as_ref(), index))
        .collect();
    // Names are distinct, so no two entries are equal.
    ranked.sort_by(|a, b| b.cmp(a));
    let mut zones = HashSet::new();
    // The first node of each zone, and after those the others; both in the order of their scores.
    let (first, others): (Vec<usize>, Vec<usize>) = ranked
        .into_iter()
        .map(|(_, _, index)| index)
        .partition(|&index| zones.insert(nodes[index].1.as_ref()));
    first.into_iter().chain(others).take(replicas).collect()
}

fn hash(domain: &str, parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    hash.update(domain);
    for part in parts {
        hash.update(part);
    }
    let digest = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|index| digest[index]))
}

#[cfg(test)]
mod tests;
