//! The first page: what the index holds, and what was used this month.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::StatusCode;
use time::UtcDateTime;

use super::figures;
use super::guard::Visit;
use super::layout::{self, PageLayout};
use super::{Admin, Answer};
use crate::http::metering::{Counter, Counts, Month};
use crate::http::service::Today;

/// Kinds of sections that are shown; the rest is small.
const SECTIONS_MAX: usize = 9;

#[derive(Template)]
#[template(path = "overview.html", config = "src/http/admin/askama.toml")]
struct Overview<'a> {
    layout: PageLayout<'a>,
    facts: Vec<Fact>,
    sections: Vec<Section>,
    month: String,
    used: Vec<Fact>,
    active_keys: usize,
    public_url: &'a str,
}

/// A figure and what it counts.
struct Fact {
    name: &'static str,
    value: String,
    note: String,
}

/// What a part of the segment files takes.
struct Section {
    name: String,
    size: String,
    /// Of the largest, in percent, rounded up so that nothing looks empty.
    share: u64,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> Answer {
    let state = &admin.0.service.0.state;
    let now = UtcDateTime::now();
    let keys = state.keys()?;
    let mut totals = [0_u64; Counter::ALL.len()];
    for line in state.usage(Some(Month::of(now)))? {
        for (total, count) in totals.iter_mut().zip(line.counts) {
            *total += count;
        }
    }
    let page = Overview {
        layout: PageLayout::of(visit, "Overview"),
        facts: facts(admin),
        sections: sections(admin),
        month: Month::of(now).to_string(),
        used: Counter::ALL.map(|counter| used(counter, totals)).into(),
        active_keys: keys.iter().filter(|key| key.is_valid_at(now)).count(),
        public_url: &admin.0.settings.public_url,
    };
    layout::render(StatusCode::OK, &page)
}

fn facts(admin: &Admin) -> Vec<Fact> {
    let Some(index) = admin.0.service.0.corpus.index() else {
        return cluster_facts(admin);
    };
    let statistics = index.snapshot().statistics();
    let deleted = match statistics.deleted_rows {
        0 => String::new(),
        rows => format!("{} deleted rows still stored", figures::grouped(rows)),
    };
    let today = match &admin.0.service.0.today {
        Today::Clock => "the UTC date",
        Today::Fixed(_) => "fixed at startup",
        Today::Source(_) => "set by the host",
    };
    let changed = match index.changed_at() {
        Some(time) => (figures::file_time(time), "the latest commit or merge"),
        None => ("at startup".to_owned(), "in-memory index"),
    };
    let bytes = figures::grouped(statistics.bytes);
    [
        ("Signals", figures::grouped(statistics.signals), deleted),
        (
            "Companies",
            figures::grouped(statistics.companies),
            String::new(),
        ),
        (
            "Segments",
            figures::grouped(statistics.segments),
            String::new(),
        ),
        (
            "Generation",
            figures::grouped(statistics.generation),
            String::new(),
        ),
        (
            "Size",
            figures::bytes(statistics.bytes),
            format!("{bytes} bytes"),
        ),
        ("Last commit", changed.0, changed.1.to_owned()),
        (
            "Today",
            admin.0.service.0.today().to_string(),
            today.to_owned(),
        ),
    ]
    .map(|(name, value, note)| Fact { name, value, note })
    .into()
}

/// What a node knows of a corpus that it has only a part of.
fn cluster_facts(admin: &Admin) -> Vec<Fact> {
    let service = &admin.0.service.0;
    let fault = service.corpus.fault();
    [
        (
            "Generation",
            figures::grouped(service.corpus.view().generation),
            "of the cluster; this node holds part of the corpus".to_owned(),
        ),
        (
            "State",
            match fault {
                Some(_) => "incomplete".to_owned(),
                None => "complete".to_owned(),
            },
            fault.unwrap_or_default(),
        ),
        ("Today", service.today().to_string(), String::new()),
    ]
    .map(|(name, value, note)| Fact { name, value, note })
    .into()
}

/// Sections by kind: those of single fields, such as `Codes[3]`, are added up.
fn sections(admin: &Admin) -> Vec<Section> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let index = admin.0.service.0.corpus.index();
    let sections = index.map(|index| index.snapshot().statistics().sections);
    for (name, bytes) in sections.unwrap_or_default() {
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

fn used(counter: Counter, totals: Counts) -> Fact {
    let note = match counter {
        Counter::Signals => "returned by searches",
        Counter::Activities => "signal details",
        Counter::Companies => "company details",
        Counter::FreeAnswers => "counts and filter options; not billed",
    };
    Fact {
        name: name_of(counter),
        value: figures::grouped(totals[counter.index()]),
        note: note.to_owned(),
    }
}

/// The name of a counter as a heading.
pub(super) const fn name_of(counter: Counter) -> &'static str {
    match counter {
        Counter::Signals => "Signals",
        Counter::Activities => "Activities",
        Counter::Companies => "Companies",
        Counter::FreeAnswers => "Free answers",
    }
}
