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
mod tests {
    use super::*;

    const NODES: [&str; 5] = ["one", "two", "three", "four", "five"];

    #[test]
    fn the_shards_of_companies_never_change() {
        let shards = ["acme", "globex", "initech", ""].map(|slug| shard_of(slug, 7));
        assert_eq!(shards, SHARDS_OF_SEVEN);
    }

    const SHARDS_OF_SEVEN: [u32; 4] = [0, 1, 4, 4];

    #[test]
    fn a_shard_has_as_many_different_holders_as_replicas() {
        for shard in 0..100 {
            let mut held = holders(shard, 100, &NODES, 2);
            assert_eq!(held.len(), 2);
            held.dedup();
            assert_eq!(held.len(), 2);
        }
        assert_eq!(holders(0, 1, &NODES, 9).len(), NODES.len());
    }

    #[test]
    fn a_node_that_goes_moves_only_its_own_shards() {
        let names = |held: Vec<usize>, nodes: &[&'static str]| -> Vec<&'static str> {
            held.into_iter().map(|index| nodes[index]).collect()
        };
        for shard in 0..100 {
            let before = names(holders(shard, 100, &NODES, 2), &NODES);
            let after = names(holders(shard, 100, &NODES[..4], 2), &NODES[..4]);
            if !before.contains(&"five") {
                assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn shards_and_places_are_spread_evenly() {
        let mut companies = [0; 8];
        for company in 0..8_000 {
            companies[shard_of(&format!("company-{company}"), 8) as usize] += 1;
        }
        assert!(companies.iter().all(|count| (850..1150).contains(count)));
        let mut held = [0; 5];
        for shard in 0..1_000 {
            held[holders(shard, 1_000, &NODES, 1)[0]] += 1;
        }
        assert!(held.iter().all(|count| (140..260).contains(count)));
    }
}
