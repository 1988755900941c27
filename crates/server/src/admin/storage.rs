//! The page of storage: what the index holds, and the bytes that each kind of section takes; of a cluster its
//! nodes and shards.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::layout::{self, Fact, PageLayout};
use super::visit::Visit;
use crate::corpus::{ClusterStatus, NodeStatus, ShardStatus};
use crate::follow_report::Reported;
use crate::service::Today;
use signaldex::Index;

/// Kinds of sections that are shown; the rest is small.
const SECTIONS_MAX: usize = 9;

/// Shards that are shown, those that the fewest nodes hold first.
const SHARDS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "storage.html", config = "src/admin/askama.toml")]
struct StoragePage<'a> {
    layout: PageLayout<'a>,
    facts: Vec<Fact>,
    sections: Vec<SectionSize>,
    nodes: Vec<NodeRow>,
    shards: Vec<ShardRow>,
    /// Shards that the table leaves out.
    more_shards: usize,
}

/// A node of a cluster.
struct NodeRow {
    name: String,
    state: String,
    zone: String,
    release: String,
    shards: usize,
    generation: String,
    /// How many generations it is behind the newest of any node.
    behind: String,
    answered: String,
    plan: String,
}

/// A shard of a cluster.
struct ShardRow {
    number: usize,
    signals: String,
    size: String,
    nodes: String,
}

/// What a part of the segment files takes.
struct SectionSize {
    name: String,
    size: String,
    /// Of the largest, in percent, rounded up so that nothing looks empty.
    share: u64,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let corpus = admin.0.service.0.corpus.for_operator();
    let index = corpus.index();
    let cluster = corpus.cluster().unwrap_or_default();
    let page = StoragePage {
        layout: PageLayout::of(visit, "Storage"),
        facts: match index {
            Some(index) => index_facts(admin, index)?,
            None => cluster_facts(admin),
        },
        sections: index.map(sections).transpose()?.unwrap_or_default(),
        more_shards: cluster.shards.len().saturating_sub(SHARDS_MAX),
        nodes: node_lines(&cluster),
        shards: shard_lines(&cluster),
    };
    layout::render(StatusCode::OK, &page)
}

fn index_facts(admin: &Admin, index: &Index) -> Result<Vec<Fact>, signaldex::Error> {
    let statistics = index.snapshot().statistics()?;
    let deleted = match statistics.deleted_rows {
        0 => String::new(),
        rows => format!("{} deleted rows still stored", figures::grouped(rows)),
    };
    let (changed, change) = match index.changed_at() {
        Some(time) => (figures::file_time(time), "the latest commit or merge"),
        None => ("at startup".to_owned(), "in-memory index"),
    };
    let bytes = format!("{} bytes", figures::grouped(statistics.bytes));
    Ok(vec![
        Fact::new("Signals", figures::grouped(statistics.signals), deleted),
        Fact::new("Companies", figures::grouped(statistics.companies), ""),
        Fact::new("Segments", figures::grouped(statistics.segments), ""),
        Fact::new("Generation", figures::grouped(statistics.generation), ""),
        Fact::new("Size", figures::bytes(statistics.bytes), bytes),
        Fact::new("Last commit", changed, change),
        today(admin),
    ])
}

/// What a node knows of a corpus that it has only a part of.
fn cluster_facts(admin: &Admin) -> Vec<Fact> {
    let service = &admin.0.service.0;
    let generation = figures::grouped(service.corpus.for_operator().view().generation);
    let part = "of the cluster; this node holds part of the corpus";
    let state = match service.corpus.for_operator().error() {
        Some(error) => Fact::new("State", "incomplete", error),
        None => Fact::new("State", "complete", ""),
    };
    let following = service.following.load();
    let (following, note) = match following.as_deref().map(Reported::error) {
        Some(Some(error)) => ("failing", error.to_owned()),
        Some(None) => ("up to date", String::new()),
        None => ("–", String::new()),
    };
    let mut facts = vec![
        Fact::new("Generation", generation, part),
        state,
        Fact::new("Following the store", following, note),
    ];
    if let Some(cluster) = service.corpus.for_operator().cluster() {
        facts.push(questions(&cluster));
        if let Some(reason) = cluster.certificate_error {
            facts.push(Fact::new("Certificate", "the former one", reason));
        }
    }
    facts.push(today(admin));
    facts
}

