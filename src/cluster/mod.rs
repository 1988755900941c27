//! A cluster: one corpus on many machines, each of which holds some of its shards.
//!
//! ```text
//! split      a corpus by company          placement  which shard, which nodes: computed from names
//! publish    shards, then their manifest  loader     brings a node's shards from its cache and the store
//! node       worker, coordinator and watches of a machine
//! members    which nodes answer, what each holds, which generation is served
//! coordinator   what clients want -> question -> asking -> what they get
//! asking     a question to the nodes that hold shards; deadline, other replicas, or a refusal
//! admission  bounded work, and a short queue
//! question   what is asked, in versioned bytes       answer   what is answered, and how answers are merged
//! worker     shard_answers of loaded_shards   nodes, peer   ask workers, here and over the network
//! messages   lengths and bytes    connections  sockets between nodes    security  TLS of both sides
//! ```
//!
//! Every node answers clients, coordinates and works; none leads. A query is answered from one
//! generation, by one replica of each shard. Nothing is written through a cluster: shards are built
//! and published anew, and nodes follow.
//!
//! `docs/cluster.md` says how to run one, what it costs and what is not done.

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
mod split;
mod worker;

pub use node::{Node, NodeOptions};
pub use placement::{holders, shard_of};
pub use publish::{PublishedCluster, publish_cluster};
pub use security::Security;
pub use settings::{ClusterSettings, NodeSettings};
pub use split::Splitter;
