//! What a command works on: one index, or all shards of a folder.

use std::path::PathBuf;

#[cfg(feature = "cluster")]
use signaldex_cluster::ShardFolder;

use crate::Failure;
#[cfg(not(feature = "cluster"))]
use crate::absent::absent;

/// One index, or all shards of a folder.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Place {
    /// The directory of the index
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// All shards of this folder, which `signaldex shard` has created, instead of one index
    #[arg(long, value_name = "DIR", hide = cfg!(not(feature = "cluster")))]
    shards: Option<PathBuf>,
}

/// A place that this program can work on.
#[derive(Debug)]
pub(crate) enum Target {
    Index(PathBuf),
    #[cfg(feature = "cluster")]
    Shards(ShardFolder),
}

impl Place {
    /// # Errors
    /// The folder is not one of shards, or this program was built without them.
    pub(crate) fn target(self) -> Result<Target, Failure> {
        match self.shards {
            Some(folder) => Target::of_shards(folder),
            None => Ok(Target::Index(self.directory.unwrap_or_default())),
        }
    }
}

impl Target {
    #[cfg(feature = "cluster")]
    fn of_shards(folder: PathBuf) -> Result<Target, Failure> {
        Ok(Target::Shards(ShardFolder::open(folder)?))
    }

    #[cfg(not(feature = "cluster"))]
    fn of_shards(_: PathBuf) -> Result<Target, Failure> {
        absent("cluster")
    }
}
