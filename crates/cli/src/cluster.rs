//! The commands of a cluster, and the options of `serve` for one of its nodes.

mod node;
mod shard;
mod update;

pub(crate) use node::{ClusterOptions, StartedNode, install_crypto_provider};
pub(crate) use update::{compact_shards, update_shards, verify_shards};

use crate::Failure;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ClusterCommand {
    Shard(Box<shard::Shard>),
    PublishShards(shard::PublishShards),
}

impl ClusterCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            ClusterCommand::Shard(shard) => shard.run(),
            ClusterCommand::PublishShards(publish) => publish.run(),
        }
    }
}
