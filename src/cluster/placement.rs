//! Which shard a company belongs to, and which nodes hold a shard: the same everywhere and for ever.
//!
//! Both are computed from names alone, so no node has to be asked and none leads. Nodes are ranked
//! for each shard by a hash of both (rendezvous hashing): a node that comes or goes moves only the
//! shards that it holds itself.

use sha2::{Digest, Sha256};

/// What is hashed before a slug, so that no other hash is like it.
const SHARD_DOMAIN: &str = "signaldex shard 1\n";

/// The same before a shard and a node.
const PLACE_DOMAIN: &str = "signaldex placement 1\n";

/// The shard of a company and of all its signals, of that many.
///
/// ```
/// assert_eq!(signaldex::cluster::shard_of("acme", 1), 0);
/// assert!(signaldex::cluster::shard_of("acme", 7) < 7);
/// ```
pub fn shard_of(company_slug: &str, shards: u32) -> u32 {
    let hash = hash(SHARD_DOMAIN, &[company_slug.as_bytes()]);
    // Less than the number of shards, which is a u32.
    (hash % u64::from(shards.max(1))) as u32
}

/// The nodes that hold a shard, by their indices in `nodes`, first choice first.
pub fn holders<T: AsRef<str>>(shard: u32, shards: u32, nodes: &[T], replicas: usize) -> Vec<usize> {
    let score = |node: &T| {
        let (shard, shards) = (shard.to_le_bytes(), shards.to_le_bytes());
        hash(PLACE_DOMAIN, &[&shard, &shards, node.as_ref().as_bytes()])
    };
    let mut ranked: Vec<(u64, &str, usize)> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (score(node), node.as_ref(), index))
        .collect();
    // Names are different, so that no two are equal.
    ranked.sort_by(|a, b| b.cmp(a));
    ranked.truncate(replicas);
    ranked.into_iter().map(|(_, _, index)| index).collect()
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
