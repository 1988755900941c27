//! A cluster: one corpus on many machines, each of which holds some of its shards.
//!
//! ```text
//! split      a corpus by company          placement  which shard, which nodes: computed from names
//! publish    shards, then their manifest  loader     brings a node's shards from the store
//! node       worker and coordinator of a machine
//! members    which nodes answer, what each holds, which generation is served
//! coordinator   question -> tasks -> engine -> answer; deadline, one retry, or a refusal
//! question   what is asked, in versioned bytes       loaded_shards  what a node answers
//! engine     plans, network and merging: the only module that knows DataFusion
//! ```
//!
//! Every node answers clients, coordinates and works; none leads. A query is answered from one
//! generation, by one replica of each shard. Nothing is written through a cluster: shards are built
//! and published anew, and nodes follow.
//!
//! `docs/cluster.md` says how to run one, what it costs and what is not done.

mod coordinator;
mod engine;
mod generation;
mod loaded_shards;
mod loader;
mod members;
mod node;
mod placement;
mod publish;
mod question;
mod settings;
mod split;

pub use engine::Security;
pub use node::{Node, NodeOptions};
pub use placement::{holders, shard_of};
pub use publish::{PublishedCluster, publish_cluster};
pub use settings::{ClusterSettings, NodeSettings};
pub use split::Splitter;
