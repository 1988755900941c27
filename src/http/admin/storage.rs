//! The page of storage: what the index holds, and the bytes that each kind of section takes.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;

use super::figures;
use super::guard::Visit;
use super::layout::{self, Fact, PageLayout};
use super::{Admin, Answer};
use crate::Index;
use crate::http::service::Today;

/// Kinds of sections that are shown; the rest is small.
const SECTIONS_MAX: usize = 9;

#[derive(Template)]
#[template(path = "storage.html", config = "src/http/admin/askama.toml")]
struct Page<'a> {
    layout: PageLayout<'a>,
    facts: Vec<Fact>,
    sections: Vec<Section>,
}

/// What a part of the segment files takes.
struct Section {
    name: String,
    size: String,
    /// Of the largest, in percent, rounded up so that nothing looks empty.
    share: u64,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> Answer {
    let index = admin.0.service.0.corpus.index();
    let page = Page {
        layout: PageLayout::of(visit, "Storage"),
        facts: match index {
            Some(index) => index_facts(admin, index),
            None => cluster_facts(admin),
        },
        sections: index.map(sections).unwrap_or_default(),
    };
    layout::render(StatusCode::OK, &page)
}

fn index_facts(admin: &Admin, index: &Index) -> Vec<Fact> {
    let statistics = index.snapshot().statistics();
    let deleted = match statistics.deleted_rows {
        0 => String::new(),
        rows => format!("{} deleted rows still stored", figures::grouped(rows)),
    };
    let (changed, change) = match index.changed_at() {
        Some(time) => (figures::file_time(time), "the latest commit or merge"),
        None => ("at startup".to_owned(), "in-memory index"),
    };
    let bytes = format!("{} bytes", figures::grouped(statistics.bytes));
    vec![
        Fact::new("Signals", figures::grouped(statistics.signals), deleted),
        Fact::new("Companies", figures::grouped(statistics.companies), ""),
        Fact::new("Segments", figures::grouped(statistics.segments), ""),
        Fact::new("Generation", figures::grouped(statistics.generation), ""),
        Fact::new("Size", figures::bytes(statistics.bytes), bytes),
        Fact::new("Last commit", changed, change),
        today(admin),
    ]
}

/// What a node knows of a corpus that it has only a part of.
fn cluster_facts(admin: &Admin) -> Vec<Fact> {
    let service = &admin.0.service.0;
    let generation = figures::grouped(service.corpus.view().generation);
    let part = "of the cluster; this node holds part of the corpus";
    let state = match service.corpus.error() {
        Some(error) => Fact::new("State", "incomplete", error),
        None => Fact::new("State", "complete", ""),
    };
    vec![
        Fact::new("Generation", generation, part),
        state,
        today(admin),
    ]
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
fn sections(index: &Index) -> Vec<Section> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for (name, bytes) in index.snapshot().statistics().sections {
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
    let section = |(name, bytes): (String, u64)| Section {
        name,
        size: figures::bytes(bytes),
        share: bytes.saturating_mul(100).div_ceil(largest),
    };
    kinds.into_iter().map(section).collect()
}
