//! Clusters: one corpus on many machines, each with some of its shards.
//!
//! ```text
//! split      a corpus by company          placement  shards and nodes, computed from names
//! shard_folder  shards on disk            shard_update  upserts and deletions, by shard     shard_rules  what is checked
//! publish    shards, then their manifest  loader     loads a node's shards from its cache and the store
//! node       worker, coordinator and membership of a machine     holding   what it is to hold, and lets go of
//! members    live nodes, their shards, the served generation    gossip   what nodes tell each other
//! announcement  what a node says of itself                      known_nodes   the nodes that it knew last
//! coordinator   query of a client -> question -> asking -> merged answer
//! asking     sends a question to the nodes of shards; deadline, other replicas, or a refusal
//! changes    what has changed since a position       change_walk   which shard is asked for it next
//! matches    those of saved searches                 shard_changes   what changes of a shard are written as
//! exports    slices of all shards                    leases        generations that exports read from
//! manifest_cache   former generations
//! pages, company_pages   of signals and of companies     explain   how a query is asked and merged
//! admission  a limit on concurrent work, and a short queue
//! question   requests in versioned bytes      answer   responses, and merging      aggregates, companies   those of these kinds
//! worker     shard_answers of loaded_shards   nodes   local and remote workers
//! node_shards   shards for statements of SQL, here and elsewhere       shard_scanner   what answers scans of them
//! engine     standing plans, which carry questions     connections  sockets between nodes    security  TLS
//! arrivals   which connections are for gossip               error      why shards or nodes cannot be used
//! ```
//!
//! Every node answers clients, coordinates and works; there is no leader. A query is answered from one
//! generation, by one replica of each shard. Nodes are read-only: shards are updated in one place and published, and nodes
//! follow.
//!
//! `docs/cluster.md` describes how to run one, its costs and its limits.

mod admission;
mod aggregates;
mod announcement;
mod answer;
mod arrivals;
mod asking;
mod change_walk;
mod changes;
mod companies;
mod company_pages;
mod connections;
mod coordinator;
mod engine;
mod error;
mod explain;
mod exports;
#[cfg(test)]
mod fixtures;
mod generation;
mod gossip;
mod hints;
mod holding;
mod known_nodes;
mod leases;
mod loaded_shards;
mod loader;
mod manifest_cache;
mod matches;
mod members;
mod node;
mod node_shards;
mod nodes;
mod pages;
mod placement;
mod publish;
mod question;
mod reports;
mod security;
mod settings;
mod shard_answers;
mod shard_changes;
mod shard_companies;
mod shard_folder;
mod shard_rules;
mod shard_scanner;
mod shard_update;
mod split;
#[cfg(test)]
mod tests;
mod worker;

pub use error::{ClusterError, ClusterErrorKind, ClusterResult};
pub use node::{Node, NodeOptions, NodeReader};
pub use node_shards::{KeptShards, NodeShards, ShardsElsewhere};
pub use placement::{holders, shard_of};
pub use publish::{PublishedCluster, publish_cluster};
pub use security::Security;
pub use settings::{ClusterSettings, Membership, NodeSettings};
pub use shard_folder::ShardFolder;
pub use shard_scanner::ShardScanner;
pub use shard_update::{ShardUpdate, ShardUpdateReport};
pub use split::Splitter;
