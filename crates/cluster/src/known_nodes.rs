//! The nodes that a node knew last, in a file of its cache: after a restart it keeps its shards, also while it is alone.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The name of the file.
const FILE: &str = "nodes.json";

/// Maximum bytes that are read.
const BYTES_MAX: u64 = 1 << 20;

/// A node that may hold shards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct KnownNode {
    pub(super) name: String,
    /// Empty where it has none.
    pub(super) zone: String,
}

/// The file.
#[derive(Clone, Debug)]
pub(super) struct KnownNodes(PathBuf);

impl KnownNodes {
    /// The file of a cache.
    pub(super) fn in_directory(cache: &Path) -> KnownNodes {
        KnownNodes(cache.join(FILE))
    }

    /// The nodes of the file. Without a readable file there are none: others tell soon.
    pub(super) fn read(&self) -> Vec<KnownNode> {
        let is_small = std::fs::metadata(&self.0).is_ok_and(|file| file.len() <= BYTES_MAX);
        let bytes = std::fs::read(&self.0).ok().filter(|_| is_small);
        let nodes = bytes.map(|bytes| serde_json::from_slice(&bytes));
        match nodes {
            Some(Ok(nodes)) => nodes,
            Some(Err(error)) => {
                tracing::warn!(%error, path = %self.0.display(), "the known nodes cannot be read");
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Replaces the nodes of the file. Failing to is no reason to stop: the file only saves work after a restart.
    pub(super) fn keep(&self, nodes: &[KnownNode]) {
        if let Err(error) = self.write(nodes) {
            tracing::warn!(%error, path = %self.0.display(), "the known nodes cannot be kept");
        }
    }

    fn write(&self, nodes: &[KnownNode]) -> io::Result<()> {
        let written = self.0.with_extension("json.new");
        std::fs::write(&written, serde_json::to_vec(nodes)?)?;
        std::fs::rename(written, &self.0)
    }
}
