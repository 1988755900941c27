//! The file that describes a cluster, the same on every node.
//!
//! ```json
//! {
//!   "store": "s3://bucket/signals",
//!   "replicas": 2,
//!   "nodes": [
//!     {"name": "one", "address": "10.0.0.1:7400"},
//!     {"name": "two", "address": "10.0.0.2:7400"}
//!   ]
//! }
//! ```

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use super::placement;
use signaldex::text::quoted;
use signaldex::{Error, Result};

/// Maximum number of nodes, because each checks every other one.
const NODES_MAX: usize = 1_000;

/// Maximum bytes of the file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The description of a cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// The store with the published shards.
    pub store: String,
    /// The number of nodes that hold each shard.
    pub replicas: usize,
    /// All nodes. Names determine which shards a node holds, so keep them when addresses change.
    pub nodes: Vec<NodeSettings>,
}

/// A node of a cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSettings {
    /// Its name.
    pub name: String,
    /// The address of its worker for the other nodes: `host:port`.
    pub address: String,
}

impl ClusterSettings {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Io`](signaldex::ErrorKind::Io) if it cannot be read, [`Invalid`](signaldex::ErrorKind::Invalid) if it violates a rule.
    pub fn read(path: &Path) -> Result<ClusterSettings> {
        let length = std::fs::metadata(path).map(|file| file.len());
        let length = length.map_err(|error| Error::io("read the file", error).at(path))?;
        if length > FILE_BYTES_MAX {
            let reason = format!("it has {length} bytes; at most {FILE_BYTES_MAX} are allowed");
            return Err(Error::invalid(reason).at(path));
        }
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Error::io("read the file", error).at(path))?;
        ClusterSettings::parse(&text).map_err(|error| error.at(path))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) if it violates a rule.
    pub fn parse(text: &str) -> Result<ClusterSettings> {
        let settings: ClusterSettings = serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("it does not describe a cluster: {error}")))?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<()> {
        let nodes = self.nodes.len();
        if !(1..=NODES_MAX).contains(&nodes) {
            return Err(Error::invalid(format!(
                "nodes: there are {nodes}; 1 to {NODES_MAX} are allowed"
            )));
        }
        if !(1..=nodes).contains(&self.replicas) {
            return Err(Error::invalid(format!(
                "replicas: {} is not allowed; use 1 to {nodes}, the number of nodes",
                self.replicas
            )));
        }
        let mut names = HashSet::new();
        for node in &self.nodes {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            if node.name.is_empty() || node.name.len() > 64 || !node.name.chars().all(is_name) {
                return Err(Error::invalid(format!(
                    "nodes: the name {} is not allowed; use 1 to 64 letters, digits, -, _ and .",
                    quoted(&node.name)
                )));
            }
            check_address(&node.address)?;
            if !names.insert(&node.name) {
                let name = quoted(&node.name);
                return Err(Error::invalid(format!(
                    "nodes: the name {name} occurs twice"
                )));
            }
        }
        Ok(())
    }

    /// The index of the node with a name.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) if there is none.
    pub fn index_of(&self, name: &str) -> Result<usize> {
        let index = self.nodes.iter().position(|node| node.name == name);
        index.ok_or_else(|| {
            let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
            Error::invalid(format!(
                "node: {} is not in this cluster; allowed are {}",
                quoted(name),
                names.join(", ")
            ))
        })
    }

    /// The indices of the nodes that hold a shard, first choice first.
    pub(super) fn holders(&self, shard: u32, shards: u32) -> Vec<usize> {
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        placement::holders(shard, shards, &names, self.replicas)
    }
}

/// Checks the form of an address. Whether it is reachable is found out later.
fn check_address(address: &str) -> Result<()> {
    let parts = address.rsplit_once(':');
    let is_address =
        parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if is_address {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "nodes: the address {} cannot be used; host:port is needed",
        quoted(address)
    )))
}

#[cfg(test)]
mod tests;
