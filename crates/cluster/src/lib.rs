//! Clusters: one corpus on many machines, each with some of its shards.
//!
//! ```text
//! split      a corpus by company          placement  shards and nodes, computed from names
//! shard_folder  shards on disk            shard_update  upserts and deletions, by shard     shard_rules  what is checked
//! publish    shards, then their manifest  loader     loads a node's shards from its cache and the store
//! node       worker, coordinator and health checks of a machine
//! members    live nodes, their shards, the served generation
//! coordinator   query of a client -> question -> asking -> merged answer
//! asking     sends a question to the nodes of shards; deadline, other replicas, or a refusal
//! admission  a limit on concurrent work, and a short queue
//! question   requests in versioned bytes      answer   responses, and merging
//! worker     shard_answers of loaded_shards   nodes, peer   local and remote workers
//! messages   length-prefixed bytes    connections  sockets between nodes    security  TLS
//! ```
//!
//! Every node answers clients, coordinates and works; there is no leader. A query is answered from one
//! generation, by one replica of each shard. Nodes are read-only: shards are updated in one place and published, and nodes
//! follow.
//!
//! `docs/cluster.md` describes how to run one, its costs and its limits.

mod admission;
mod answer;
mod asking;
mod connections;
mod coordinator;
mod generation;
mod loaded_shards;
mod loader;
mod members;
mod messages;
mod node;
mod nodes;
mod peer;
mod placement;
mod publish;
mod question;
mod reports;
mod security;
mod settings;
mod shard_answers;
mod shard_folder;
mod shard_rules;
mod shard_update;
mod split;
mod worker;

pub use node::{Node, NodeOptions};
pub use placement::{holders, shard_of};
pub use publish::{PublishedCluster, publish_cluster};
pub use security::Security;
pub use settings::{ClusterSettings, NodeSettings};
pub use shard_folder::ShardFolder;
pub use shard_update::{ShardUpdate, ShardUpdateReport};
pub use split::Splitter;