/// The questions of a node to others that did not go as usual.
fn questions(cluster: &ClusterStatus) -> Fact {
    let retried = format!("{} asked again", figures::grouped(cluster.retried));
    let (hedged, shed) = (
        figures::grouped(cluster.hedged),
        figures::grouped(cluster.shed),
    );
    let note = format!("{hedged} asked of replicas as well, {shed} refused for load");
    Fact::new("Questions to other nodes", retried, note)
}

fn node_lines(cluster: &ClusterStatus) -> Vec<NodeRow> {
    let newest = cluster.nodes.iter().map(|node| node.newest).max();
    let line = |node: &NodeStatus| {
        let state = match (&node.error, node.is_alive) {
            (_, true) if node.is_own => "this node",
            (_, true) if node.is_slow => "slow",
            (_, true) => "answers",
            (Some(error), false) => error,
            (None, false) => "has not answered yet",
        };
        let behind = newest.unwrap_or(0).saturating_sub(node.newest);
        let or_dash = |text: String| match node.newest {
            0 => "–".to_owned(),
            _ => text,
        };
        let known = |text: &str| match text {
            "" => "–".to_owned(),
            text => text.to_owned(),
        };
        NodeRow {
            name: node.name.clone(),
            state: state.to_owned(),
            zone: known(&node.zone),
            release: known(&node.release),
            shards: node.shards,
            generation: or_dash(figures::grouped(node.newest)),
            behind: or_dash(figures::grouped(behind)),
            answered: match node.answered {
                Some(time) => format!("{} s ago", figures::grouped(time.as_secs())),
                None => "–".to_owned(),
            },
            plan: plan_of(cluster, &node.name),
        }
    };
    cluster.nodes.iter().map(line).collect()
}

/// The age and the questions of the plan on a node.
fn plan_of(cluster: &ClusterStatus, node: &str) -> String {
    let plan = cluster.plans.iter().find(|plan| plan.node == node);
    plan.map_or_else(
        || "–".to_owned(),
        |plan| {
            let (age, questions) = (plan.age.as_secs(), plan.questions as u64);
            let (age, questions) = (figures::grouped(age), figures::grouped(questions));
            format!("{age} s, {questions} under way")
        },
    )
}

fn shard_lines(cluster: &ClusterStatus) -> Vec<ShardRow> {
    let mut shards: Vec<(usize, &ShardStatus)> = cluster.shards.iter().enumerate().collect();
    shards.sort_by_key(|(_, shard)| shard.nodes.len());
    let line = |(number, shard): (usize, &ShardStatus)| ShardRow {
        number,
        signals: figures::grouped(shard.signals),
        size: figures::bytes(shard.bytes),
        nodes: match shard.nodes.len() {
            0 => "none".to_owned(),
            _ => shard.nodes.join(", "),
        },
    };
    shards.into_iter().take(SHARDS_MAX).map(line).collect()
}

fn today(admin: &Admin) -> Fact {
    let service = &admin.0.service.0;
    let note = match service.today {
        Today::Clock => "the UTC date",
        Today::Fixed(_) => "fixed at startup",
        Today::Source(_) => "set by the host",
    };
    Fact::new("Today", service.today().to_string(), note)
}

/// Sections by kind: those of single fields, such as `Codes[3]`, are added up.
fn sections(index: &Index) -> Result<Vec<SectionSize>, signaldex::Error> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for (name, bytes) in index.snapshot().statistics()?.sections {
        let kind = name.split('[').next().unwrap_or_default().to_owned();
        *kinds.entry(kind).or_default() += bytes;
    }
    let mut kinds: Vec<(String, u64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    if kinds.len() > SECTIONS_MAX {
        let rest = kinds.split_off(SECTIONS_MAX);
        let bytes = rest.iter().map(|(_, bytes)| bytes).sum();
        kinds.push((format!("{} others", rest.len()), bytes));
    }
    let largest = kinds.first().map_or(1, |(_, bytes)| *bytes).max(1);
    let section = |(name, bytes): (String, u64)| SectionSize {
        name,
        size: figures::bytes(bytes),
        share: bytes.saturating_mul(100).div_ceil(largest),
    };
    Ok(kinds.into_iter().map(section).collect())
}
