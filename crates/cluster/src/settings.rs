//! The file that describes a cluster, the same on every node: with a list of all nodes, or with some addresses by which
//! a node finds those that are there.
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
//!
//! ```json
//! {"cluster": "signals", "store": "s3://bucket/signals", "replicas": 2, "seeds": ["10.0.0.1:7400"]}
//! ```

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use super::error::ClusterResult;
use signaldex::text::quoted;
use signaldex::{Error, Result};

/// Maximum number of nodes, because each asks every other one, and a message of gossip names all of them, twice after each has
/// restarted.
const NODES_MAX: usize = 256;

/// Maximum bytes of the file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The description of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// The store with the published shards.
    pub store: String,
    /// The number of nodes that hold each shard.
    pub replicas: usize,
    /// Which nodes it has.
    pub membership: Membership,
}

/// Which nodes a cluster has.
#[derive(Clone, Debug)]
pub enum Membership {
    /// These. Names determine which shards a node holds, so keep them when addresses change.
    Listed(Vec<NodeSettings>),
    /// Those that find each other.
    Seeds {
        /// The name of the cluster; nodes of another one are refused.
        cluster: String,
        /// Addresses of some nodes, of which a starting node needs one.
        seeds: Vec<String>,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    store: String,
    replicas: usize,
    nodes: Option<Vec<NodeSettings>>,
    cluster: Option<String>,
    seeds: Option<Vec<String>>,
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
    pub fn read(path: &Path) -> ClusterResult<ClusterSettings> {
        let length = std::fs::metadata(path).map(|file| file.len());
        let length = length.map_err(|error| Error::io("read the file", error).at(path))?;
        if length > FILE_BYTES_MAX {
            let reason = format!("it has {length} bytes; at most {FILE_BYTES_MAX} are allowed");
            return Err(Error::invalid(reason).at(path).into());
        }
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Error::io("read the file", error).at(path))?;
        ClusterSettings::parse(&text).map_err(|error| error.at(path))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) if it violates a rule.
    pub fn parse(text: &str) -> ClusterResult<ClusterSettings> {
        let file: ClusterFile = serde_json::from_str(text)
            .map_err(|error| Error::invalid(format!("it does not describe a cluster: {error}")))?;
        let membership = match (file.nodes, file.cluster, file.seeds) {
            (Some(nodes), None, None) => listed(nodes)?,
            (None, Some(cluster), Some(seeds)) => with_seeds(cluster, seeds)?,
            _ => {
                return Err(Error::invalid(
                    "it needs either nodes, which lists all of them, or cluster and seeds, by which nodes find each \
                     other; not both",
                )
                .into());
            }
        };
        let nodes_max = match &membership {
            Membership::Listed(nodes) => nodes.len(),
            Membership::Seeds { .. } => NODES_MAX,
        };
        if !(1..=nodes_max).contains(&file.replicas) {
            return Err(Error::invalid(format!(
                "replicas: {} is not allowed; use 1 to {nodes_max}, the number of nodes",
                file.replicas
            ))
            .into());
        }
        Ok(ClusterSettings {
            store: file.store,
            replicas: file.replicas,
            membership,
        })
    }

    /// The address of a node in the file; `None` where nodes find each other.
    ///
    /// # Errors
    /// [`Invalid`](signaldex::ErrorKind::Invalid) if the name is none that a node of this cluster can have.
    pub fn address_of(&self, name: &str) -> ClusterResult<Option<&str>> {
        let Membership::Listed(nodes) = &self.membership else {
            check_name("node", name)?;
            return Ok(None);
        };
        let node = nodes.iter().find(|node| node.name == name);
        node.map(|node| Some(node.address.as_str())).ok_or_else(|| {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            Error::invalid(format!(
                "node: {} is not in this cluster; allowed are {}",
                quoted(name),
                names.join(", ")
            ))
            .into()
        })
    }
}

fn listed(nodes: Vec<NodeSettings>) -> Result<Membership> {
    check_count("nodes", nodes.len())?;
    let mut names = HashSet::new();
    for node in &nodes {
        check_name("nodes", &node.name)?;
        check_address("nodes", &node.address)?;
        if !names.insert(&node.name) {
            let name = quoted(&node.name);
            return Err(Error::invalid(format!(
                "nodes: the name {name} occurs twice"
            )));
        }
    }
    Ok(Membership::Listed(nodes))
}

fn with_seeds(cluster: String, seeds: Vec<String>) -> Result<Membership> {
    check_name("cluster", &cluster)?;
    check_count("seeds", seeds.len())?;
    for seed in &seeds {
        check_address("seeds", seed)?;
    }
    Ok(Membership::Seeds { cluster, seeds })
}

fn check_count(field: &str, count: usize) -> Result<()> {
    if (1..=NODES_MAX).contains(&count) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{field}: there are {count}; 1 to {NODES_MAX} are allowed"
    )))
}

/// Checks the name of a node or a cluster.
pub(super) fn check_name(field: &str, name: &str) -> Result<()> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if (1..=64).contains(&name.len()) && name.chars().all(is_allowed) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{field}: the name {} is not allowed; use 1 to 64 letters, digits, -, _ and .",
        quoted(name)
    )))
}

/// Checks the form of an address. Whether it is reachable is found out later.
pub(super) fn check_address(field: &str, address: &str) -> Result<()> {
    let parts = address.rsplit_once(':');
    let is_address =
        parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if is_address {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{field}: the address {} cannot be used; host:port is needed",
        quoted(address)
    )))
}

#[cfg(test)]
mod tests;
