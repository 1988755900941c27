//! What a node says of itself to the others: short texts under names, of which a release ignores those that it does not
//! know.
//!
//! ```text
//! address             where others reach it, host:port; a node without one has not joined yet
//! zone                where it stands, if it says so
//! release             of this program
//! engine, messages    versions of what questions are carried by
//! shards/GENERATION   the shards that it has loaded: 0-3,7
//! leases              the generations that its exports read from: 7,9
//! sql                 it answers SQL, and scans of others
//! left                it is about to stop
//! ```

use std::collections::BTreeMap;

use super::generation::SHARDS_MAX;
use super::leases::LEASED_MAX;
use super::loaded_shards::HeldShards;

const ADDRESS: &str = "address";
const ZONE: &str = "zone";
const RELEASE: &str = "release";
const ENGINE: &str = "engine";
const MESSAGES: &str = "messages";
const LEASES: &str = "leases";
const SQL: &str = "sql";
const LEFT: &str = "left";

/// How the key of the shards of a generation starts.
pub(super) const SHARDS: &str = "shards/";

/// Maximum number of generations that are read of one node, which keeps two and sometimes one more.
const GENERATIONS_MAX: usize = 16;

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Announcement {
    pub(super) address: String,
    /// Empty where the node has none.
    pub(super) zone: String,
    pub(super) release: String,
    pub(super) engine: String,
    pub(super) messages: String,
    pub(super) held: HeldShards,
    /// The generations that its exports read from, ascending.
    pub(super) leases: Vec<u64>,
    /// It answers scans of SQL.
    pub(super) has_sql: bool,
    /// It is about to stop.
    pub(super) has_left: bool,
}

/// A node as others tell of it.
#[derive(Clone, Debug)]
pub(super) struct SeenNode {
    pub(super) name: String,
    /// When its process started, by its own clock: it tells processes of one name apart.
    pub(super) incarnation: u64,
    /// Rises as long as it lives.
    pub(super) heartbeat: u64,
    /// Whether the failure detector takes it for alive.
    pub(super) is_alive: bool,
    pub(super) announcement: Announcement,
}

impl Announcement {
    /// Reads texts by name; those of shards that are none are left out. `None` before the node has joined.
    pub(super) fn read<'a>(
        texts: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Option<Announcement> {
        let mut read = Announcement::default();
        for (key, text) in texts {
            let field = match key {
                ADDRESS => &mut read.address,
                ZONE => &mut read.zone,
                RELEASE => &mut read.release,
                ENGINE => &mut read.engine,
                MESSAGES => &mut read.messages,
                LEASES => {
                    let leases = text.split(',').take(LEASED_MAX);
                    read.leases = leases.filter_map(|lease| lease.parse().ok()).collect();
                    continue;
                }
                SQL => {
                    read.has_sql = true;
                    continue;
                }
                LEFT => {
                    read.has_left = true;
                    continue;
                }
                key => {
                    let generation = key.strip_prefix(SHARDS);
                    let generation = generation.and_then(|generation| generation.parse().ok());
                    if let (Some(generation), Some(shards)) = (generation, shards_of(text))
                        && read.held.len() < GENERATIONS_MAX
                    {
                        read.held.insert(generation, shards);
                    }
                    continue;
                }
            };
            text.clone_into(field);
        }
        (!read.address.is_empty()).then_some(read)
    }

    /// The texts by name.
    pub(super) fn texts(&self) -> BTreeMap<String, String> {
        let fields = [
            (ADDRESS, &self.address),
            (ZONE, &self.zone),
            (RELEASE, &self.release),
            (ENGINE, &self.engine),
            (MESSAGES, &self.messages),
        ];
        let fields = fields.into_iter().filter(|(_, text)| !text.is_empty());
        let mut texts: BTreeMap<String, String> = fields
            .map(|(key, text)| (key.to_owned(), text.clone()))
            .collect();
        for (generation, shards) in &self.held {
            texts.insert(format!("{SHARDS}{generation}"), text_of(shards));
        }
        if !self.leases.is_empty() {
            let leases: Vec<String> = self.leases.iter().map(u64::to_string).collect();
            texts.insert(LEASES.to_owned(), leases.join(","));
        }
        if self.has_sql {
            texts.insert(SQL.to_owned(), "yes".to_owned());
        }
        if self.has_left {
            texts.insert(LEFT.to_owned(), "yes".to_owned());
        }
        texts
    }
}

/// Ascending numbers as ranges.
fn text_of(shards: &[u32]) -> String {
    let ranges = shards.chunk_by(|a, b| a + 1 == *b);
    let range = |range: &[u32]| match range {
        [first, .., last] => format!("{first}-{last}"),
        [lone] => lone.to_string(),
        [] => String::new(),
    };
    ranges.map(range).collect::<Vec<String>>().join(",")
}

/// The numbers of ranges that ascend; `None` for any other text.
fn shards_of(text: &str) -> Option<Vec<u32>> {
    let mut shards: Vec<u32> = Vec::new();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let is_next = shards.last().is_none_or(|&former| former < first);
        if !is_next || first > last || last >= SHARDS_MAX {
            return None;
        }
        shards.extend(first..=last);
    }
    Some(shards)
}

#[cfg(test)]
mod tests;
